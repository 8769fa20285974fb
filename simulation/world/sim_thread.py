"""A simulated disk thread: synchronous code that can wait in its middle, in virtual time.

A greenlet, and no thread of the system: loop and code hand each other the turn, so that no two runs
differ. It is made only where code may have to wait in its middle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from simulation.world.virtual_loop import VirtualLoop

T = TypeVar("T")


class SimThreadClosedError(BaseException):
    """Ends the code of a thread whose world is over; not to be caught."""


class SimThread(greenlet):
    """One call of synchronous code."""

    def __init__(self, loop: VirtualLoop, call: Callable[[], T], done: Callable[[T], None]) -> None:
        """Prepare; ``go_on`` begins. ``done`` gets the result, on the loop."""
        super().__init__(self._run)
        self._loop = loop
        self._call = call
        self._done = done
        self._result: Any = None
        self._is_closed = False
        self.context = copy_context()
        """Of the process whose code it is."""
        self.gr_context = self.context.copy()

    def go_on(self) -> None:
        """Let the code run until it waits or ends. Called on the loop."""
        if self.dead or self._is_closed:
            return
        self._loop.at_end[self] = self.close
        self.switch()
        if self.dead:
            del self._loop.at_end[self]
            self._done(self._result)

    def wait(self) -> None:
        """Hand the turn to the loop until ``go_on``. Called by the code in the thread."""
        if not self._is_closed:
            self._to_loop()
        if self._is_closed:
            raise SimThreadClosedError

    def close(self) -> None:
        """End the code where it waits. Called when the world ends."""
        self._is_closed = True
        self.switch()

    def _to_loop(self) -> None:
        assert self.parent is not None
        self.parent.switch()

    def _run(self) -> None:
        with suppress(SimThreadClosedError):
            self._result = self._call()


class SimGate:
    """How an operation of a simulated disk waits. Implements ``FaultGate``."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._is_open = False
        self._waiting: dict[SimThread, asyncio.TimerHandle | None] = {}

    def wait(self, timeout_ms: int | None) -> None:
        """Hold the calling thread until the gate is opened, or for ``timeout_ms``."""
        thread = getcurrent()
        assert isinstance(thread, SimThread), "a disk that may have to wait was used outside a lane"
        if self._is_open:
            return
        timer = None
        if timeout_ms is not None:
            due_us = self._loop.now_us + timeout_ms * 1000
            timer = self._loop.call_at_us(due_us, self._go_on, thread, context=thread.context)
        self._waiting[thread] = timer
        thread.wait()

    def open(self) -> None:
        """Let all that wait go on, each in its own turn, and all that come."""
        self._is_open = True
        for thread, timer in self._waiting.items():
            if timer is not None:
                timer.cancel()
            self._loop.call_soon(thread.go_on, context=thread.context)
        self._waiting.clear()

    def _go_on(self, thread: SimThread) -> None:
        del self._waiting[thread]
        thread.go_on()
