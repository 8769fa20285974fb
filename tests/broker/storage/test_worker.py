"""Jobs on a thread and inline: order, errors, and what stays behind."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from broker.storage.worker import InlineDiskWorker, ThreadDiskWorker, run_jobs
from protocol.ports import DiskWorker
from tests.deadlines import DEADLINE_S


def fail(error: Exception) -> None:
    raise error


@pytest.fixture(params=["thread", "inline"])
async def worker(request: pytest.FixtureRequest) -> AsyncIterator[DiskWorker]:
    loop = asyncio.get_running_loop()
    made = ThreadDiskWorker("d1", loop) if request.param == "thread" else InlineDiskWorker(loop)
    yield made
    made.abandon()


def thread_of(name: str) -> threading.Thread:
    return next(thread for thread in threading.enumerate() if thread.name == name)


async def ran(worker: DiskWorker, *jobs: Callable[[], Any]) -> list[Any]:
    done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
    worker.run(jobs, done.set_result)
    async with asyncio.timeout(DEADLINE_S):
        return await done


async def test_jobs_run_in_order_and_each_has_its_result(worker: DiskWorker) -> None:
    seen: list[int] = []
    jobs = [lambda: seen.append(1), lambda: "two", lambda: list(seen)]
    assert await ran(worker, *jobs) == [None, "two", [1]]


async def test_an_abandoned_worker_never_reports(worker: DiskWorker) -> None:
    reported: list[Any] = []
    worker.run([lambda: 1], reported.append)
    worker.abandon()
    other = InlineDiskWorker(asyncio.get_running_loop())
    await ran(other, lambda: None)
    assert reported == []


async def test_a_thread_that_hangs_does_not_stop_the_loop_nor_the_process() -> None:
    loop = asyncio.get_running_loop()
    gate = threading.Event()
    hung, good = ThreadDiskWorker("hangs", loop), ThreadDiskWorker("good", loop)
    hung.run([gate.wait], lambda _: None)
    assert await ran(good, lambda: "served") == ["served"]
    thread = thread_of("hangs")
    assert thread.daemon
    for worker in (hung, good):
        worker.abandon()
    gate.set()
    thread.join(DEADLINE_S)
    assert not thread.is_alive()


def test_after_an_oserror_the_rest_is_not_run_and_gets_the_same_error() -> None:
    error = OSError(errno.EIO, "bad sector")
    seen: list[int] = []
    results = run_jobs([lambda: 1, lambda: fail(error), lambda: seen.append(3)])
    assert results == [1, error, error]
    assert seen == []


def test_any_other_error_is_the_answer_of_its_own_job() -> None:
    error = ValueError("a rule")
    assert run_jobs([lambda: fail(error), lambda: 2]) == [error, 2]


def test_a_closed_loop_is_no_error_for_the_thread() -> None:
    loop = asyncio.new_event_loop()
    worker = ThreadDiskWorker("outlives", loop)
    thread = thread_of("outlives")
    loop.close()
    worker.run([lambda: 1], lambda _: None)
    worker.abandon()
    thread.join(DEADLINE_S)
    assert not thread.is_alive()
