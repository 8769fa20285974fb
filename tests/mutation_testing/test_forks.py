"""Tasks in forks: what they return, and every way in which they do not."""

from __future__ import annotations

import os
import resource
import signal
import threading
from collections.abc import Callable
from typing import NoReturn

import pytest

from tests.deadlines import DEADLINE_S
from tests.mutation_testing.forks import Ended, TaskError, in_forks, limit_cpu


def outcome(task: Callable[[], object], wall_s_max: float = DEADLINE_S) -> Ended:
    [(_, ended)] = in_forks([("task", task)], jobs=1, wall_s_max=wall_s_max)
    return ended


def raises() -> NoReturn:
    raise ValueError("a bug")


def leaves() -> NoReturn:
    os._exit(3)


def goes_on() -> NoReturn:
    limit_cpu(0)
    while True:
        pass


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def waits_forever() -> None:
    threading.Event().wait()


def leaves_a_thread() -> str:
    threading.Thread(target=waits_forever).start()
    return "done"


def test_what_a_task_returns_comes_back() -> None:
    assert outcome(lambda: {"found": ["a"]}) == Ended(value={"found": ["a"]})


def test_a_thread_that_is_left_over_holds_nobody_up() -> None:
    assert outcome(leaves_a_thread) == Ended(value="done")


@pytest.mark.parametrize(
    ("task", "died"),
    [
        (leaves, "ended with exit code 3"),
        (goes_on, "went on and on without an end"),
        (dies, "was killed by SIGKILL"),
    ],
)
def test_a_task_that_returns_nothing_is_told_apart(task: Callable[[], object], died: str) -> None:
    assert outcome(task) == Ended(died=died)


def test_a_limit_outside_of_a_task_is_refused_and_nothing_is_limited() -> None:
    before = resource.getrlimit(resource.RLIMIT_CPU)

    with pytest.raises(RuntimeError, match="in_forks"):
        limit_cpu(DEADLINE_S)
    assert resource.getrlimit(resource.RLIMIT_CPU) == before


def test_what_a_task_raises_is_raised_here() -> None:
    with pytest.raises(TaskError, match="ValueError: a bug"):
        outcome(raises)


def test_a_task_that_waits_for_nothing_is_killed() -> None:
    assert outcome(waits_forever, wall_s_max=0) == Ended(died="stood still for 0 s")


def test_all_tasks_run_whatever_becomes_of_some() -> None:
    tasks: list[tuple[int, Callable[[], object]]] = [(1, dies), (2, lambda: 2), (3, lambda: 3)]
    ended = dict(in_forks(tasks, jobs=2, wall_s_max=DEADLINE_S))

    assert {key: each.value for key, each in ended.items()} == {1: None, 2: 2, 3: 3}
