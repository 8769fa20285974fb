"""An event loop whose time jumps to the next timer: tests wait for nothing and sleep never."""

# It replaces the selector of asyncio's loop, which has no public place for that.
# pyright: reportPrivateUsage=false, reportAttributeAccessIssue=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
from typing import Any


class DeadlockError(AssertionError):
    """Every task waits and no timer is set: nothing can ever happen again."""


class _NoSelector:
    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> tuple[()]:
        if timeout is None:
            raise DeadlockError(f"nothing can happen any more at {self._loop.time():.6f} s")
        if timeout > 0:
            self._loop.now_s = self._loop.next_timer_s()
        return ()

    def close(self) -> None:
        return None


class VirtualLoop(asyncio.BaseEventLoop):
    """A loop without sockets, threads and real time."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 1_000.0
        self._selector = _NoSelector(self)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self.now_s

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """End the test with what a callback raised, unless it looks at such errors itself."""
        if self.get_exception_handler() is None:
            raise context.get("exception") or AssertionError(context["message"])
        super().call_exception_handler(context)

    def next_timer_s(self) -> float:
        return self._scheduled[0]._when

    @property
    def timers_count(self) -> int:
        """How many timers are set, those apart that were cancelled."""
        return sum(not timer.cancelled() for timer in self._scheduled)

    def _process_events(self, _events: Any) -> None:
        return None

    def _write_to_self(self) -> None:
        return None

    def call_soon_threadsafe(self, *_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("a thread called into the virtual loop")
