"""What contracts say of a controller that lets people wait for too long, or not for long enough."""

from __future__ import annotations

from typing import Any, Final

import pytest

from controller.core.effects import Effect, Note
from controller.core.machine import Machine
from controller.core.run_state import Waiting
from controller.core.step import Step
from simulation.contracts.controller.patience import goes_on
from tests.simulation.contracts.controller.controlled import Act, Case, led, tells
from tests.simulation.contracts.controller.stepping import Spoil, Twist, told
from tests.simulation.contracts.wrong_rules import answers, told_of

DONE: Final = Note("done")
LATE: Final = Note("late")
FAR_MS: Final = 10**9


def waits(*, answered: bool, deadline_ms: int | None = None) -> Spoil:
    """Return what has somebody wait for broker 1 from now on."""

    def prepare(machine: Machine) -> None:
        progress = machine.run.channels[1]
        number = progress.answered if answered else progress.sent + 100
        told_of = {1: (progress.broker_epoch, number)}
        machine.run.waiting.append(Waiting(told_of, deadline_ms, DONE, LATE))

    return prepare


def nobody(machine: Machine) -> None:
    machine.run.waiting.clear()


def undone(effects: list[Effect]) -> list[Effect]:
    return [each for each in effects if each not in (DONE, LATE)]


@pytest.mark.parametrize(
    "before",
    [waits(answered=False), waits(answered=True), waits(answered=False, deadline_ms=0)],
)
def test_a_controller_lets_people_go_on_at_their_time(before: Spoil) -> None:
    assert told(goes_on, before=before) == []


@pytest.mark.parametrize(
    "spoil",
    [waits(answered=True), waits(answered=False, deadline_ms=0)],
)
def test_whose_time_has_come_waits_no_longer(spoil: Spoil) -> None:
    assert told(goes_on, spoil=spoil)


def test_nobody_goes_on_before_its_time() -> None:
    before = waits(answered=False, deadline_ms=FAR_MS)
    assert told(goes_on, before=before, spoil=nobody)


@pytest.mark.parametrize("before", [waits(answered=True), waits(answered=False, deadline_ms=0)])
@pytest.mark.parametrize("twist", [undone])
def test_whoever_goes_on_gets_what_it_waited_for(before: Spoil, twist: Twist) -> None:
    assert told(goes_on, before=before, twist=twist)


def a_topic_is_made() -> Act:
    cluster = led()
    return lambda: cluster.create("u", [1, 2])


RIGHT: Final = Step.when_told


def forgets_one(step: Step, done: Effect, **times: Any) -> None:
    RIGHT(step, done, **times)
    if step.run.waiting:
        step.run.waiting[-1].told.popitem()


def waits_for_ever(step: Step, done: Effect, **_: Any) -> None:
    RIGHT(step, done)


CASES: Final[list[Case]] = [
    ("Step.when_told", answers(None), a_topic_is_made),
    ("Step.when_told", forgets_one, a_topic_is_made),
    ("Step.when_told", waits_for_ever, a_topic_is_made),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1].__name__)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(case: Case) -> None:
    tells(case)


@pytest.mark.parametrize("late_ms", [0, 1, -1])
def test_a_controller_looks_again_when_something_is_due_and_not_later(late_ms: int) -> None:
    cluster, right = led(), Machine.next_deadline_ms

    def looks(machine: Machine) -> int:
        due_ms = right(machine)
        assert due_ms is not None
        return due_ms + late_ms

    def use() -> None:
        cluster.machine.next_deadline_ms()

    assert bool(told_of(looks, "Machine.next_deadline_ms", use)) is bool(late_ms)
