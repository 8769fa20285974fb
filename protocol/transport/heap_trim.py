"""Gives memory that was freed back to the system once the process is quiet.

glibc maps large blocks and gives them back when they are freed, but its bound for "large" rises to
the largest block freed so far (up to 32 MiB). From then on such blocks come from the heap, and what
is freed below the last one in use stays: of 300 requests of 0.9 MB that came and went together 270
MB stayed for as long as one small object lay behind them. A small bound that is fixed would have
every request pay for fresh pages; ``malloc_trim`` costs nothing while there is work and little
where nothing was freed (what was does not show in the resident set). It gives back the pages in the
middle of all heaps, those of disk threads too. Frames of more than 2 MiB are mapped by
`protocol.framing` and need none of this.
"""

from __future__ import annotations

import asyncio
import ctypes
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

PERIOD_S: Final = 2.0
GROWN_BYTES_MIN: Final = 16 * 1024 * 1024
"""Less is not worth the look through all heaps."""
QUIET_SHARE_MAX: Final = 0.5
"""Of its time that a quiet process spends on a processor."""
MAPPED_BLOCK_BYTES_MIN: Final = 4 * 1024 * 1024
KEPT_BYTES_MAX: Final = 16 * 1024 * 1024
"""What is free at the end of the heap stays while there is work. With glibc's own bound, twice the
largest block freed so far, a server of requests of 1 MiB paid for nearly all pages anew."""
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_STATM: Final = Path("/proc/self/statm")


class HeapTrim:
    """Looks every ``PERIOD_S``. Where the system has no ``malloc_trim`` it does nothing."""

    def __init__(
        self,
        trim: Callable[[], None],
        resident_bytes: Callable[[], int],
        processor_s: Callable[[], float],
    ) -> None:
        """Take the least resident memory that it ever sees as what the process needs.

        Args:
            trim: gives freed memory back; called in a thread.
            resident_bytes: of this process.
            processor_s: how much processor time it has used.
        """
        self._trim = trim
        self._resident_bytes = resident_bytes
        self._processor_s = processor_s
        self._used_s = processor_s()
        self._needed_bytes = resident_bytes()

    def is_due(self) -> bool:
        """Tell whether it pays to trim now; to be asked every ``PERIOD_S``."""
        used_s, self._used_s = self._used_s, self._processor_s()
        resident_bytes = self._resident_bytes()
        self._needed_bytes = min(self._needed_bytes, resident_bytes)
        is_quiet = self._used_s - used_s <= QUIET_SHARE_MAX * PERIOD_S
        return is_quiet and resident_bytes >= self._needed_bytes + GROWN_BYTES_MIN

    def run(self) -> None:
        """Look from now on, as long as the running loop does."""
        asyncio.get_running_loop().call_later(PERIOD_S, self._look)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if self.is_due():
            loop.run_in_executor(None, self._trim)
        self.run()


def trim_when_quiet() -> None:
    """Have this process give back what it freed once it is quiet, if its system can do that.

    Until then it is kept for the next request.
    """
    libc = ctypes.CDLL(None)
    trim, mallopt = getattr(libc, "malloc_trim", None), getattr(libc, "mallopt", None)
    if trim is not None and mallopt is not None and _STATM.exists():
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BLOCK_BYTES_MIN)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)
        HeapTrim(lambda: trim(0), _resident_bytes, time.process_time).run()


def _resident_bytes() -> int:
    return int(_STATM.read_text().split()[1]) * resource.getpagesize()
