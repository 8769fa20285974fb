"""Steps run as soon as what they need is there, and none after the first error."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from graphlib import CycleError

import pytest

from analytics.steps import Step, work_off
from tests.deadlines import DEADLINE_S


def test_a_step_gets_the_outcomes_that_it_needs_in_the_order_in_which_it_names_them() -> None:
    steps = {
        "both": Step(divmod, ("four", "two")),
        "two": Step(lambda: 2),
        "four": Step(partial(pow, 2), ("two",)),
    }
    with ThreadPoolExecutor(2) as executor:
        assert work_off(executor, steps) == {"two": 2, "four": 4, "both": (2, 0)}


def test_a_step_does_not_wait_for_those_that_it_does_not_need() -> None:
    is_over = threading.Event()

    def end(_: str) -> None:
        is_over.set()

    steps = {
        "slow": Step(lambda: is_over.wait(DEADLINE_S)),
        "first": Step(lambda: "there"),
        "second": Step(end, ("first",)),
    }
    with ThreadPoolExecutor(2) as executor:
        assert work_off(executor, steps)["slow"]


def test_after_an_error_no_step_begins() -> None:
    begun: list[str] = []
    is_told = threading.Event()

    def fail() -> None:
        raise ValueError("no space left")

    def is_last() -> None:
        is_told.wait(DEADLINE_S)
        begun.append("last")

    steps = {
        "breaks": Step(fail),
        "runs": Step(is_last),
        "waits": Step(lambda: begun.append("waits")),
        "needs": Step(begun.append, ("breaks",)),
    }
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(ValueError, match="no space left"):
            work_off(executor, steps)
        is_told.set()
    assert begun in ([], ["last"])


def test_steps_that_need_each_other_are_refused() -> None:
    steps = {"hen": Step(str, ("egg",)), "egg": Step(str, ("hen",))}
    with ThreadPoolExecutor(1) as executor, pytest.raises(CycleError):
        work_off(executor, steps)
