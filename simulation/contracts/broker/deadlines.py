"""What a broker promises to those who wait at it: for an offset, a time, the first metadata.

Source: DelayedProduce.scala, Timer.java, SocketServer.scala (enableRequestProcessing).
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from broker.core.delayed import DelayedProduce, ProduceWaiters
from broker.core.first_metadata import FirstMetadata
from broker.core.timers import Timers
from protocol.errors import ErrorCode
from simulation.contracts.contract import Broken, invariant, of_method


@of_method(ProduceWaiters, "reached")
def reached(waiters: ProduceWaiters, offset: int, code: ErrorCode) -> Generator[None, None, Broken]:
    """Who waits for an offset that is reached is answered, and nobody else."""
    before = waiters._waits.copy()  # noqa: SLF001 -- nothing public
    yield
    left = [wait for wait in before if wait[0] > offset]
    if waiters._waits != left:  # noqa: SLF001 -- as above
        return f"at {offset} wait {len(waiters)} of {[wait[0] for wait in before]}"
    waiting = [at for at, one, part in before if at <= offset and one.codes[part] is None]
    return f"{waiting} are reached, and not answered with {code.name}" if waiting else None


@of_method(ProduceWaiters, "add")
def add(
    waiters: ProduceWaiters, required_offset: int, delayed: DelayedProduce, index: int
) -> Generator[None, None, Broken]:
    """All wait in the order of their offsets, the one that came last behind its equals."""
    wanted = [*waiters._waits, (required_offset, delayed, index)]  # noqa: SLF001 -- as above
    wanted.sort(key=lambda wait: wait[0])
    yield
    is_right = waiters._waits == wanted  # noqa: SLF001 -- as above
    return None if is_right else f"{required_offset} is not in its place"


@of_method(Timers, "next_due_ms")
def next_due_ms(timers: Timers[Any]) -> Generator[None, int | None, Broken]:
    """The next deadline is the earliest of those that are set."""
    due_ms = yield
    wanted = min(timers._due_ms.values(), default=None)  # noqa: SLF001 -- as above
    return None if due_ms == wanted else f"{due_ms} ms, the earliest is {wanted} ms"


@of_method(Timers, "take_due")
def take_due(timers: Timers[Any], now_ms: int) -> Generator[None, Any, Broken]:
    """The earliest deadline is taken once it is reached, and never before."""
    before = dict(timers._due_ms)  # noqa: SLF001 -- as above
    earliest_ms = min(before.values(), default=None)
    key = yield
    if earliest_ms is None or earliest_ms > now_ms:
        return None if key is None else f"{key} is due at {now_ms} ms, it is set to {earliest_ms}"
    left = {one: at_ms for one, at_ms in before.items() if one != key}
    if before.get(key) != earliest_ms or timers._due_ms != left:  # noqa: SLF001 -- as above
        return f"{key} is taken, {earliest_ms} ms is the earliest: {before}"
    return None


@invariant(FirstMetadata, "take", "grow", "leave")
def first_metadata(gate: FirstMetadata) -> Broken:
    """What waits for the first metadata is counted, and keeps to its bounds."""
    waiting = gate._waiting.values()  # noqa: SLF001 -- as above
    size_bytes = sum(one.size_bytes for one in waiting)
    if gate.size_bytes != size_bytes:
        return f"{gate.size_bytes} bytes are counted of {size_bytes}"
    bounds = gate._requests_max, gate._bytes_max  # noqa: SLF001 -- as above
    is_within = len(gate) <= bounds[0] and size_bytes <= bounds[1]
    return None if is_within else f"{len(gate)} requests of {size_bytes} bytes, at most {bounds}"


@of_method(FirstMetadata, "take")
def take(
    gate: FirstMetadata, size_bytes: int, *, now_ms: int, timeout_ms: int
) -> Generator[None, int | None, Broken]:
    """A request waits where there is room, for its time and under a number of its own."""
    before = list(gate._waiting)  # noqa: SLF001 -- as above
    fits = len(before) < gate._requests_max and (  # noqa: SLF001 -- as above
        gate.size_bytes + size_bytes <= gate._bytes_max  # noqa: SLF001 -- as above
    )
    number = yield
    if (number is None) is fits or number in before:
        return f"{number} is given beside {len(before)}, there is room: {fits}"
    if number is not None and gate.until_ms(number) != now_ms + timeout_ms:
        return f"from {now_ms} on it waits until {gate.until_ms(number)}, not for {timeout_ms} ms"
    return None
