"""Tasks in processes of their own, forked from this one: all that it has imported is there already.

It knows nothing of mutants. Linux and macOS only: Windows cannot fork.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Any, Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
_FORK: Final = multiprocessing.get_context("fork")
_MEMORY_BYTES_MAX: Final = 4 << 30
_HARD_LIMIT_S: Final = 24 * 3600
_LOOK_S: Final = 1.0


class TaskError(Exception):
    """A task raised something: it is wrong, and says nothing of what it was to find out."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a task."""

    value: Any = None
    """What it returned; None when it did not come to that."""
    died: str = ""
    """How its process ended, if it did not return."""
    error: str = ""
    """The traceback of what it raised."""


@dataclass(slots=True)
class _Running(Generic[Key]):
    key: Key
    process: ForkProcess
    results: Connection
    deadline_s: float


def in_forks(
    tasks: Iterable[tuple[Key, Callable[[], object]]], *, jobs: int, wall_s_max: float
) -> Iterator[tuple[Key, Ended]]:
    """Run tasks, ``jobs`` at a time, and give each with its end as soon as that is known.

    Args:
        tasks: what they return is pickled and has to be small; what they print is lost. Taken one
            by one, when there is room for another.
        jobs: how many run at the same time.
        wall_s_max: whoever takes longer is killed: it waits for what never comes.

    Raises:
        TaskError: a task raised something.
    """
    waiting = iter(tasks)
    running: list[_Running[Key]] = []
    try:
        while True:
            while len(running) < jobs and (task := next(waiting, None)) is not None:
                running.append(_started(*task, time.monotonic() + wall_s_max))
            if not running:
                return
            wait([each.process.sentinel for each in running], _LOOK_S)
            for each in list(running):
                if (ended := _end_of(each, wall_s_max)) is not None:
                    running.remove(each)
                    if ended.error:
                        raise TaskError(f"{each.key} raised in its process:\n{ended.error}")
                    yield each.key, ended
    finally:
        for each in running:
            each.process.kill()
            each.process.join()


def limit_cpu(seconds: float) -> None:
    """Have a task's process killed once it has used so many more seconds of processor time.

    Raises:
        RuntimeError: this process is not a task's; it would die later, without a word.
    """
    if multiprocessing.parent_process() is None:
        raise RuntimeError("limit_cpu is for the processes of in_forks, this is none of them")
    soft = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft, _HARD_LIMIT_S))


def _started(key: Key, task: Callable[[], object], deadline_s: float) -> _Running[Key]:
    # Named by a type of Windows in the stubs.
    receiving: Any
    sending: Any
    receiving, sending = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_run, args=(task, sending), daemon=True)
    process.start()
    sending.close()
    return _Running(key, process, receiving, deadline_s)


def _run(task: Callable[[], object], results: Connection) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX))
    try:
        results.send(Ended(value=task()))
    except Exception:  # noqa: BLE001 - whatever it is, it is told where somebody reads it
        results.send(Ended(error=traceback.format_exc()))
    results.close()
    os._exit(0)  # threads of a mutant that hang would hold an orderly end up


def _end_of(running: _Running[Key], wall_s_max: float) -> Ended | None:
    process = running.process
    if process.is_alive():
        if time.monotonic() < running.deadline_s:
            return None
        process.kill()
        process.join()
        return Ended(died=f"stood still for {wall_s_max:.0f} s")
    process.join()
    with running.results as results, suppress(EOFError):
        ended: Ended = results.recv()
        return ended
    return Ended(died=_cause(process.exitcode or 0))


def _cause(exit_code: int) -> str:
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    if -exit_code == signal.SIGXCPU:
        return "went on and on without an end"
    return f"was killed by {signal.Signals(-exit_code).name}"
