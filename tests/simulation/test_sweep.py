"""Many seeds: in order, no further than wanted, and processes that end."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psutil
import pytest

from simulation.sweep import sweep
from tests.deadlines import DEADLINE_S

FOREVER = """
import time
from simulation.sweep import processes, sweep

def run_seed(seed):
    time.sleep({first_s} if seed == 1 else 3600)
    return seed

if __name__ == "__main__":
    with processes(2) as executor:
        for seed, result in sweep(range(1, 9), run_seed, executor, 4):
            print("done", seed, flush=True)
"""


class Masked(Executor):
    """Knows which signals were held back when it was given something."""

    def __init__(self) -> None:
        self.held: list[bool] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.held.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        future: Future[Any] = Future()
        future.set_result(fn(*args))
        return future


def test_a_process_that_starts_is_not_interrupted_before_it_can_end_silently() -> None:
    executor = Masked()
    assert [seed for seed, _ in sweep(range(3), lambda seed: seed, executor, 1)] == [0, 1, 2]
    assert executor.held == [True, True, True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


class Postponed(Executor):
    """Runs what it was given only when all is handed out, the last one first."""

    def __init__(self, run_first_at: int | None = None) -> None:
        self.run_first_at = run_first_at
        self.given: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []
        self.ran: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.given.append((future, fn, args))
        if len(self.given) == self.run_first_at:
            self._run(0)
        return future

    def run_backwards(self) -> None:
        while self.given:
            self._run(-1)

    def _run(self, position: int) -> None:
        future, fn, args = self.given.pop(position)
        if future.set_running_or_notify_cancel():
            self.ran.append(args[0])
            future.set_result(fn(*args))


def workers_of(group: int) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for one in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(one.pid) == group and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found


def test_results_come_in_the_order_of_the_seeds_whichever_ends_first() -> None:
    executor = Postponed()

    def seeds() -> Any:
        yield from range(5, 9)
        executor.run_backwards()

    assert list(sweep(seeds(), lambda seed: seed * 2, executor, 10)) == [
        (5, 10),
        (6, 12),
        (7, 14),
        (8, 16),
    ]
    assert executor.ran == [8, 7, 6, 5]


def test_seeds_are_handed_out_only_so_far_ahead() -> None:
    handed_out: list[int] = []

    def seeds() -> Any:
        for seed in itertools.count(1):
            handed_out.append(seed)
            yield seed

    with ThreadPoolExecutor(1) as executor:
        results = sweep(seeds(), lambda seed: seed, executor, 3)
        assert next(results) == (1, 1)
        assert next(results) == (2, 2)
        results.close()
    assert handed_out == [1, 2, 3, 4]


def test_who_stops_iterating_has_the_rest_not_run() -> None:
    executor = Postponed(run_first_at=4)
    results = sweep(range(1, 9), lambda seed: seed, executor, 4)
    assert next(results) == (1, 1)
    results.close()
    executor.run_backwards()
    assert executor.ran == [1]


def test_a_seed_that_raises_ends_the_sweep_with_its_error_and_its_number() -> None:
    def run_seed(seed: int) -> int:
        if seed == 3:
            raise RuntimeError("no such thing")
        return seed

    seen: list[int] = []
    with ThreadPoolExecutor(2) as executor, pytest.raises(RuntimeError, match="no such") as caught:
        seen.extend(seed for seed, _ in sweep(range(1, 9), run_seed, executor, 4))
    assert seen in ([], [1, 2])
    assert caught.value.__notes__ == ["in seed 3"]


@pytest.mark.integration
def test_ctrl_c_ends_all_processes_and_says_nothing_but_that(tmp_path: Any) -> None:
    script = tmp_path / "forever.py"
    script.write_text(FOREVER.format(first_s=0))
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done 1\n"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=DEADLINE_S)
    assert process.returncode in (1, -signal.SIGINT)
    assert "KeyboardInterrupt" in errors
    assert "Process SpawnProcess" not in errors
    wait_until_none_is_left(process.pid)


@pytest.mark.integration
def test_processes_end_with_the_first_one_if_it_is_killed(tmp_path: Any) -> None:
    script = tmp_path / "forever.py"
    script.write_text(FOREVER.format(first_s=0))
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done 1\n"
        process.kill()
    wait_until_none_is_left(process.pid)


def wait_until_none_is_left(pid: int) -> None:
    """Wait; the tracker of multiprocessing ends by itself, a moment later."""
    deadline_s = time.monotonic() + DEADLINE_S
    while left := workers_of(pid):
        assert time.monotonic() < deadline_s, left
        psutil.wait_procs(left, timeout=0.1)
