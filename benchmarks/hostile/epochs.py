"""What nobody may ask without ClusterAction: requests that change epochs, leaders or logs.

They name a partition that there is, with an epoch that would be believed. It asks and measures
nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast

from jbodlab.asking.rpc import BlockingClient
from protocol.errors import ErrorCode
from protocol.messages.control import (
    AlterPartitionRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.messages.lifecycle import BrokerHeartbeatRequest, ControlledShutdownRequest
from protocol.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.security.sasl_client import LoginRefusedError

REFUSED: Final = "refused"
CLOSED: Final = "closed"
ANSWERED: Final = "answered"
_EPOCH: Final = 1_000
_BROKER: Final = 1
_REFUSALS: Final = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION)


def at_broker(topic: str) -> Mapping[str, tuple[Any, int]]:
    """Return what is asked of a broker, with the version, by the name of the API."""
    same: dict[str, Any] = {"controller_id": 100, "controller_epoch": _EPOCH}
    state: dict[str, Any] = {"partition_index": 0, "controller_epoch": _EPOCH, "leader": _BROKER}
    state |= {"leader_epoch": _EPOCH, "isr": [_BROKER], "replicas": [_BROKER]}
    led = LeaderAndIsrTopicState(
        topic_name=topic, partition_states=[LeaderAndIsrPartitionState(**state)]
    )
    stopped = StopReplicaTopicState(
        topic_name=topic,
        partition_states=[
            StopReplicaPartitionState(partition_index=0, leader_epoch=_EPOCH, delete_partition=True)
        ],
    )
    told = UpdateMetadataTopicState(
        topic_name=topic, partition_states=[UpdateMetadataPartitionState(**state)]
    )
    marker = WritableTxnMarker(
        producer_id=1,
        producer_epoch=1,
        transaction_result=True,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
        coordinator_epoch=_EPOCH,
    )
    requests: tuple[tuple[Any, int], ...] = (
        (LeaderAndIsrRequest(topic_states=[led], **same), 7),
        (StopReplicaRequest(topic_states=[stopped], **same), 4),
        (UpdateMetadataRequest(topic_states=[told], **same), 8),
        (WriteTxnMarkersRequest(markers=[marker]), 1),
    )
    return {_name(message): (message, version) for message, version in requests}


def at_controller() -> Mapping[str, tuple[Any, int]]:
    """Return what is asked of the controller."""
    requests: tuple[tuple[Any, int], ...] = (
        (AlterPartitionRequest(broker_id=_BROKER, broker_epoch=1), 3),
        (BrokerHeartbeatRequest(broker_id=_BROKER, broker_epoch=1, want_fence=True), 1),
        (ControlledShutdownRequest(broker_id=_BROKER), 3),
    )
    return {_name(message): (message, version) for message, version in requests}


def outcome(client: BlockingClient, message: Any, version: int) -> str:
    """Ask; return whether that was refused, answered, or had no answer."""
    try:
        answer = client.request(message, version)
    except OSError as error:
        return CLOSED if not isinstance(error, LoginRefusedError) else str(error)
    codes = set(_codes(answer))
    return REFUSED if codes and codes <= set(_REFUSALS) else ANSWERED


def _codes(answer: Any) -> Iterator[int]:
    """Return every error code of an answer, however deep."""
    if isinstance(answer, list | tuple):
        found = cast("Sequence[Any]", answer)  # of whatever the answer has
        for each in found:
            yield from _codes(each)
    elif is_dataclass(answer):
        for each in fields(answer):
            value = getattr(answer, each.name)
            if each.name == "error_code":
                yield value
            else:
                yield from _codes(value)


def _name(message: Any) -> str:
    return type(message).__name__.removesuffix("Request")
