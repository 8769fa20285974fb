"""What a broker promises to produces that wait: each part is settled once.

Source: DelayedProduce.scala.
"""

from __future__ import annotations

from collections.abc import Generator

from broker.core.delayed import DelayedProduce
from protocol.errors import ErrorCode
from simulation.contracts.contract import Broken, of_method


@of_method(DelayedProduce, "complete")
def complete(delayed: DelayedProduce, index: int, code: ErrorCode) -> Generator[None, None, Broken]:
    """A part keeps the first code that it gets."""
    wanted = delayed.codes.copy()
    if wanted[index] is None:
        wanted[index] = code
    yield
    if delayed.codes != wanted:
        return f"{delayed.codes}, not {wanted}"
    if delayed.done is not all(each is not None for each in wanted):
        return f"done is {delayed.done}, settled are {wanted}"
    return None


@of_method(DelayedProduce, "expire")
def expire(delayed: DelayedProduce) -> Generator[None, list[int], Broken]:
    """What still waits when its time is over is answered as timed out, and nothing else is."""
    waiting = [index for index, code in enumerate(delayed.codes) if code is None]
    late = yield
    timed_out = [each for each in waiting if delayed.codes[each] is ErrorCode.REQUEST_TIMED_OUT]
    return None if late == waiting == timed_out else f"{late}, {waiting} waited: {delayed.codes}"
