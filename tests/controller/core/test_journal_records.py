"""What records about the journal itself change."""

from __future__ import annotations

from controller.core.journal_records import (
    BrokerEpochsRaised,
    DecisionsLost,
    EpochsRecalled,
    JournalBegun,
    UnknownReplicasReported,
)
from controller.core.records import Record
from controller.core.state import ClusterState, Partition, UnknownReplica
from tests.controller.core.cluster import topic_records, tp

LED = Partition(replicas=(1, 2), leader=1, leader_epoch=6, isr=(1, 2), partition_epoch=0)
UNKNOWN = UnknownReplica(b"t".ljust(16, b"-"), 4)


def state_of(*records: Record) -> ClusterState:
    state = ClusterState()
    for record in records:
        record.apply(state)
    return state


def test_a_journal_has_a_name_and_knows_where_epochs_began() -> None:
    state = state_of(JournalBegun(b"j" * 16), EpochsRecalled(((3, 10), (4, 20))))

    assert state.journal_id == b"j" * 16
    assert state.epoch_starts == {3: 10, 4: 20}


def test_what_is_known_to_be_lost_is_never_less() -> None:
    assert state_of(DecisionsLost(9), DecisionsLost(4)).lost_after == 9


def test_broker_epochs_are_never_lowered() -> None:
    state = state_of(BrokerEpochsRaised(9), BrokerEpochsRaised(4))

    assert state.next_broker_epoch == 9


def test_what_a_broker_reports_takes_the_place_of_what_it_did() -> None:
    first = UnknownReplicasReported(1, ((tp("t-0"), UNKNOWN), (tp("u-0"), UNKNOWN)))
    second = UnknownReplicasReported(1, ((tp("u-0"), UNKNOWN),))

    assert state_of(first, second).unknown_replicas == {1: {tp("u-0"): UNKNOWN}}
    assert state_of(first, UnknownReplicasReported(1, ())).unknown_replicas == {}


def test_a_partition_that_is_led_anew_is_known() -> None:
    found = ((tp("t-0"), UNKNOWN), (tp("u-0"), UNKNOWN))
    reported = [UnknownReplicasReported(1, found), UnknownReplicasReported(2, found[:1])]

    state = state_of(*reported, *topic_records("t", [LED]))

    assert state.unknown_replicas == {1: {tp("u-0"): UNKNOWN}}


def test_of_a_partition_that_is_led_anew_elsewhere_old_replicas_stay_unknown() -> None:
    reported = [UnknownReplicasReported(broker, ((tp("t-0"), UNKNOWN),)) for broker in (1, 3)]

    state = state_of(*reported, *topic_records("t", [LED]))

    assert state.unknown_replicas == {3: {tp("t-0"): UNKNOWN}}
