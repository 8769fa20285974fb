"""What contracts say of records about brokers and the journal that are applied wrongly."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

import pytest

from controller.core.journal_records import (
    BrokerEpochsRaised,
    DecisionsLost,
    EpochsRecalled,
    JournalBegun,
    UnknownReplicasReported,
)
from controller.core.reassignment_records import (
    RemovalsConfirmed,
    RemovalsPending,
    ThrottlesClaimed,
    ThrottlesReleased,
)
from controller.core.records import (
    BrokerFenced,
    BrokerRegistered,
    BrokerUnfenced,
    ControllerStarted,
    LogDirsCordoned,
    LogDirsFailed,
    LogDirsReturned,
    ProducerIdsAllocated,
    Record,
    ReplicasProbed,
    ShutdownBegun,
)
from controller.core.state import ClusterState, Endpoint
from tests.controller.core.cluster import log_dir
from tests.simulation.contracts.controller.applied import LOST, T0, a_step, tells, told_while

RECORDS: Final[list[Record]] = [
    ControllerStarted("c", 2, 9),
    JournalBegun(b"j" * 16),
    EpochsRecalled(((7, 8),)),
    DecisionsLost(7),
    BrokerEpochsRaised(40),
    UnknownReplicasReported(2, ()),
    BrokerRegistered(2, 9, b"x" * 16, (Endpoint("PLAINTEXT", "h", 1, 0),), "r", (b"d" * 16,)),
    BrokerUnfenced(2),
    BrokerFenced(2),
    ShutdownBegun(1),
    LogDirsFailed(1, (log_dir(1, 1),)),
    LogDirsReturned(1, (log_dir(1, 1),)),
    LogDirsCordoned(1, (log_dir(1, 2),)),
    ReplicasProbed(2, (), (T0,)),
    ReplicasProbed(1, (T0,), ()),
    RemovalsPending(2, (T0,)),
    RemovalsConfirmed(1, (LOST,)),
    ThrottlesClaimed(("u",), (2,)),
    ThrottlesReleased(),
    ProducerIdsAllocated(1000),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_that_changes_nothing_or_too_much_is_told(record: Record) -> None:
    tells(record)


def leaves_an_empty_entry(record: UnknownReplicasReported, state: ClusterState) -> None:
    state.unknown_replicas[record.broker_id] = {}


def test_an_entry_of_a_broker_that_goes_on_with_nothing_is_told() -> None:
    record = UnknownReplicasReported(2, ())
    with ExitStack() as planted:
        planted.callback(setattr, UnknownReplicasReported, "apply", UnknownReplicasReported.apply)
        setattr(UnknownReplicasReported, "apply", leaves_an_empty_entry)  # noqa: B010 -- one of a protocol
        (told,) = told_while(a_step(), record)
    assert "broker 2 goes on with nothing, and an entry is kept of it" in told
