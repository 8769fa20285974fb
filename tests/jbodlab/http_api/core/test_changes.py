"""What happened between two looks at a cluster is told once, and nothing that did not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from jbodlab.http_api.core.changes import Change, carried_over, changes
from jbodlab.http_api.core.snapshot import NodeState, Snapshot
from tests.jbodlab.http_api.snapshots import (
    WHOLE,
    broker,
    fault,
    log_dir,
    partition,
    replica,
    with_log_dirs,
)

FAILED = replace(log_dir(1, 1, replica()), is_online=False, cause="injected EIO")


def told(before: Snapshot, after: Snapshot) -> list[tuple[str, str]]:
    return [(each.kind, each.text) for each in changes(before, after)]


def away(state: NodeState) -> Snapshot:
    """Broker 1 does not answer."""
    first = replace(broker(1), state=state, log_dirs=())
    return replace(WHOLE, brokers=(first, broker(2)))


def test_nothing_happened_between_two_equal_looks() -> None:
    assert changes(WHOLE, WHOLE) == []


def test_a_failed_log_dir_is_told_with_its_cause_and_so_is_its_return() -> None:
    failed = with_log_dirs(WHOLE, FAILED, log_dir(1, 2))
    assert told(WHOLE, failed) == [("log_dir_failed", "data/b1/d1 is offline: injected EIO")]
    assert told(failed, WHOLE) == [("log_dir_returned", "data/b1/d1 is back")]


def test_a_cordon_is_told_when_it_is_put_up_and_when_it_is_taken_down() -> None:
    cordoned = replace(log_dir(1, 2), is_cordoned=True)
    after = with_log_dirs(WHOLE, log_dir(1, 1, replica()), cordoned)
    assert [kind for kind, _ in told(WHOLE, after)] == ["log_dir_cordoned"]
    assert [kind for kind, _ in told(after, WHOLE)] == ["log_dir_uncordoned"]


def test_an_election_tells_who_led_and_who_leads() -> None:
    after = replace(WHOLE, partitions=(partition(leader=2, isr=(2,), epoch=4),))
    assert changes(WHOLE, after) == [
        Change(
            kind="leader_changed",
            text="orders-0 is led by broker 2, broker 1 before, epoch 4",
            topic="orders",
            partition=0,
            old=1,
            new=2,
        ),
        Change(
            kind="isr_changed",
            text="orders-0 has Isr [2], [1, 2] before",
            topic="orders",
            partition=0,
            old=(1, 2),
            new=(2,),
        ),
    ]


def test_a_partition_without_a_leader_is_told() -> None:
    after = replace(WHOLE, partitions=(partition(leader=-1, epoch=4),))
    assert told(WHOLE, after) == [
        ("leader_changed", "orders-0 has no leader, broker 1 before, epoch 4")
    ]


def test_an_isr_in_another_order_is_the_same_isr() -> None:
    assert changes(WHOLE, replace(WHOLE, partitions=(partition(isr=(2, 1)),))) == []


@pytest.mark.parametrize(
    ("state", "words"),
    [("down", "is down"), ("paused", "stands still"), ("silent", "does not answer")],
)
def test_a_broker_that_goes_away_takes_nothing_with_it(state: NodeState, words: str) -> None:
    after = carried_over(WHOLE, away(state))
    assert told(WHOLE, after) == [("broker_changed", f"broker 1 {words}")]
    assert told(after, carried_over(after, WHOLE)) == [("broker_changed", "broker 1 is up")]


def test_a_log_dir_that_failed_while_its_broker_was_away_is_told_when_it_is_back() -> None:
    gone = carried_over(WHOLE, away("down"))
    back = carried_over(gone, with_log_dirs(WHOLE, FAILED, log_dir(1, 2)))
    assert [kind for kind, _ in told(gone, back)] == ["broker_changed", "log_dir_failed"]


def test_an_offline_log_dir_keeps_its_replicas_until_they_are_elsewhere() -> None:
    empty = replace(FAILED, replicas=())
    seen = with_log_dirs(WHOLE, empty, log_dir(1, 2))
    (kept,) = carried_over(WHOLE, seen).brokers[0].log_dirs[0].replicas
    assert (kept.topic, kept.size_bytes, kept.is_in_sync, kept.is_leader) == (
        "orders",
        100,
        False,
        False,
    )
    gone = replace(seen, partitions=(replace(partition(leader=2), replicas=(2, 3)),))
    moved = with_log_dirs(WHOLE, empty, log_dir(1, 2, replica()))
    for later in (gone, moved):
        after = carried_over(carried_over(WHOLE, seen), later)
        assert after.brokers[0].log_dirs[0].replicas == ()


def test_faults_of_a_paused_broker_stay_and_end_with_its_process() -> None:
    before = replace(WHOLE, faults=(fault(),))
    paused = carried_over(before, away("paused"))
    assert [kind for kind, _ in told(before, paused)] == ["broker_changed"]
    killed = carried_over(paused, away("down"))
    assert [kind for kind, _ in told(paused, killed)] == ["fault_cleared", "broker_changed"]


def test_a_fault_is_told_when_it_is_put_in_force_and_when_it_is_over() -> None:
    after = replace(WHOLE, faults=(fault(),))
    over = replace(WHOLE, faults=(fault(is_in_force=False),))
    added = ("fault_added", "fault eio at data/b1/d1 is in force (fault-1)")
    assert told(WHOLE, after) == [added]
    assert told(after, over) == [("fault_cleared", "fault eio at data/b1/d1 is over (fault-1)")]
    assert told(over, WHOLE) == []


def test_a_move_is_told_from_its_start_to_its_end() -> None:
    started = with_log_dirs(
        WHOLE, log_dir(1, 1, replica()), log_dir(1, 2, replica(0, is_future=True))
    )
    halfway = with_log_dirs(
        WHOLE, log_dir(1, 1, replica()), log_dir(1, 2, replica(50, is_future=True))
    )
    done = with_log_dirs(WHOLE, log_dir(1, 1), log_dir(1, 2, replica()))
    name = "orders-0 of broker 1"
    assert told(WHOLE, started) == [("move_started", f"{name} moves to log dir 2")]
    assert told(started, halfway) == [
        ("move_progress", f"{name} moves to log dir 2: 50 of 100 bytes")
    ]
    assert changes(started, started) == []
    assert told(halfway, done) == [("move_done", f"{name} is in log dir 2")]
    assert told(halfway, WHOLE) == [("move_ended", f"{name} moves no more to log dir 2")]


def test_topics_come_and_go() -> None:
    without = replace(WHOLE, partitions=())
    assert told(without, WHOLE) == [("topic_created", "topic orders is there")]
    assert told(WHOLE, without) == [("topic_deleted", "topic orders is deleted")]


def test_topics_stay_while_nobody_tells_of_them() -> None:
    unknown = replace(WHOLE, partitions=(), are_partitions_known=False)
    assert changes(WHOLE, carried_over(WHOLE, unknown)) == []


def test_metadata_of_a_broker_that_the_controller_cannot_reach_takes_no_election_back() -> None:
    before = replace(WHOLE, partitions=(partition(leader=2, epoch=7),))
    assert changes(before, carried_over(before, WHOLE)) == []


def test_a_topic_that_was_made_anew_begins_with_epoch_0() -> None:
    anew = replace(WHOLE, partitions=(partition(leader=2, epoch=0),))
    assert carried_over(WHOLE, anew).partitions == anew.partitions


def test_the_controller_is_told_like_a_broker() -> None:
    after = replace(WHOLE, controller="down")
    assert told(WHOLE, after) == [("controller_changed", "controller is down")]
