"""A process of the world: whose code runs, how fast, and whether at all.

Which process code belongs to travels in its context, which asyncio hands from callback to callback
and from task to task. Queues and flags only; the loop acts on them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import Context, ContextVar, copy_context
from typing import Final

STEP_US: Final = 1


class Process:
    """One process from its start to its end; a node that starts again is another one."""

    __slots__ = ("free_at_us", "is_dead", "is_paused", "name", "ready", "step_us", "steps")

    def __init__(self, name: str, step_us: int = STEP_US) -> None:
        self.name = name
        """Of the node that it runs on."""
        self.step_us = step_us
        """How long it is busy with one callback or one step of a task."""
        self.is_paused = False
        self.is_dead = False
        self.ready: deque[asyncio.Handle] = deque()
        """What it will run, in order: the promise of ``call_soon``."""
        self.free_at_us = 0
        """When it can run the next one."""
        self.steps = 0
        """How many it has run; whoever spins runs them without end."""

    def context(self) -> Context:
        """Return a new context whose code, and all that follows from it, belongs here."""
        context = copy_context()
        context.run(CURRENT.set, self)
        return context


CURRENT: Final[ContextVar[Process | None]] = ContextVar("process", default=None)
"""None: code of the world itself, which nothing kills or pauses."""
