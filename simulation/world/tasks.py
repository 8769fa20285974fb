"""Tasks that are the same in every run, and the burial of those that will never end.

Source: a TaskGroup and ``asyncio.wait`` keep tasks in sets, whose order would follow addresses.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, Final, TypeVar

from simulation.world.process import Process

T = TypeVar("T")

_BURIAL_ATTEMPTS: Final = 50
"""A coroutine may wait again and again while it is closed."""


class SimTask(asyncio.Task[T]):
    """A task with a number: its name and its place in a set follow from it."""

    def __init__(
        self,
        number: int,
        process: Process,
        coro: Coroutine[Any, Any, T],
        loop: asyncio.AbstractEventLoop,
        name: str | None,
        context: Context | None,
    ) -> None:
        self.number = number
        self.process = process
        super().__init__(coro, loop=loop, name=name or f"Task-{number}", context=context)

    def __hash__(self) -> int:
        return self.number


def close_abandoned(task: SimTask[Any]) -> None:
    """Close the coroutine of a task that will never run, without a word.

    What its code does at its end has no effect: the process it belongs to is dead.
    """
    # asyncio would complain of a task that is lost while it waits.
    task._log_destroy_pending = False  # type: ignore[attr-defined] # noqa: SLF001
    _close(task.get_coro())


def _close(coroutine: Any) -> None:
    """Close a coroutine and all that it waits for, the innermost first."""
    for _ in range(_BURIAL_ATTEMPTS):
        inner = getattr(coroutine, "cr_await", None)
        if inspect.iscoroutine(inner):
            _close(inner)
        try:
            coroutine.close()
        except BaseException:  # noqa: BLE001 -- its end fails in a world that is over
            continue
        return


def describe_tasks(loop: asyncio.AbstractEventLoop) -> str:
    """Return one line per unfinished task: where it waits."""
    tasks = [task for task in asyncio.all_tasks(loop) if isinstance(task, SimTask)]
    return "\n".join(_describe(task) for task in sorted(tasks, key=hash))


def _describe(task: SimTask[Any]) -> str:
    frames = task.get_stack()
    where = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "nowhere"
    return f"  {task.process.name}: {task.get_name()} waits at {where}"
