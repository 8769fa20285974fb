"""Plans drawn from seeds: the same from the same seed, sound, and of every kind there is."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulation.core.actions import StartWorkload, Step, StopWorkload, When
from simulation.core.dice import Dice, Streams
from simulation.core.draw import draw_plan
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan, plan_text
from tests.simulation.core.streams import streams_of

PRINT_PLAN = """
from simulation.core.draw import draw_plan
from simulation.core.plan_document import plan_text
from tests.simulation.core.streams import streams_of
print(plan_text(draw_plan(11, streams_of(11))), end="")
"""


def with_another(name: str, seed: int, other: int) -> Streams:
    streams, others = streams_of(seed), streams_of(other)

    def stream(asked: str) -> Dice:
        return (others if asked == name else streams)(asked)

    return stream


@given(seed=st.integers(1, 1_000_000))
@example(4399)  # A broker that is away twice: its second absence began before the first one's end.
@settings(max_examples=25, deadline=None)
def test_every_plan_can_be_written_and_read_again(seed: int) -> None:
    plan = draw_plan(seed, streams_of(seed))
    assert parse_plan(plan_text(plan), source="drawn") == plan


def test_a_seed_draws_the_same_plan_under_any_hash_seed() -> None:
    texts = [
        subprocess.run(
            [sys.executable, "-c", PRINT_PLAN],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert texts[0] == texts[1] == plan_text(draw_plan(11, streams_of(11)))


def test_another_workload_leaves_cluster_and_faults_as_they_are() -> None:
    plan = draw_plan(6, streams_of(6))
    other = draw_plan(6, with_another("workload", 6, 7))
    assert other.workloads != plan.workloads
    assert other.cluster == plan.cluster
    assert _of_others(other) == _of_others(plan)


def _of_others(plan: Plan) -> list[Step]:
    """Return the steps and lanes that neither begin nor end a client."""
    return [step for step in plan.steps if not _is_of_clients(step)]


def _is_of_clients(step: Step) -> bool:
    if isinstance(step.action, When):
        return any(map(_is_of_clients, step.action.steps))
    return isinstance(step.action, StartWorkload | StopWorkload)


def test_clients_that_do_not_begin_by_themselves_are_started_in_the_story() -> None:
    for seed in range(1, 60):
        plan = draw_plan(seed, streams_of(seed))
        late = [each.name for each in plan.workloads if not each.begins]
        started = [
            step.action.workload for step in plan.steps if isinstance(step.action, StartWorkload)
        ]
        assert sorted(started) == sorted(late)


def test_other_orders_leave_faults_as_they_are() -> None:
    def faults(seed: int, streams: Streams) -> list[object]:
        steps = draw_plan(seed, streams).steps
        return [step for step in steps if not isinstance(step.action, When)]

    assert faults(5, streams_of(5)) == faults(5, with_another("orders", 5, 6))


def test_a_story_lasts_as_long_as_it_is_told_to() -> None:
    plan = draw_plan(9, streams_of(9), length_s=7)
    assert plan.steps[-1].at_ms == 7000
    assert all((step.at_ms or 0) <= 7000 for step in plan.steps)


def test_stories_of_a_second_are_drawn_too() -> None:
    for seed in range(1, 151):
        assert draw_plan(seed, streams_of(seed), length_s=1).steps[-1].at_ms == 1000


def test_a_feature_that_is_on_leaves_what_others_draw_as_it_is() -> None:
    """A fault, an order or a client more in one concern is none in another."""
    plan = draw_plan(5, streams_of(5))
    other = draw_plan(5, with_another("controller_disk_lanes", 5, 6))
    assert other.cluster == plan.cluster
    assert other.workloads == plan.workloads


def test_administrators_do_not_wait_for_each_other_where_orders_come_at_once() -> None:
    lanes = [
        [each for each in plan.steps if isinstance(each.action, When)]
        for seed in range(1, 40)
        for plan in [draw_plan(seed, streams_of(seed), 20)]
    ]
    assert {1, 3} <= {len(each) for each in lanes}


def test_every_drawn_step_may_fail() -> None:
    for seed in range(1, 30):
        for step in draw_plan(seed, streams_of(seed)).steps[:-1]:
            inner = step.action.steps if isinstance(step.action, When) else (step,)
            assert all(one.may_fail for one in inner)


def test_plans_with_half_open_connections_have_time_to_find_three_of_them() -> None:
    plans = {seed: draw_plan(seed, streams_of(seed), 5) for seed in range(97_101, 97_131)}
    within = {
        seed: ("half_open" in plan_text(plan), plan.ending.heals_within_ms)
        for seed, plan in plans.items()
    }
    assert {ms for is_half_open, ms in within.values() if is_half_open} == {150_000}
    assert 60_000 in {ms for is_half_open, ms in within.values() if not is_half_open}
