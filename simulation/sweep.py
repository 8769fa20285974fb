"""Many seeds over several processes: in order, to the first violation.

It knows nothing of what a seed does, and prints nothing: it is given both.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Final, TypeVar

from simulation.interrupts import interrupts_held

Result = TypeVar("Result")
AHEAD_PER_JOB: Final = 4
"""How many seeds per process are handed out ahead, so that a slow seed makes nobody wait."""


@contextmanager
def processes(
    jobs: int, prepare: Callable[[], None] | None = None
) -> Generator[Executor, None, None]:
    """Yield an executor of ``jobs`` fresh processes; at the end only what runs is waited for.

    In each ``prepare`` is called before anything else is imported. Ctrl-C ends the processes at
    once and silently, whether or not it reaches them; they end with the first one, too, if that is
    killed. A task and its result must be picklable.
    """
    assert jobs >= 1, f"{jobs} jobs"
    executor = ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(prepare,),
    )
    older = multiprocessing.active_children()
    try:
        yield executor
    except KeyboardInterrupt:
        for worker in multiprocessing.active_children():
            if worker not in older:
                worker.kill()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def sweep(
    seeds: Iterable[int],
    run_seed: Callable[[int], Result],
    executor: Executor,
    ahead: int,
) -> Generator[tuple[int, Result], None, None]:
    """Yield every seed with its result, in the order of ``seeds``, as soon as that is known.

    Whoever wants to stop at a result just stops iterating: seeds not yet begun are not run.

    Args:
        seeds: taken only as far as needed.
        run_seed: called in the executor.
        executor: where; from ``processes``.
        ahead: how many seeds are handed out and not yet yielded.
    """
    assert ahead >= 1, f"{ahead} seeds ahead"
    waiting: deque[tuple[int, Future[Result]]] = deque()
    try:
        for seed in seeds:
            with interrupts_held():
                waiting.append((seed, executor.submit(run_seed, seed)))
            if len(waiting) >= ahead:
                yield _next(waiting)
        while waiting:
            yield _next(waiting)
    finally:
        for _, future in waiting:
            future.cancel()


def _next(waiting: deque[tuple[int, Future[Result]]]) -> tuple[int, Result]:
    """Wait for the first result, so that Ctrl-C leaves no lock of a future held.

    One that interrupts ``Future.result`` may, and the executor never ends.
    """
    seed, future = waiting.popleft()
    done: SimpleQueue[Future[Result]] = SimpleQueue()
    with interrupts_held():
        future.add_done_callback(done.put)
    done.get()
    with interrupts_held():
        try:
            return seed, future.result()
        except BaseException as error:
            error.add_note(f"in seed {seed}")
            raise


def _begin(prepare: Callable[[], None] | None) -> None:
    _die_silently()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare()


def _end_with_parent() -> None:
    """End when the first process does, even if it was killed: nobody wants what is worked on."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _die_silently() -> None:
    """Ctrl-C reaches the whole process group; only the first process has to say anything."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
