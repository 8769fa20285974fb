"""Plans made smaller: fewer parts, less time, and always one that was seen to fail."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.core import actions
from simulation.core.actions import Fault
from simulation.core.draw import draw_plan
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan, plan_text
from simulation.core.smaller_plan import TIME_STEP_MS, parts_of, reduced, with_parts
from tests.simulation.core.streams import streams_of


def plan_of(seed: int) -> Plan:
    return draw_plan(seed, streams_of(seed))


def own_faults(plan: Plan) -> list[str]:
    """The names of faults that are steps of their own, and not of a plot in the middle."""
    return [step.action.name for step in plan.steps if isinstance(step.action, Fault)]


SEEDS_WITH_A_FAULT = [seed for seed in range(1, 40) if own_faults(plan_of(seed))]


@given(seed=st.integers(1, 10_000))
@settings(max_examples=25)
def test_all_parts_together_are_the_plan(seed: int) -> None:
    plan = plan_of(seed)
    assert with_parts(plan, tuple(parts_of(plan))) == plan


@given(seed=st.sampled_from(SEEDS_WITH_A_FAULT))
@settings(max_examples=10, deadline=None)
def test_what_one_fault_breaks_is_reduced_to_that_fault_alone(seed: int) -> None:
    plan = plan_of(seed)
    name = own_faults(plan)[0]
    small = reduced(plan, lambda one: name in one.fault_names, 1000)
    assert small.fault_names == (name,)
    assert len(small.steps) == 2  # it is set and taken off
    assert small.workloads == ()
    assert small.cluster.brokers <= plan.cluster.brokers


@given(seed=st.integers(1, 10_000), limit=st.integers(0, 30))
@settings(max_examples=20, deadline=None)
def test_whatever_fails_what_comes_back_failed_and_can_be_written(seed: int, limit: int) -> None:
    failed: list[Plan] = []

    def still_fails(plan: Plan) -> bool:
        fails = crc32(repr(plan).encode()) % 3 == 0
        if fails:
            failed.append(plan)
        return fails

    plan = plan_of(seed)
    small = reduced(plan, still_fails, limit)
    assert small == plan or small in failed
    assert parse_plan(plan_text(small), source="small") == small


def test_the_number_of_runs_is_bounded() -> None:
    ran: list[Plan] = []

    def still_fails(plan: Plan) -> bool:
        ran.append(plan)
        return bool(plan.steps)

    reduced(plan_of(3), still_fails, 7)
    assert len(ran) <= 7


def partitions(plan: Plan) -> int:
    return sum(topic.partitions for topic in plan.cluster.topics)


def brokers(plan: Plan) -> int:
    return plan.cluster.brokers


@pytest.mark.parametrize(("size", "least"), [(brokers, 2), (partitions, 3)])
def test_clusters_become_as_small_as_they_can(size: Callable[[Plan], int], least: int) -> None:
    plan = next(
        plan
        for plan in map(plan_of, range(1, 200))
        if size(plan) > least >= len(plan.cluster.topics)  # every topic stays
    )
    assert size(reduced(plan, lambda one: size(one) >= least, 1000)) == least


def test_times_become_as_short_as_they_can() -> None:
    def end_ms(plan: Plan) -> int:
        return max((step.at_ms or 0 for step in plan.steps), default=0)

    plan = next(plan for plan in map(plan_of, range(1, 200)) if end_ms(plan) > 5000)
    small = reduced(plan, lambda one: end_ms(one) >= 3000, 1000)
    assert 3000 <= end_ms(small) < 3000 + TIME_STEP_MS * len(plan.steps)


def test_a_fault_never_stays_without_what_takes_it_off() -> None:
    plan = plan_of(SEEDS_WITH_A_FAULT[0])
    name = own_faults(plan)[0]
    part = next(
        part
        for part in parts_of(plan)
        if len(part.steps) == 2 and with_parts(plan, (part,)).fault_names == (name,)
    )
    assert [type(step.action) for step in with_parts(plan, (part,)).steps] == [
        Fault,
        actions.Clear,
    ]
