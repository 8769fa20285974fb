"""What the queue of a disk promises to those who wait for its jobs.

Source: none of Kafka's, whose threads do their own IO; KIP-112 for what a failure ends.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from typing import Any

from broker.storage.disk_queue import DiskQueue
from broker.storage.log_dir import FirstQueue, LogDir
from simulation.contracts.contract import Broken, of_method


def _left_waiting(queue: DiskQueue, futures: Iterable[asyncio.Future[Any]]) -> Broken:
    count = len([future for future in futures if not future.done()])
    return f"{count} wait for {queue.path} for ever: {queue.failure}" if count else None


@of_method(DiskQueue, "_on_done")
def on_done(queue: DiskQueue, results: list[object]) -> Generator[None, None, Broken]:
    """When jobs are over nobody waits for them any more, nor when their disk fails with them."""
    running = queue._running  # noqa: SLF001 -- nothing public has it
    is_over = queue.failure is not None
    yield
    if is_over:
        return None
    return _left_waiting(queue, [each for _, futures, _ in running for each in futures])


@of_method(DiskQueue, "fail")
def fail(queue: DiskQueue, operation: str, cause: BaseException) -> Generator[None, None, Broken]:
    """Nobody waits for a disk that has failed, and it fails as a whole."""
    waiting = [each for _, futures, _ in queue._running for each in futures]  # noqa: SLF001 -- as above
    waiting += [each.future for each in queue._queue]  # noqa: SLF001 -- as above
    waiting += queue._room_waiters  # noqa: SLF001 -- as above
    is_over = queue.failure is not None
    yield
    if is_over:
        return None
    log_dir = getattr(queue, "_log_dir", None)
    if isinstance(log_dir, LogDir) and log_dir.is_online:
        return f"one thread of {queue.path} is at its end: {queue.failure}; the other goes on"
    return _left_waiting(queue, waiting)


@of_method(FirstQueue, "fail")
def fail_both(
    queue: FirstQueue, operation: str, cause: BaseException
) -> Generator[None, None, Broken]:
    """A log dir that fails has no thread left that works."""
    yield
    beside = queue._log_dir.background_queue  # noqa: SLF001 -- as above
    return f"{queue.path} failed: {cause}, beside it goes on" if beside.is_online else None
