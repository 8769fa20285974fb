"""Steps of large messages: pieces so short that nobody else waits long between two of them.

What is generated here and in ``decode_source`` and ``encode_source`` yields; ``fast`` runs it, and
who drives it lets others run at every yield. It knows no clock: a step is a number of items.
"""
# construct has no type annotations.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from protocol.errors import Malformed
from protocol.wire.source import Source
from protocol.wire.varint import STRUCTS_MAX, refuse_null

STEP_ITEMS: Final = 256
"""Items of arrays that are read or written in one step: about a millisecond."""
INTEGERS_OF_A_STEP: Final = 16 * STEP_ITEMS
"""Integers, which are read and written many at a time."""


def make_step(source: Source) -> None:
    """Write lines that count an item and yield when a step is over."""
    source.add("due -= 1")
    with source.block("if not due:"):
        source.add("yield", f"due = {STEP_ITEMS}")


def integers_in_steps(
    read: Callable[[Any, int, int], tuple[Sequence[Any], int]],
    size_bytes: int,
    buf: Any,
    pos: int,
    count: int,
) -> Generator[None, None, tuple[Sequence[Any], int]]:
    """Read ``count`` integers of ``size_bytes`` by ``read``, so many at a time.

    Raises:
        Malformed: they cannot fit, or are more than anything could be asked about.
    """
    if count < 0:
        refuse_null()
    if count * size_bytes > len(buf) - pos:
        raise Malformed(f"array of {count} in {len(buf) - pos} bytes")
    if count > STRUCTS_MAX:
        raise Malformed(f"array of {count}, at most {STRUCTS_MAX}")
    if count <= INTEGERS_OF_A_STEP:
        return read(buf, pos, count)
    items: list[Any] = []
    while len(items) < count:
        some, pos = read(buf, pos, min(INTEGERS_OF_A_STEP, count - len(items)))
        items += some
        yield
    return items, pos


def alike_in_steps(
    read: Callable[[Any, int, int], tuple[list[Any], int]],
    buf: Any,
    pos: int,
    count: int,
    items: list[Any],
) -> Generator[None, None, int]:
    """Read at most ``count`` structs that are alike into ``items``, so many at a time.

    Returns the position behind them.
    """
    while len(items) < count:
        wanted = min(STEP_ITEMS, count - len(items))
        some, pos = read(buf, pos, wanted)
        items += some
        if len(some) < wanted:
            break
        yield
    return pos


def integers_out_in_steps(
    write: Callable[[Any, Sequence[Any]], None], out: Any, items: Sequence[Any]
) -> Generator[None, None, None]:
    """Write integers by ``write``, so many at a time."""
    for first in range(0, len(items), INTEGERS_OF_A_STEP):
        write(out, items[first : first + INTEGERS_OF_A_STEP])
        if len(items) > INTEGERS_OF_A_STEP:
            yield
