"""What the contracts of a disk's queue say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk_queue import DiskQueue
from tests.broker.storage.test_disk_queue import HeldWorker, held_log_dir
from tests.simulation.contracts.wrong_rules import answers, told_of

ON_DONE: Final = DiskQueue._on_done
FAIL: Final = DiskQueue.fail


def breaks() -> None:
    raise OSError("broken")


async def work(first: Callable[[], None]) -> None:
    """Two jobs that share a hop, and one behind them."""
    worker = HeldWorker()
    queue = held_log_dir(worker).queue
    jobs = [queue.submit("first", first), queue.submit("second", int)]
    await asyncio.sleep(0)
    jobs.append(queue.submit("third", int))
    calls, done = worker.hops.pop(0)
    done([_result_of(call) for call in calls])
    del jobs


def _result_of(call: Callable[[], Any]) -> object:
    try:
        return call()
    except OSError as error:
        return error


def works() -> None:
    asyncio.run(work(lambda: None))


def fails() -> None:
    asyncio.run(work(breaks))


def forgets_who_waits_for_what_failed(queue: DiskQueue, results: list[Any]) -> None:
    if isinstance(results[0], OSError):
        queue._running = queue._running[1:]
        queue.fail("first", results[0])
    else:
        ON_DONE(queue, results)


def forgets_what_is_queued(queue: DiskQueue, operation: str, cause: BaseException) -> None:
    queue._queue.clear()
    FAIL(queue, operation, cause)


def fails_alone(queue: DiskQueue, operation: str, cause: BaseException) -> None:
    queue.failure = LogDirFailed(queue.path, operation, cause)


async def _fail(*, is_beside: bool) -> None:
    log_dir = held_log_dir(HeldWorker())
    queue = log_dir.background_queue if is_beside else log_dir.queue
    queue.fail("sync", OSError("broken"))


def fail() -> None:
    asyncio.run(_fail(is_beside=False))


def fail_beside() -> None:
    asyncio.run(_fail(is_beside=True))


WRONG_RULES: Final[list[tuple[str, Callable[..., object], Callable[[], object]]]] = [
    ("DiskQueue._on_done", answers(None), works),
    ("DiskQueue._on_done", forgets_who_waits_for_what_failed, fails),
    ("DiskQueue.fail", answers(None), fails),
    ("DiskQueue.fail", forgets_what_is_queued, fails),
    ("DiskQueue.fail", fails_alone, fail_beside),
    ("FirstQueue.fail", fails_alone, fail),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
