"""SimDiskWorker: a log dir's jobs on the loop, finished after the time that the disk took.

It decides nothing. The jobs of a batch run at one moment, their results come later; only a disk
whose operations may have to wait gets a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from broker.storage.worker import run_jobs
from simulation.world.sim_disk import SimDisk
from simulation.world.sim_thread import SimThread
from simulation.world.virtual_loop import VirtualLoop

_HAND_OVER_US: Final = 20
"""How long a batch takes at most until the thread has it."""


class SimDiskWorker:
    """One worker of one process. Implements ``DiskWorker``."""

    def __init__(
        self,
        loop: VirtualLoop,
        *,
        disk: Callable[[], SimDisk],
        may_wait: Callable[[], bool],
        chance: Random,
    ) -> None:
        """Prepare.

        Args:
            loop: the loop of the world.
            disk: the disk as it is now.
            may_wait: whether an operation of it may hang or be slow now.
            chance: draws how long the handing over takes.
        """
        self._loop = loop
        self._disk = disk
        self._may_wait = may_wait
        self._chance = chance
        self._is_abandoned = False
        self._sim_thread: SimThread | None = None
        self._last: Callable[[], None] | None = None

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        self._later(self._chance.random() * _HAND_OVER_US, self._begin, jobs, done)

    def abandon(
        self,
        last: Callable[[], None] | None = None,
        on_last: Callable[[], None] | None = None,
    ) -> None:
        self._is_abandoned = True

        def leave() -> None:
            for call in (last, on_last):
                if call is not None:
                    call()

        if self._sim_thread is None:
            self._later(0, leave)
        else:
            self._last = leave

    def _begin(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        if self._may_wait():
            self._sim_thread = SimThread(
                self._loop, lambda: self._work(jobs), lambda r: self._end(r, done)
            )
            self._sim_thread.go_on()
        else:
            self._end(self._work(jobs), done)

    def _work(self, jobs: Sequence[Callable[[], Any]]) -> tuple[list[Any], float]:
        disk = self._disk()
        before_us = disk.spent_us
        results = run_jobs(jobs)
        return results, disk.spent_us - before_us

    def _end(self, work: tuple[list[Any], float], done: Callable[[list[Any]], None]) -> None:
        self._sim_thread = None
        results, spent_us = work
        if self._last is not None:
            self._later(0, self._last)
        self._later(spent_us, self._report, results, done)

    def _report(self, results: list[Any], done: Callable[[list[Any]], None]) -> None:
        if not self._is_abandoned:
            done(results)

    def _later(self, delay_us: float, call: Callable[..., Any], *args: Any) -> None:
        self._loop.call_at_us(self._loop.now_us + max(1, int(delay_us)), call, *args)
