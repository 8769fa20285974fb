"""What brokers ask for themselves.

Serves: BrokerRegistration (62), BrokerHeartbeat (63), AlterPartition (56), ControlledShutdown (7),
AllocateProducerIds (67).
Differs from Kafka: one controller serves the first two, which are KRaft's, beside the fourth, which
is not.
Versions: all; BrokerHeartbeat v2 carries cordoned log dirs (KIP-1066).
"""

from __future__ import annotations

from controller.handlers import serve
from protocol.errors import KafkaError
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from protocol.messages.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def _registration(
    _request: BrokerRegistrationRequest, _version: int, error: KafkaError
) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=error.code)


def _heartbeat(
    _request: BrokerHeartbeatRequest, _version: int, error: KafkaError
) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=error.code)


def _alter_partition(
    _request: AlterPartitionRequest, _version: int, error: KafkaError
) -> AlterPartitionResponse:
    return AlterPartitionResponse(error_code=error.code)


def _shutdown(
    _request: ControlledShutdownRequest, _version: int, error: KafkaError
) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(error_code=error.code)


def _producer_ids(
    _request: AllocateProducerIdsRequest, _version: int, error: KafkaError
) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=error.code)


serve("BrokerRegistration", "0-4", _registration)
serve("BrokerHeartbeat", "0-2", _heartbeat)
serve("AlterPartition", "0-3", _alter_partition)
serve("ControlledShutdown", "0-3", _shutdown)
serve("AllocateProducerIds", "0", _producer_ids)
