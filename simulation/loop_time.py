"""The time of the running loop as histories and samples write it: virtual in simulated worlds."""

from __future__ import annotations

import asyncio


def loop_us(seconds: float) -> int:
    """Turn a time of a loop into microseconds."""
    return int(seconds * 1_000_000)


def loop_now_us() -> int:
    """Return the time of the running loop in microseconds."""
    return loop_us(asyncio.get_running_loop().time())
