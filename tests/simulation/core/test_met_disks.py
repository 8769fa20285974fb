"""What a run came to whose disks were slow, or failed and came back."""

from __future__ import annotations

import pytest

from simulation.core.features import Situation
from simulation.core.history import Function, Order
from simulation.core.met_situations import met_situations
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan
from simulation.core.samples import LogDirSample, Role
from tests.simulation.core.checkers.build import SECOND_US, TP, Story

NOTHING = Plan(name="p", shows="x.")
SLOW_NOTES = """
name: p
shows: x.
cluster: {topics: [{name: orders}]}
steps:
  - {fault: {id: slow, broker: 1, mode: slow, delay_ms: 500, operations: [write]}}
"""
SLOW_NAMES = """
name: p
shows: x.
cluster: {log_dirs: 3, topics: [{name: orders}]}
steps:
  - {fault: {id: slow, broker: 1, mode: slow, delay_ms: 500, operations: [rename, remove]}}
"""


def met(story: Story) -> tuple[Situation, ...]:
    return met_situations(NOTHING, story.evidence, {}, {})


def failing_move(*failed: tuple[float, str], arrived_s: float | None = None) -> Story:
    story = Story()
    story.replica(1, Role.LEADER, log_dir="d1")
    story.at(1).order(Function.MOVE, Order(*TP, broker=1, log_dir="d2"))
    if arrived_s is not None:
        story.at(arrived_s).replica(1, Role.LEADER, log_dir="d2")
    for at_s, path in failed:
        story.samples.log_dirs.append(LogDirSample(int(at_s * SECOND_US), 1, path, is_online=False))
    return story


@pytest.mark.parametrize(
    ("story", "is_met"),
    [
        (failing_move((2, "d1"), (3, "d2")), True),
        (failing_move((2, "d1"), (5, "d2")), False),
        (failing_move((2, "d1")), False),
        (failing_move((2, "d1"), (3, "d2"), arrived_s=1.5), False),
    ],
)
def test_a_move_fails_at_both_ends_before_it_is_over(story: Story, is_met: bool) -> None:
    assert (Situation.FAILING_MOVE in met(story)) == is_met


@pytest.mark.parametrize(("hits", "broker"), [(1, 1), (0, 1), (1, 2)])
def test_a_move_was_slow_where_names_took_long_in_its_broker(hits: int, broker: int) -> None:
    plan = parse_plan(SLOW_NAMES, source="p")
    story = Story().at(1)
    story.order(Function.MOVE, Order(*TP, broker=broker, log_dir="d2"))
    found = met_situations(plan, story.evidence, {}, {"slow": hits})
    assert (Situation.INTERRUPTED_MOVE in found) == (hits == broker == 1)


@pytest.mark.parametrize(("hits", "lasts_ms"), [(1, 30), (0, 30), (1, 10)])
def test_a_deletion_lasts_that_is_answered_late_beside_a_slow_disk(
    hits: int, lasts_ms: int
) -> None:
    plan = parse_plan(SLOW_NOTES, source="p")
    story = Story().at(1)
    order = Order(*TP, broker=1, offset=5)
    deletion = story.history.begin("admin", Function.DELETE_RECORDS, order)
    story.at(1 + lasts_ms / 1000)
    deletion.ok(order)
    found = met_situations(plan, story.evidence, {}, {"slow": hits})
    assert (Situation.LASTING_DELETION in found) == (hits == 1 and lasts_ms == 30)


@pytest.mark.parametrize(("made_s", "is_met"), [(3, True), (1, False), (5, False)])
def test_logs_were_made_while_a_log_dir_was_away_that_came_back(
    made_s: int, *, is_met: bool
) -> None:
    story = Story()
    for at_s, is_online in ((0, True), (2, False), (4, True)):
        story.samples.log_dirs.append(LogDirSample(at_s * SECOND_US, 1, "d1", is_online))
    story.at(made_s).order(Function.REASSIGN, Order(*TP))
    assert (Situation.RETURNING_LOG_DIRS in met(story)) is is_met
