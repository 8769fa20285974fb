"""Says in what goes to brokers which decision of which journal is behind it. It sends nothing."""

from __future__ import annotations

from typing import Final

from controller.core.effects import Answer, Effect, Send
from controller.core.state import ClusterState
from protocol.messages.control import (
    AlterPartitionResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.journal import JournalStamp, put_stamp
from protocol.messages.lifecycle import BrokerHeartbeatResponse, BrokerRegistrationResponse
from protocol.messages.producer_ids import AllocateProducerIdsResponse

_STAMPED: Final = (
    LeaderAndIsrRequest,
    UpdateMetadataRequest,
    StopReplicaRequest,
    BrokerRegistrationResponse,
    BrokerHeartbeatResponse,
    AlterPartitionResponse,
    AllocateProducerIdsResponse,
)
"""What brokers remember the journal by; clients see none of these."""


def put_stamp_on(effect: Effect, state: ClusterState, journal_number: int) -> None:
    """Stamp the message of an effect, if it is one for brokers, with the decision behind it.

    Where ZooKeeper has the decisions there is no journal that brokers could remember.
    """
    match effect:
        case Send():
            message = effect.request
        case Answer():
            message = effect.response
        case _:
            return
    if state.journal_id and isinstance(message, _STAMPED):
        stamp = JournalStamp(
            journal_id=state.journal_id,
            controller_epoch=state.controller_epoch,
            journal_number=journal_number,
        )
        put_stamp(message, stamp)
