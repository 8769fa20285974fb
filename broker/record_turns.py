"""Who has their turn at long work on records, and where codecs do theirs.

A batch may become 64 MiB without compression. What a codec does with it is one call; made on the
loop, it would keep everybody waiting. So codecs have one thread of their own, which belongs to no
log dir: a batch is nobody's before it has its offsets, its work is no work of a disk whose silence
is measured, and on a log dir's queue it would stand before the appends of all others. One thread
is enough to leave the loop alone, and has one bomb at a time burst. Python's share, record by
record, stays on the loop in steps: in a thread it would take the interpreter from the loop. It may
take seconds for a bomb of tiny records, so what is less than a bomb has a turn of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from protocol.errors import Malformed
from protocol.ports import DiskWorker
from protocol.records.steps import OUTPUT_BYTES_MEDIUM, CodecWork, Steps
from protocol.transport.turns import Turns

T = TypeVar("T")


class RecordTurns:
    """Drives ``Steps``; one for a broker, on its loop."""

    def __init__(self, worker: DiskWorker) -> None:
        """``worker`` does what codecs do; it belongs to this from now on."""
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._turns = Turns()
        self.medium = asyncio.Lock()
        """Held by whom the memory of a batch of ``OUTPUT_BYTES_MEDIUM`` is granted to."""
        self.large = asyncio.Lock()
        """The same for one of any size; who waits for either is served in order."""

    async def run(self, steps: Steps[T], *, is_large: bool = False) -> T:
        """Go through ``steps`` with turns for others in between; return what they return.

        Of those that may unpack much, one is under way at a time: bombs must not add up. That is
        noticed when they do so, or said in advance by ``is_large``. One that unpacks no more than
        ``OUTPUT_BYTES_MEDIUM`` is under way beside it: the records of a bomb may take seconds.
        """
        with _MemoryTurn(self.large) as turn:
            if is_large:
                await turn.take(self.large)
            try:
                work = next(steps)
                while True:
                    result = await self._result(work, turn)
                    try:
                        is_error = isinstance(result, Exception)
                        work = steps.throw(result) if is_error else steps.send(result)
                    finally:
                        # What it raises refers to this frame: the memory of a bomb would stay
                        # until somebody looks for garbage.
                        del result
            except StopIteration as end:
                return end.value

    def close(self) -> None:
        """End the thread; what it is doing is done for nobody."""
        self._worker.abandon()

    async def _result(self, work: CodecWork | None, turn: _MemoryTurn) -> Any:
        """Return what is to be sent into the steps, or an exception that is to be thrown."""
        if work is None:
            return await self._turns.next()
        if work.is_large:
            is_medium = work.output_bytes_max <= OUTPUT_BYTES_MEDIUM
            await turn.take(self.medium if is_medium else self.large)
        worked: asyncio.Future[Any] = self._loop.create_future()
        turn.working = self._loop.create_future()
        settle = partial(_settle, worked, turn.working)
        self._worker.run([partial(_outcome, work.call)], settle)
        result = await worked
        turn.working = None
        turn.has_memory |= work.is_large and not isinstance(result, Exception)
        return result


class _MemoryTurn:
    """The turns of one, if it takes any; let go of at the end, but not while its codec works."""

    def __init__(self, large: asyncio.Lock) -> None:
        self._large = large
        self._taken: list[asyncio.Lock] = []
        self.working: asyncio.Future[None] | None = None
        """Done when the codec is; without what it returned, which goes with who wanted it."""
        self.has_memory = False
        """Whether something large was unpacked, and may be there still."""

    async def take(self, lock: asyncio.Lock) -> None:
        """Wait for a turn; nothing to do for who has it, or that for more."""
        if lock in self._taken or self._large in self._taken:
            return
        if not self.has_memory:
            self._release()  # What was to be medium is more: others need not wait for that.
        await lock.acquire()
        self._taken.append(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self.working is None:
            self._release()
        else:
            self.working.add_done_callback(lambda _: self._release())

    def _release(self) -> None:
        while self._taken:
            self._taken.pop().release()


def _outcome(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or what it says of bytes that cannot be read.

    The error is a new one: the frames behind the first would hold what was unpacked by then, and
    the worker's, which holds the error.
    """
    try:
        return call()
    except Malformed as error:
        return type(error)(*error.args)


def _settle(
    worked: asyncio.Future[Any], ended: asyncio.Future[None], results: Sequence[Any]
) -> None:
    """Hand the result over, unless who wanted it was cancelled meanwhile."""
    ended.set_result(None)
    if not worked.done():
        worked.set_result(results[0])
