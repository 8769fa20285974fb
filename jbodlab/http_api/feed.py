"""The events of a cluster: one task looks again and again, and everybody who listens hears of it.

Which events there are is for ``core.changes`` to say.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final

from jbodlab.errors import LabError
from jbodlab.http_api.core.bodies import Event
from jbodlab.http_api.core.changes import Change, carried_over, changes
from jbodlab.http_api.core.failovers import Failovers
from jbodlab.http_api.core.snapshot import Snapshot
from protocol.metrics.rows import FailoverEventRow

LOOK_EVERY_S: Final = 0.5
EVENTS_KEPT: Final = 1_000
logger = logging.getLogger(__name__)


async def _no_steps() -> Sequence[FailoverEventRow]:
    return ()


class Feed:
    """Keeps the last snapshot and the last ``EVENTS_KEPT`` events.

    Args:
        look: returns how the cluster is; may raise LabError or OSError.
        steps: returns what nodes wrote of failovers since it was asked last; may raise the same.
        short: returns a log dir's path as it stands in the cluster file.
    """

    def __init__(
        self,
        look: Callable[[], Awaitable[Snapshot]],
        steps: Callable[[], Awaitable[Sequence[FailoverEventRow]]] = _no_steps,
        short: Callable[[str], str] = str,
    ) -> None:
        self._look = look
        self._steps = steps
        self._failovers = Failovers(short)
        self._last: Snapshot | None = None
        self._events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._next_id = 1
        self._news = asyncio.Condition()
        self._looking = asyncio.Lock()
        self.is_closed = False
        """Set once, when the server ends: listeners leave."""

    @property
    def last_id(self) -> int:
        """The id of the newest event; 0: none yet."""
        return self._next_id - 1

    async def snapshot(self) -> Snapshot:
        """Look once more, tell what changed, and return how it is now.

        Raises:
            LabError: the cluster file is gone or holds mistakes.
            OSError: a process could not be looked at.
        """
        async with self._looking:
            # First, so that nothing is told of a failure before the disk that it is about.
            steps = self._failovers.steps(await self._steps())
            seen = carried_over(self._last, await self._look())
            found = [] if self._last is None else changes(self._last, seen)
            found += steps
            if self._last is not None:
                found += self._failovers.recoveries(self._last, seen, _now_ms())
            self._last = seen
        await self.publish(found)
        return seen

    async def publish(self, found: Sequence[Change]) -> None:
        """Give events their numbers and the time, and wake everybody who listens."""
        at_ms = _now_ms()
        async with self._news:
            for change in found:
                self._events.append(Event(id=self._next_id, at_ms=at_ms, change=change))
                self._next_id += 1
            self._news.notify_all()

    async def run(self) -> None:
        """Look every ``LOOK_EVERY_S`` until it is cancelled."""
        while True:
            try:
                await self.snapshot()
            except (LabError, OSError) as error:
                logger.warning("cannot look at the cluster: %s", error)
                await self.publish([])
            await asyncio.sleep(LOOK_EVERY_S)

    async def events(self, after_id: int) -> AsyncIterator[Event | None]:
        """Yield events behind ``after_id``, and None whenever there was nothing new for a look."""
        while not self.is_closed:
            async with self._news:
                found = [each for each in self._events if each.id > after_id]
                if not found:
                    await self._news.wait()
                    found = [each for each in self._events if each.id > after_id]
            if not found:
                yield None
            for event in found:
                after_id = event.id
                yield event


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
