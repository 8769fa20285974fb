"""Large work in steps: one step, then everybody else who is ready, then the next step.

Large works of a kind share the turns, so that many of them make others wait no longer than one
does. It decides nothing about what a step is.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar

from protocol.wire.table import arrays_of, struct_arrays_of

T = TypeVar("T")
ArraysOf: TypeAlias = Callable[[type[Any]], Sequence[str]]
"""Names those arrays of a struct that are freed with it."""
LOOKS_MIN: Final = 3
"""Of the loop at everybody else between two steps: who asks for little needs about three, to be
read, to be answered and to have the answer written, and waits for one step only."""
_DROPPED_OF_A_STEP: Final = 512
YOUNG_MAX: Final = 10_000
"""Objects that were made and not freed since the last look, which takes a millisecond."""
TURNS_MAX: Final = 16
"""Between two looks."""
BLOCKS_UNTIL_COLLECTED: Final = 8_000_000
"""Of Python's memory, some 100 bytes each: garbage may hold no more before it is looked for."""


class Turns:
    """Who does large work asks for its next turn between two steps.

    Use it as a context manager around the whole: meanwhile garbage is looked for only in what was
    made lately, as a collection of older generations would look at all of a large request at
    once. They are collected when a process has very much more than before.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_granting = False
        self._looks_left = 0
        self._discarded: list[list[Any]] = []
        self._is_sweeping = False

    def __enter__(self) -> None:
        _hold.begin()

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        _hold.end()

    async def next(self) -> None:
        """Return when the next step may be done, after others have had their looks."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_granting:
            self._is_granting = True
            self._looks_left = LOOKS_MIN - 1
            loop.call_soon(self._grant)
        await turn

    async def run(self, steps: Generator[None, None, T]) -> T:
        """Go through ``steps`` and return what they return."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            await self.next()

    async def drop(self, items: list[Any], arrays: ArraysOf | None = None) -> None:
        """Empty a list that nobody else has: to free many objects takes long, too.

        ``arrays`` names those in its items that are nobody else's either (None: there are none).
        """
        left = [items]
        while _free_some(left, arrays):
            await self.next()

    def discard(self, messages: list[Any]) -> None:
        """Free a list of messages later, in steps; they and all in them are nobody else's."""
        loop = _running_loop()
        if loop is None:
            return  # The process ends.
        self._discarded.append(messages)
        if not self._is_sweeping:
            self._is_sweeping = True
            _hold.begin()
            loop.call_soon(self._sweep)

    def _sweep(self) -> None:
        if _free_some(self._discarded, arrays_of):
            asyncio.get_running_loop().call_soon(self._sweep)
        else:
            self._is_sweeping = False
            _hold.end()

    def _grant(self) -> None:
        if self._looks_left:
            self._looks_left -= 1
            asyncio.get_running_loop().call_soon(self._grant)
            return
        self._looks_left = LOOKS_MIN - 1
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                break
        if _hold.is_on:
            _hold.collect_some()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._grant)
        else:
            self._is_granting = False


class Hold:
    """Puts collections off while there is large work; one for the process, as collections are.

    Works of a loop end with it: the next loop's begin anew.
    """

    def __init__(self, blocks_until_collected: int = BLOCKS_UNTIL_COLLECTED) -> None:
        self.is_on = False
        self._blocks_until_collected = blocks_until_collected
        self._works_count = self._turns_count = 0
        self._was_collecting = False
        self._blocks_max = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Begin one work."""
        loop = _running_loop()
        if loop is not self._loop:
            self._loop, self._works_count = loop, 0
        self._works_count += 1
        if not self.is_on:
            self.is_on = True
            self._was_collecting = gc.isenabled()
            gc.disable()
            self._expect_blocks()

    def end(self) -> None:
        """End one work; after the last one garbage is collected by itself again."""
        self._works_count -= 1
        if self._works_count:
            return
        loop = _running_loop()
        if loop is None:
            self._let_go()
        else:  # A collection would come at once, while our callers still have the request.
            loop.call_soon(self._let_go)

    def collect_some(self) -> None:
        """Look for garbage in what was made lately, once that is much."""
        if not self._was_collecting:
            return
        self._turns_count += 1
        if gc.get_count()[0] < YOUNG_MAX and self._turns_count % TURNS_MAX:
            return  # What is old and freed counts against what is young: hence the turns.
        gc.collect(0)
        if sys.getallocatedblocks() > self._blocks_max:
            gc.collect()
            self._expect_blocks()

    def _let_go(self) -> None:
        if self.is_on and self._works_count == 0:
            self.is_on = False
            if self._was_collecting:
                gc.enable()

    def _expect_blocks(self) -> None:
        self._blocks_max = sys.getallocatedblocks() + self._blocks_until_collected


_hold: Final = Hold()


def is_large_work_on() -> bool:
    """Tell whether large work is under way in this process, or being freed."""
    return _hold.is_on


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@cache
def arrays_of_structs(cls: type[Any]) -> Sequence[str]:
    """Return a struct's arrays whose elements are structs: those of plain values may be shared."""
    return tuple(name for name, _ in struct_arrays_of(cls)) if arrays_of(cls) else ()


def _free_some(left: list[list[Any]], arrays: ArraysOf | None) -> bool:
    """Free as much of some lists as a step may, inner ones first; tell whether there is more."""
    count = _DROPPED_OF_A_STEP
    while left and count > 0:
        items = left[-1]
        if not items:
            left.pop()
            continue
        names = arrays(items[-1].__class__) if arrays else ()
        if not names:
            taken = min(count, len(items))
            del items[-taken:]
            count -= taken
            continue
        left.extend(_lists_in(items.pop(), names))
        count -= 1
    return bool(left)


def _lists_in(item: Any, names: Sequence[str]) -> Iterator[list[Any]]:
    """Yield arrays of a struct, of which not all fields need be there."""
    for name in names:
        found: Any = getattr(item, name, None)
        if found.__class__ is list:
            yield found
