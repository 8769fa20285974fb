"""Keeps full garbage collections short, and away from requests.

CPython looks at the oldest generation as a whole, for a tenth of a microsecond and more per object,
and requests wait meanwhile. So it no longer does that by itself: once a second the loop asks
whether Python's memory has grown since the last one, as it has where there is garbage, and whether
no large work is on. What stood one full collection is left out of the next. What is left out is
freed as ever once nobody refers to it; what becomes garbage in a cycle stays until the process has
grown much since all was looked at, and all is looked at again.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from typing import Final

from protocol.transport.turns import is_large_work_on

LOOK_INTERVAL_S: Final = 1.0
GROWN_SHARE_MIN: Final = 0.1
"""By so much more blocks of Python's memory than after the last one a full collection is due."""
GROWN_TIMES_MIN: Final = 2
"""So many blocks of Python's memory as after the last look at all: then it is time for another."""
_OLDEST: Final = 2
_NEVER: Final = 2**31 - 1


class FullCollections:
    """Those of this process, from ``begin`` on; a process has one of these."""

    def __init__(
        self,
        blocks: Callable[[], int] = sys.getallocatedblocks,
        is_busy: Callable[[], bool] = is_large_work_on,
    ) -> None:
        """Prepare.

        Args:
            blocks: tells how much memory Python uses.
            is_busy: tells whether to wait for the next look.
        """
        self._blocks = blocks
        self._is_busy = is_busy
        self._blocks_of_all = self._blocks_of_last = 0
        self._looks_at_all = True
        self._thresholds = gc.get_threshold()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Look now, and from now on by the loop that runs, until ``end``.

        What a launcher froze before it forked this process is left out from the start: it stays
        shared with its siblings, while to look at it would write to every page of it.
        """
        if gc.get_freeze_count():
            self._looks_at_all = False
            self._blocks_of_all = self._blocks()
        gc.callbacks.append(self._on_collection)
        gc.set_threshold(*self._thresholds[:_OLDEST], _NEVER)
        gc.collect()
        self._arm()

    def end(self) -> None:
        """Leave nothing out any more, and have Python decide when to collect."""
        if self._timer is not None:
            self._timer.cancel()
        gc.callbacks.remove(self._on_collection)
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    def collect_if_due(self) -> None:
        """Collect garbage of all ages, unless there is none or large work is on."""
        if self._blocks() > (1 + GROWN_SHARE_MIN) * self._blocks_of_last and not self._is_busy():
            gc.collect()

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LOOK_INTERVAL_S, self._look)

    def _look(self) -> None:
        self.collect_if_due()
        self._arm()

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            if self._blocks() > GROWN_TIMES_MIN * self._blocks_of_all:
                self._looks_at_all = True
                gc.unfreeze()
            return
        gc.freeze()
        self._blocks_of_last = self._blocks()
        if self._looks_at_all:
            self._looks_at_all = False
            self._blocks_of_all = self._blocks_of_last
