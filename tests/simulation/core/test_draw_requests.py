"""Faults of requests as they are drawn."""

from __future__ import annotations

from random import Random

from protocol.errors import ErrorCode
from protocol.faults.requests import RequestFault, RequestMode, When
from simulation.core.actions import Fault, Step
from simulation.core.draw_cluster import draw_cluster
from simulation.core.draw_faults import FaultScope
from simulation.core.draw_requests import draw_requests
from simulation.core.features import Situation
from simulation.core.plan import Plan
from simulation.core.plan_document import parse_plan, plan_text
from simulation.core.planned_situations import planned_situations

SEEDS = range(300)


def drawn(seed: int) -> list[RequestFault]:
    lanes = draw_requests(Random(seed), FaultScope(draw_cluster(Random(seed)), 5_000), 0)
    actions = [timed.action for lane in lanes for timed in lane]
    rules = [action.rule for action in actions if isinstance(action, Fault)]
    return [rule for rule in rules if isinstance(rule, RequestFault)]


FAULTS = [fault for seed in SEEDS for fault in drawn(seed)]


def test_every_mode_that_does_something_is_drawn() -> None:
    modes = {fault.mode: None for fault in FAULTS}
    assert [each for each in RequestMode if each not in modes] == [RequestMode.OBSERVE]


def test_only_a_produce_is_answered_with_an_error_after_its_work() -> None:
    """Whoever is told that nothing was done may say so to the checkers."""
    errors = [fault for fault in FAULTS if fault.mode is RequestMode.ERROR]
    codes = {ErrorCode[fault.error_code] for fault in errors if fault.when is When.AFTER}
    assert codes == {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
    assert {fault.apis for fault in errors if fault.when is When.AFTER} == {("Produce",)}
    before = {ErrorCode[fault.error_code] for fault in errors if fault.when is When.BEFORE}
    assert not before & codes


def test_a_plan_with_one_is_made_for_it_and_can_be_written_down() -> None:
    for number, fault in enumerate(FAULTS[:40]):
        steps = (Step(action=Fault(name=f"request-{number}", rule=fault)),)
        plan = Plan(name="p", shows="x.", steps=steps)
        assert parse_plan(plan_text(plan), source="p").steps == steps
        assert planned_situations(plan) == [Situation.REQUEST_FAULTS]
