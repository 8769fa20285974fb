"""Serves: what brokers ask the broker that is the controller, in a cluster with ZooKeeper.

AlterPartition (56), ControlledShutdown (7), AllocateProducerIds (67). The controller behind this
broker answers.
Differs from Kafka: no Envelope, in which Kafka's brokers pass on what clients ask.
Versions: all.
"""

from __future__ import annotations

from typing import Any, Final

from broker.context import Context
from broker.handlers import FOR_CONTROLLER, PassedOn, handles
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.lifecycle import ControlledShutdownRequest, ControlledShutdownResponse
from protocol.messages.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def refuse_alter_partition(
    _request: AlterPartitionRequest, _version: int, error: KafkaError
) -> AlterPartitionResponse:
    """Put the code at the top."""
    return AlterPartitionResponse(error_code=error.code)


def refuse_shutdown(
    _request: ControlledShutdownRequest, _version: int, error: KafkaError
) -> ControlledShutdownResponse:
    """Put the code at the top; of a broker that is no controller Kafka has another one."""
    is_other = error.code is ErrorCode.NOT_CONTROLLER
    code = ErrorCode.STALE_CONTROLLER_EPOCH if is_other else error.code
    return ControlledShutdownResponse(error_code=code)


def refuse_producer_ids(
    _request: AllocateProducerIdsRequest, _version: int, error: KafkaError
) -> AllocateProducerIdsResponse:
    """Put the code at the top."""
    return AllocateProducerIdsResponse(error_code=error.code)


async def hand_over(context: Context, request: Any, version: int) -> Any:
    """Return the answer of the controller behind this broker."""
    if context.controller_behind is None:
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    return await context.controller_behind.ask(request, version)


_TABLE: Final = (
    PassedOn(AlterPartitionRequest, "0-3", refuse_alter_partition),
    PassedOn(ControlledShutdownRequest, "0-3", refuse_shutdown),
    PassedOn(AllocateProducerIdsRequest, "0", refuse_producer_ids),
)
for _api in _TABLE:
    handles(_api.request, _api.versions, refuse=_api.refuse, registry=FOR_CONTROLLER)(hand_over)
