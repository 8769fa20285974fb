"""What plans are made for: each situation in at least one seed of twenty."""

from __future__ import annotations

from collections import Counter

import pytest

from simulation.core.draw import draw_plan
from simulation.core.features import Situation
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan
from simulation.core.planned_situations import planned_situations
from tests.simulation.core.streams import streams_of

SEEDS = range(1, 2001)
LENGTH_S = 5
CONTROLLER_ENDS = """
name: p
shows: x.
cluster: {topics: [{name: orders, partitions: 2, assignment: [[1, 2], [2, 1]], log_dir: d1}]}
steps:
  - {at: 1s, fault: {id: dead, broker: 1, log_dir: d1, mode: eio}}
  - {at: 2s, delete_topic: orders}
  - {at: END, kill: controller}
  - {at: 5s, clear: dead}
"""
FAILING_MOVE = """
name: p
shows: x.
cluster: {log_dirs: 3, topics: [{name: orders, assignment: [[1, 2]], log_dir: d1}]}
steps:
  - {at: 1s, move_replica: {of: orders-0, broker: 1, to: d2}}
  - {at: 1s, fault: {id: a, broker: 1, log_dir: d2, mode: eio}}
  - {at: SECOND, fault: {id: b, broker: 1, log_dir: PLACE, mode: eio}}
"""
INTERRUPTED = """
name: p
shows: x.
cluster: {log_dirs: 3, topics: [{name: orders, assignment: [[1, 2]], log_dir: d1}]}
steps:
  - {fault: {id: a, broker: 1, mode: slow, delay_ms: 500, operations: [rename, remove]}}
  - {at: 1s, move_replica: {of: orders-0, broker: MOVED, to: d2}}
  - {at: 2s, FIRST}
  - {at: 3s, SECOND}
"""
DELETION = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
steps:
  - {fault: {id: a, broker: 1, mode: slow, delay_ms: 500, operations: OPERATIONS}}
  - {at: 1s, delete_records: {of: orders-0, before: 1}}
  - {at: 2s, FIRST}
  - {at: 3s, SECOND}
"""
SECOND_DELETION = "delete_records: {of: orders-0, before: 2}"
ISR_CHANGES = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
steps:
  - {at: 1s, AWAY}
  - {at: 2s, FIRST}
  - {at: 3s, SECOND}
"""
LATE_WORDS = (
    "fault: {id: late, mode: latency, from: broker-1, to: broker-2, both_ways: false, "
    "latency_ms: 500}"
)
RESTART_LOG_DIR = "restart_log_dir: {broker: 1, log_dir: d1}"
REPLACE_LOG_DIR = "replace_log_dir: {broker: 1, log_dir: d1}"
FAILING_DISK = "fault: {id: dead, broker: 1, mode: eio}"
COORDINATOR = """
name: p
shows: x.
cluster: {topics: [{name: TOPIC}, {name: orders}]}
workloads:
  - {name: client, topic: orders, client: aiokafka, CLIENT}
steps:
  - {fault: {id: broken, broker: leader of TOPIC-0, log_dir: of TOPIC-0, mode: eio}}
"""


LATE = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
steps:
  - {at: 1s, fault: {id: late, mode: latency, from: ENDS, both_ways: false, latency_ms: LATENCY}}
  - {at: 2s, fault: {id: broken, broker: 1, log_dir: d1, mode: eio}}
  - {at: 2s, delete_topic: orders}
"""


def planned(text: str, **values: str) -> list[Situation]:
    for name, value in values.items():
        text = text.replace(name, value)
    return planned_situations(parse_plan(text, source="p"))


def test_each_situation_is_planned_by_at_least_one_seed_of_twenty() -> None:
    counts = Counter(
        situation
        for seed in SEEDS
        for situation in planned_situations(draw_plan(seed, streams_of(seed), LENGTH_S))
    )
    too_rare = {each: counts[each] for each in Situation if counts[each] < len(SEEDS) // 20}
    assert too_rare == {}


def test_an_empty_plan_is_made_for_nothing() -> None:
    assert planned_situations(Plan(name="p", shows="x.")) == []


@pytest.mark.parametrize(("end", "is_close"), [("2500ms", True), ("4100ms", False)])
def test_a_controller_ends_close_to_an_order_beside_a_dead_log_dir(
    end: str, is_close: bool
) -> None:
    found = planned(CONTROLLER_ENDS, END=end)
    assert (Situation.CONTROLLER_ENDS in found) == is_close


@pytest.mark.parametrize(
    ("second", "place", "is_failing"),
    [("2s", "d1", True), ("2s", "d3", False), ("4s", "d1", False)],
)
def test_both_log_dirs_of_a_move_fail_close_to_each_other(
    second: str, place: str, is_failing: bool
) -> None:
    found = planned(FAILING_MOVE, SECOND=second, PLACE=place)
    assert (Situation.FAILING_MOVE in found) == is_failing


@pytest.mark.parametrize(
    ("topic", "client", "situation"),
    [
        ("__consumer_offsets", "kind: consume, group: g", Situation.GROUPS),
        ("__transaction_state", "transactional: true", Situation.TRANSACTIONS),
    ],
)
def test_a_disk_breaks_under_a_coordinator_that_somebody_needs(
    topic: str, client: str, situation: Situation
) -> None:
    text = COORDINATOR.replace("TOPIC", topic)
    assert planned(text, CLIENT=client) == [situation]
    assert planned(text, CLIENT="kind: consume") == []


@pytest.mark.parametrize(
    ("ends", "is_late"),
    [
        ("broker-1, to: controller", True),
        ("broker-2, to: controller", False),
        ("controller, to: broker-1", False),
    ],
)
def test_a_failure_is_late_where_the_broker_of_the_log_dir_reaches_the_controller_late(
    ends: str, is_late: bool
) -> None:
    assert (Situation.LATE_FAILURE in planned(LATE, ENDS=ends, LATENCY="1000")) == is_late
    assert Situation.LATE_FAILURE not in planned(LATE, ENDS=ends, LATENCY="100")


@pytest.mark.parametrize(
    ("ends", "is_late"), [("controller, to: broker-1", True), ("broker-1, to: controller", False)]
)
def test_requests_are_late_where_the_controller_reaches_a_broker_late(
    ends: str, is_late: bool
) -> None:
    assert (Situation.LATE_REQUESTS in planned(LATE, ENDS=ends, LATENCY="1000")) == is_late


@pytest.mark.parametrize(
    ("moved", "first", "second", "is_interrupted"),
    [
        ("1", "kill: broker-1", "clear: a", True),
        ("1", "clear: a", "kill: broker-1", False),
        ("1", "kill: broker-2", "clear: a", False),
        ("2", "kill: broker-1", "clear: a", False),
    ],
)
def test_a_broker_ends_while_it_moves_a_replica_slowly(
    moved: str, first: str, second: str, *, is_interrupted: bool
) -> None:
    found = planned(INTERRUPTED, MOVED=moved, FIRST=first, SECOND=second)
    assert (Situation.INTERRUPTED_MOVE in found) is is_interrupted


@pytest.mark.parametrize(
    ("operations", "first", "second", "lasts"),
    [
        ("[write]", SECOND_DELETION, "clear: a", True),
        ("[write]", "clear: a", SECOND_DELETION, False),
        ("[sync]", SECOND_DELETION, "clear: a", False),
    ],
)
def test_two_deletions_come_while_what_they_wait_for_is_slow(
    operations: str, first: str, second: str, *, lasts: bool
) -> None:
    found = planned(DELETION, OPERATIONS=operations, FIRST=first, SECOND=second)
    assert (Situation.LASTING_DELETION in found) is lasts


@pytest.mark.parametrize(
    ("away", "first", "second", "is_planned"),
    [
        ("stop: controller", "kill: broker-1", "start: controller", True),
        ("pause: controller", "pause: broker-1", "resume: controller", True),
        ("stop: controller", "start: controller", "kill: broker-1", False),
        (LATE_WORDS, "stop: broker-1", "clear: late", True),
        (LATE_WORDS, "clear: late", "stop: broker-1", False),
        (LATE_WORDS, FAILING_DISK, "clear: late", True),
    ],
)
def test_a_broker_ends_while_words_are_late_or_nobody_decides(
    away: str, first: str, second: str, *, is_planned: bool
) -> None:
    found = planned(ISR_CHANGES, AWAY=away, FIRST=first, SECOND=second)
    assert (Situation.ISR_CHANGES in found) is is_planned


@pytest.mark.parametrize(
    ("first", "second", "is_planned"),
    [
        ("reassign: {of: orders-0, to: [1, 2]}", RESTART_LOG_DIR, True),
        ("create_topic: {name: other}", RESTART_LOG_DIR, True),
        (
            "add_partitions: {topic: orders, to: 4}",
            RESTART_LOG_DIR.replace("restart", "replace"),
            True,
        ),
        ("kill: broker-1", RESTART_LOG_DIR, False),
        (RESTART_LOG_DIR, "reassign: {of: orders-0, to: [1, 2]}", False),
    ],
)
def test_a_log_dir_returns_soon_after_logs_were_made(
    first: str, second: str, *, is_planned: bool
) -> None:
    found = planned(ISR_CHANGES, AWAY="kill: broker-2", FIRST=first, SECOND=second)
    assert (Situation.RETURNING_LOG_DIRS in found) is is_planned
