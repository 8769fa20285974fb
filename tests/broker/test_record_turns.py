"""Long work on records: whose turn it is, and what a codec's thread leaves alone."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from broker.record_turns import RecordTurns
from broker.storage.worker import InlineDiskWorker, ThreadDiskWorker, run_jobs
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.records.steps import OUTPUT_BYTES_MEDIUM, CodecWork, Steps
from tests.deadlines import DEADLINE_S

LARGE = OUTPUT_BYTES_MEDIUM + 1


class HeldWorker(InlineDiskWorker):
    """Does its jobs when it is told to."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop())
        self.held: list[Callable[[], None]] = []

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        self.held.append(lambda: done(run_jobs(jobs)))

    def release(self) -> None:
        self.held.pop(0)()


def work(name: str, log: list[str], *, is_large: bool = True) -> Steps[str]:
    log.append(f"{name} begins")
    yield
    result = yield CodecWork(name.upper, is_large=is_large)
    log.append(f"{name} has {result}")
    yield
    return name


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_steps_get_what_codecs_return_and_return_their_own() -> None:
    log: list[str] = []
    turns = RecordTurns(InlineDiskWorker(asyncio.get_running_loop()))
    assert await turns.run(work("a", log)) == "a"
    assert log == ["a begins", "a has A"]


async def test_codecs_do_their_work_in_a_thread_of_their_own() -> None:
    worker = ThreadDiskWorker("codecs", asyncio.get_running_loop())
    turns = RecordTurns(worker)
    async with asyncio.timeout(DEADLINE_S):
        assert await turns.run(work("a", [])) == "a"
    turns.close()


async def test_what_a_codec_cannot_read_is_raised_in_the_steps() -> None:
    def broken() -> None:
        raise Malformed("no such stream")

    def steps() -> Steps[str]:
        try:
            yield CodecWork(broken, is_large=True)
        except Malformed as error:
            return f"refused: {error}"
        return "taken"

    def careless() -> Steps[None]:
        yield CodecWork(broken, is_large=True)

    turns = RecordTurns(InlineDiskWorker(asyncio.get_running_loop()))
    assert await turns.run(steps()) == "refused: no such stream"
    with pytest.raises(Malformed):
        await turns.run(careless())
    assert not turns.large.locked()


async def test_of_large_ones_one_is_under_way_and_the_others_wait_in_order() -> None:
    worker, log = HeldWorker(), list[str]()
    turns = RecordTurns(worker)
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(turns.run(work(name, log)))
        await settled()
        assert log == ["a begins", "b begins", "c begins"]
        for number, name in enumerate("abc", start=1):
            assert len(worker.held) == 1
            worker.release()
            await settled()
            assert log[2 + number] == f"{name} has {name.upper()}"


def unpacking(name: str, log: list[str], *sizes: int) -> Steps[None]:
    """Unpack one after the other; of what is more than a bound the codec says so."""

    def unpack(size: int, most: int) -> int:
        if size > most:
            raise Malformed(f"more than {most}")
        return size

    for size in sizes:
        for most in (OUTPUT_BYTES_MEDIUM, 2 * OUTPUT_BYTES_MEDIUM):
            with suppress(Malformed):
                call = partial(unpack, size, most)
                result = yield CodecWork(call, is_large=True, output_bytes_max=most)
                log.append(f"{name} has {result}")
                break
    yield
    log.append(f"{name} ends")


async def test_what_is_medium_passes_what_is_large_and_those_that_wait_for_it() -> None:
    worker, log = HeldWorker(), list[str]()
    turns = RecordTurns(worker)
    async with asyncio.timeout(DEADLINE_S), turns.large, asyncio.TaskGroup() as group:
        for name, size in (("a", LARGE), ("b", LARGE), ("c", 1), ("d", 2)):
            group.create_task(turns.run(unpacking(name, log, size)))
        for _ in range(4):
            await settled()
            worker.release()
        await settled()
        assert log == ["c has 1", "c ends", "d has 2", "d ends"]
        assert not turns.medium.locked()
        turns.large.release()
        for _ in range(2):
            await settled()
            worker.release()
        await turns.large.acquire()
    assert log[4:] == [f"a has {LARGE}", "a ends", f"b has {LARGE}", "b ends"]


async def test_who_has_unpacked_something_lets_nobody_pass_while_it_waits_for_more() -> None:
    log: list[str] = []
    turns = RecordTurns(InlineDiskWorker(asyncio.get_running_loop()))
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group, turns.large:
        group.create_task(turns.run(unpacking("a", log, 1, LARGE)))
        group.create_task(turns.run(unpacking("b", log, 2)))
        await settled()
        assert log == ["a has 1"]
    assert log == ["a has 1", f"a has {LARGE}", "a ends", "b has 2", "b ends"]
    assert not turns.medium.locked()
    assert not turns.large.locked()


async def test_what_is_not_large_waits_for_no_turn() -> None:
    worker, log = HeldWorker(), list[str]()
    turns = RecordTurns(worker)
    async with asyncio.timeout(DEADLINE_S), turns.large, asyncio.TaskGroup() as group:
        group.create_task(turns.run(work("a", log, is_large=False)))
        await settled()
        worker.release()
        await settled()
        assert log[-1] == "a has A"


async def test_what_is_said_to_be_large_takes_its_turn_from_the_start() -> None:
    log: list[str] = []
    turns = RecordTurns(InlineDiskWorker(asyncio.get_running_loop()))
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group, turns.large:
        group.create_task(turns.run(work("a", log, is_large=False), is_large=True))
        await settled()
        assert not log
    assert log[-1] == "a has A"


async def test_a_turn_that_is_given_up_ends_with_what_its_codec_is_doing() -> None:
    worker, log = HeldWorker(), list[str]()
    turns = RecordTurns(worker)
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        left = group.create_task(turns.run(work("a", log)))
        group.create_task(turns.run(work("b", log)))
        await settled()
        left.cancel()
        with suppress(asyncio.CancelledError):
            await left
        await settled()
        assert len(worker.held) == 1
        worker.release()
        await settled()
        assert len(worker.held) == 1
        worker.release()
    assert log == ["a begins", "b begins", "b has B"]


@pytest.mark.parametrize("in_thread", [False, True])
async def test_nothing_of_what_a_codec_returned_or_raised_stays(*, in_thread: bool) -> None:
    made: list[weakref.ref[Any]] = []

    class Unpacked:
        """Stands for a block of memory."""

    def unpack() -> Unpacked:
        made.append(weakref.ref(unpacked := Unpacked()))
        return unpacked

    def fail() -> None:
        unpacked = unpack()
        raise Malformed(f"no end in {unpacked}")

    def steps() -> Steps[None]:
        yield CodecWork(unpack, is_large=True)
        try:
            yield CodecWork(fail, is_large=True)
        except Malformed as error:
            raise KafkaError(ErrorCode.INVALID_RECORD) from error

    loop = asyncio.get_running_loop()
    turns = RecordTurns(ThreadDiskWorker("codecs", loop) if in_thread else InlineDiskWorker(loop))
    gc.disable()
    try:
        with suppress(KafkaError):
            await turns.run(steps())
        async with asyncio.timeout(DEADLINE_S):
            while any(each() for each in made):  # noqa: ASYNC110 -- a thread tells nobody
                await asyncio.sleep(0)
    finally:
        gc.enable()
        turns.close()
    assert len(made) == 2
