"""A simulated disk thread: synchronous code that can wait in its middle, in virtual time.

Only one of loop and thread runs, ever: each hands the turn to the other and waits for it, so that
no two runs differ. It is a real thread, made only where code has to wait in its middle.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

from simulation.world.virtual_loop import VirtualLoop

T = TypeVar("T")


class SimThreadClosedError(BaseException):
    """Ends the code of a thread whose world is over; not to be caught."""


class SimThread:
    """One call of synchronous code."""

    def __init__(self, loop: VirtualLoop, call: Callable[[], T], done: Callable[[T], None]) -> None:
        """Prepare; ``go_on`` begins. ``done`` gets the result, on the loop."""
        self._loop = loop
        self._call = call
        self._done = done
        self._result: Any = None
        self._is_over = False
        self._is_closed = False
        self._thread_turn = threading.Semaphore(0)
        self._loop_turn = threading.Semaphore(0)
        self.context = copy_context()
        """Of the process whose code it is."""
        self._thread = threading.Thread(
            target=self.context.copy().run, args=(self._run,), daemon=True
        )

    def go_on(self) -> None:
        """Let the code run until it waits or ends. Called on the loop."""
        if self._is_over or self._is_closed:
            return
        if self._thread.ident is None:
            self._loop.at_end[self] = self.close
            self._thread.start()
        else:
            self._thread_turn.release()
        self._loop_turn.acquire()
        if self._is_over:
            self._loop.at_end.pop(self, None)
            if not self._is_closed:
                self._done(self._result)

    def wait(self) -> None:
        """Hand the turn to the loop until ``go_on``. Called by the code in the thread."""
        if not self._is_closed:
            self._loop_turn.release()
            self._thread_turn.acquire()
        if self._is_closed:
            raise SimThreadClosedError

    def close(self) -> None:
        """End the code where it waits. Called when the world ends."""
        self._is_closed = True
        self._thread_turn.release()
        self._thread.join()

    def _run(self) -> None:
        _local.thread = self
        with suppress(SimThreadClosedError):
            self._result = self._call()
        self._is_over = True
        self._loop_turn.release()


class _Local(threading.local):
    thread: SimThread | None = None


_local = _Local()


class SimGate:
    """How an operation of a simulated disk waits. Implements ``FaultGate``."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._is_open = False
        self._waiting: dict[SimThread, asyncio.TimerHandle | None] = {}

    def wait(self, timeout_ms: int | None) -> None:
        """Hold the calling thread until the gate is opened, or for ``timeout_ms``."""
        thread = _local.thread
        assert thread is not None, "a disk that may have to wait was used outside a lane"
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
