"""Handles of callbacks and timers, without what only asyncio's debug mode needs.

They have no ``__init__``: the loop makes one or two of them for every step that it takes, and sets
their attributes itself. Who runs them is the loop's business too.
"""

# Attributes of asyncio's handles that nothing sets here are shared by the class.
# pyright: reportIncompatibleVariableOverride=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.world.process import Process


class SimHandle(asyncio.Handle):
    """A callback. The loop sets its context, loop, callback and arguments, and ``_cancelled``."""

    __slots__ = ()

    _repr = None
    _source_traceback = None

    def cancel(self) -> None:
        """Never run it; a second time changes nothing."""
        self._cancelled = True
        self._callback = None
        self._args = None


class SimTimerHandle(asyncio.TimerHandle):
    """A callback with its time and its process; the loop sets ``_scheduled`` too."""

    __slots__ = ("at_us", "process")

    _repr = None
    _source_traceback = None

    at_us: int
    process: Process

    @property
    def _when(self) -> float:
        return self.at_us / 1_000_000

    def cancel(self) -> None:
        """Never run it; a second time changes nothing."""
        if self._cancelled:
            return
        self._cancelled = True
        self._callback = None
        self._args = None
        if self._scheduled:
            self._loop.timers_cancelled += 1
