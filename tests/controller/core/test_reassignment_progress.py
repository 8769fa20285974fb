"""A reassignment is told of when it begins, changes hands, ends, and now and then meanwhile."""

from __future__ import annotations

from random import Random

import pytest

from controller.core.effects import ReassignmentReport
from controller.core.reassignment_progress import take_over, tell
from controller.core.reassignment_records import AssignmentChanged
from controller.core.step import Step
from protocol.configs.names import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from protocol.metrics.rows import ReassignmentState
from tests.controller.core.altering import BROKER, SET, TOPIC, Entry
from tests.controller.core.altering import alter as configure
from tests.controller.core.cluster import Cluster, settings, three_brokers
from tests.controller.core.reassigning import alter, set_isr, with_topic

INTERVAL_MS = settings().metrics_interval_ms
Told = tuple[str, tuple[int, ...], tuple[int, ...], str]


def told(cluster: Cluster) -> list[Told]:
    """Return partition, adding, removing and state of what was told since the last look."""
    rows, cluster.reassignments = cluster.reassignments, []
    return [(str(row.tp), row.adding, row.removing, row.state.value) for row in rows]


def pass_interval(cluster: Cluster) -> None:
    """Let time pass while the brokers are there."""
    for broker_id in cluster.state.reachable_brokers():
        cluster.beat(broker_id)
    cluster.advance(INTERVAL_MS)


def test_it_is_told_of_when_it_begins_and_when_every_target_is_in_sync() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 1]))
    assert told(cluster) == [("t-0", (3,), (2,), "under_way")]
    set_isr(cluster, "t-0", [1, 2, 3])
    assert told(cluster) == [("t-0", (3,), (2,), "completed")]
    pass_interval(cluster)
    assert told(cluster) == []


def test_one_that_is_taken_back_is_cancelled() -> None:
    cluster = with_topic([1, 2], [1, 2])
    alter(cluster, ("t-0", [3, 2]), ("t-1", [3, 2]))
    told(cluster)
    alter(cluster, ("t-0", None), ("t-1", [2, 1]))
    assert told(cluster) == [
        ("t-0", (3,), (1,), "cancelled"),
        ("t-1", (3,), (1,), "cancelled"),
    ]


def test_one_that_is_replaced_ends_where_the_next_begins() -> None:
    cluster = with_topic([1])
    alter(cluster, ("t-0", [2]))
    alter(cluster, ("t-0", [3]))
    alter(cluster, ("t-0", [3]))
    assert told(cluster) == [
        ("t-0", (2,), (1,), "under_way"),
        ("t-0", (2,), (1,), "replaced"),
        ("t-0", (3,), (1,), "under_way"),
    ]


def test_one_that_only_removes_begins_and_ends_at_once() -> None:
    cluster = with_topic([1, 2, 3])
    alter(cluster, ("t-0", [1, 2]))
    assert told(cluster) == [("t-0", (), (3,), "under_way"), ("t-0", (), (3,), "completed")]


def test_another_order_alone_is_not_told_of() -> None:
    cluster = with_topic([1, 2, 3])
    alter(cluster, ("t-0", [3, 2, 1]))
    assert told(cluster) == []
    assert cluster.machine.run.reassignments_due_ms is None


def test_meanwhile_it_is_told_of_in_each_interval() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 2]))
    told(cluster)
    cluster.advance(INTERVAL_MS - 1)
    assert told(cluster) == []
    cluster.advance(1)
    assert told(cluster) == [("t-0", (3,), (1,), "under_way")]
    pass_interval(cluster)
    assert told(cluster) == [("t-0", (3,), (1,), "under_way")]


def test_of_very_many_some_are_told_of_in_each_interval_and_each_in_its_turn() -> None:
    """Of 101 a hundred: rows come no faster, however many there are."""
    cluster = with_topic(*[[1, 2]] * 101)
    names = [f"t-{number}" for number in range(101)]
    alter(cluster, *[(name, [3, 2]) for name in names])
    assert [name for name, *_ in told(cluster)] == names
    pass_interval(cluster)
    assert [name for name, *_ in told(cluster)] == names[:-1]
    pass_interval(cluster)
    assert [name for name, *_ in told(cluster)] == [names[-1], *names[:-2]]


def test_the_next_controller_tells_of_what_it_finds_and_of_its_end() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 2]))
    after = cluster.restart()
    after.settle()
    assert told(after) == [("t-0", (3,), (1,), "under_way")]
    set_isr(after, "t-0", [1, 2, 3])
    assert told(after) == [("t-0", (3,), (1,), "completed")]


def test_one_that_was_complete_when_the_last_controller_ended_is_ended_by_the_next() -> None:
    cluster = with_topic([1, 2])
    alter(cluster, ("t-0", [3, 2]))
    set_isr(cluster, "t-0", [1, 2, 3])
    [begun] = [n for n, at in enumerate(cluster.records) if "adding_replicas=(3,)" in repr(at)]
    joined = next(
        number
        for number, record in enumerate(cluster.records)
        if number > begun and "isr=(1, 2, 3)" in repr(record)
    )
    cluster.records = cluster.records[: joined + 1]
    after = cluster.restart()
    after.settle()
    assert told(after) == [("t-0", (3,), (1,), "under_way"), ("t-0", (3,), (1,), "completed")]


def test_one_that_a_new_controller_hears_of_as_it_takes_over_begins_once() -> None:
    cluster = with_topic([1, 2])
    step = Step(cluster.state, cluster.machine.run, cluster.config, Random(0), cluster.now_ms)
    step.change(AssignmentChanged("t", 0, (3, 2, 1), (3,), (1,)))
    take_over(step)
    tell(step)
    assert [each.state for each in step.effects if isinstance(each, ReassignmentReport)] == [
        ReassignmentState.UNDER_WAY
    ]


OWN: Entry = (FOLLOWER_RATE, SET, "500")
LED: Entry = (LEADER_RATE, SET, "300")


@pytest.mark.parametrize(
    ("lists", "rates", "expected"),
    [
        ({}, {"3": [OWN], "1": [LED]}, -1),
        ({FOLLOWER_REPLICAS: "0:3"}, {}, -1),
        ({FOLLOWER_REPLICAS: "0:3"}, {"3": [OWN]}, 500),
        ({FOLLOWER_REPLICAS: "*"}, {"3": [OWN]}, 500),
        ({FOLLOWER_REPLICAS: "1:3,0:2"}, {"3": [OWN], "2": [OWN]}, -1),
        ({FOLLOWER_REPLICAS: "0:3"}, {"": [OWN]}, 500),
        ({FOLLOWER_REPLICAS: "0:3"}, {"": [(FOLLOWER_RATE, SET, "9")], "3": [OWN]}, 500),
        ({FOLLOWER_REPLICAS: "0:3", LEADER_REPLICAS: "0:1"}, {"3": [OWN], "1": [LED]}, 300),
        ({LEADER_REPLICAS: "0:2"}, {"2": [LED]}, -1),
    ],
    ids=[
        "nobody listed",
        "no rate",
        "an added follower",
        "all followers",
        "other replicas",
        "a rate for all brokers",
        "its own before that",
        "the leader slower",
        "no leader",
    ],
)
def test_its_throttle_is_the_smallest_rate_of_who_copies(
    lists: dict[str, str], rates: dict[str, list[Entry]], expected: int
) -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], configs=lists)
    for name, entries in rates.items():
        assert configure(cluster, BROKER, name, *entries).error_code == 0
    alter(cluster, ("t-0", [3, 2]))
    [row] = cluster.reassignments
    assert (row.leader, row.throttle_bytes_per_s) == (1, expected)


def test_a_throttle_that_changes_is_told_of_and_its_end_has_what_was_in_force() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], configs={FOLLOWER_REPLICAS: "0:3"})
    configure(cluster, BROKER, "3", OWN)
    alter(cluster, ("t-0", [3, 2]))
    configure(cluster, BROKER, "3", (FOLLOWER_RATE, SET, "800"))
    pass_interval(cluster)
    set_isr(cluster, "t-0", [1, 2, 3])
    assert [row.throttle_bytes_per_s for row in cluster.reassignments] == [500, 800, 800]
    assert FOLLOWER_REPLICAS not in cluster.state.topics["t"].configs


def test_one_that_adds_nobody_has_no_throttle() -> None:
    cluster = three_brokers()
    cluster.create("t", [1, 2], configs={LEADER_REPLICAS: "*"})
    configure(cluster, BROKER, "1", LED)
    assert configure(cluster, TOPIC, "t", (FOLLOWER_REPLICAS, SET, "*")).error_code == 0
    alter(cluster, ("t-0", [1]))
    assert {row.throttle_bytes_per_s for row in cluster.reassignments} == {-1}
