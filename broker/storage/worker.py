"""Where a log dir's jobs run, and codecs: a daemon thread each, or inline where time is virtual.

It decides nothing. A disk that never answers must not keep the process from leaving, so the thread
is a daemon and no pool is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

_Batch: TypeAlias = "tuple[Sequence[Callable[[], Any]], Callable[[list[Any]], None]] | None"


class ThreadDiskWorker:
    """One daemon thread; results come back to ``loop`` in one call per batch.

    Implements ``DiskWorker``.
    """

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._batches: queue.SimpleQueue[_Batch] = queue.SimpleQueue()
        self._abandoned = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        self._batches.put((jobs, done))

    def abandon(
        self,
        last: Callable[[], None] | None = None,
        on_last: Callable[[], None] | None = None,
    ) -> None:
        self._abandoned = True
        if last is not None:
            self._batches.put(([last, partial(self._tell, on_last)], _ignore))
        self._batches.put(None)

    def _tell(self, on_last: Callable[[], None] | None) -> None:
        if on_last is not None:
            with contextlib.suppress(RuntimeError):  # The loop was closed meanwhile.
                self._loop.call_soon_threadsafe(on_last)

    def _work(self) -> None:
        while (batch := self._batches.get()) is not None:
            jobs, done = batch
            results = run_jobs(jobs)
            if not self._abandoned:
                with contextlib.suppress(RuntimeError):  # The loop was closed: nobody waits.
                    self._loop.call_soon_threadsafe(self._report, done, results)
            del batch, jobs, done, results  # Until the next batch, which may be long in coming.

    def _report(self, done: Callable[[list[Any]], None], results: list[Any]) -> None:
        if not self._abandoned:
            done(results)


class InlineDiskWorker:
    """Runs jobs on the loop itself, one turn later: for disks that never block.

    Implements ``DiskWorker``.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._abandoned = False

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        self._loop.call_soon(self._run, jobs, done)

    def abandon(
        self,
        last: Callable[[], None] | None = None,
        on_last: Callable[[], None] | None = None,
    ) -> None:
        self._abandoned = True
        for call in (last, on_last):
            if call is not None:
                self._loop.call_soon(call)

    def _run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        if not self._abandoned:
            done(run_jobs(jobs))


def run_jobs(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run ``jobs`` in order; one result or exception per job.

    After an OSError the rest gets that same error.
    """
    results: list[Any] = []
    for job in jobs:
        try:
            results.append(job())
        except OSError as exc:
            results.extend([exc] * (len(jobs) - len(results)))
            return results
        except Exception as exc:  # noqa: BLE001 -- any other error is the answer of that job alone.
            results.append(exc)
    return results


def _ignore(_results: list[Any]) -> None:
    """Nobody waits for the last job of an abandoned worker."""
