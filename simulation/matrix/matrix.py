"""The swap matrix: every story, crashed at every disk operation, and what the starts came to.

One world plays a story undisturbed; at each moment a copy of it crashes, starts again, heals and is
judged. Nothing is printed here.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final

from simulation.matrix.crash_points import Crashed, CrashPoints
from simulation.matrix.forks import Forks
from simulation.matrix.judge import judge
from simulation.matrix.matrix_cluster import MatrixCluster
from simulation.matrix.outcome import DISK_ERRORS, Crash, CrashPoint, CrashResult, Outcome, Row
from simulation.matrix.stories import Story, crashes_of
from simulation.matrix.warm_up import warm_up
from simulation.world.loop import SimLoop

STEPS_MAX: Final = 5_000_000
_SEED: Final = 7


def run_story(
    story: Story,
    crashes: Collection[Crash] = tuple(Crash),
    *,
    node: str = "broker-1",
    jobs: int = 1,
    on_judged: Callable[[CrashPoint], None] = lambda _moment: None,
) -> list[Row]:
    """Return one row per kind of crash that there is of a node (``stories.crashes_of``).

    Args:
        story: told once, undisturbed, and from every moment on in a copy.
        crashes: the kinds.
        node: who crashes; ``a+b``: at each operation of a's disks, and b is killed with it.
        jobs: how many copies run at a time.
        on_judged: called with every moment as soon as its verdict is known.
    """
    warm_up()
    return _MatrixRun(story, node, crashes, jobs, on_judged).run()


class _MatrixRun:
    """One story."""

    def __init__(
        self,
        story: Story,
        node: str,
        crashes: Collection[Crash],
        jobs: int,
        on_judged: Callable[[CrashPoint], None],
    ) -> None:
        self._story = story
        self._on_judged = on_judged
        self._loop = SimLoop(_SEED, steps_max=STEPS_MAX)
        self._cluster = MatrixCluster(self._loop, node)
        kinds = [crash for crash in crashes_of(node) if crash in crashes]
        self._rows = {crash: Row(story.__name__, node, crash) for crash in kinds}
        self._verdicts: dict[CrashPoint, CrashResult] = {}
        self._same: list[tuple[CrashPoint, CrashPoint]] = []
        self._ending: Crash | None = None
        self._forks: Forks[CrashPoint] = Forks(jobs, self._on_told)
        self._watch = CrashPoints(
            self._cluster,
            self._forks,
            kinds,
            lambda moment, like: self._same.append((moment, like)),
        )
        self._cluster.begin = self._watch.begin

    def run(self) -> list[Row]:
        """Tell the story; in a copy this does not return."""
        try:
            self._tell_story()
            self._forks.finish()
        except BaseException:
            if self._watch.moment is None:
                self._forks.abandon()
                self._loop.close()
                raise
            self._tell(CrashResult(Outcome.LOST, traceback.format_exc(limit=-8)))
        for moment, like in self._same:
            self._count(moment, self._verdicts[like])
        self._loop.run_until_complete(self._cluster.sim.stop())
        self._loop.close()
        return list(self._rows.values())

    def _tell_story(self) -> None:
        loop = self._loop
        told = loop.create_task(self._play(), name="story")
        with suppress(Crashed):
            loop.run_until_complete(told)
        if self._watch.moment is not None:
            *others, self._ending = self._endings(self._watch.moment)
            for crash in others:
                if self._forks.branch():
                    self._ending = crash
                    break
            self._tell(loop.run_until_complete(self._aftermath(self._ending, told)))

    def _tell(self, verdict: CrashResult) -> None:
        moment = self._watch.moment
        assert moment is not None
        crash = self._ending or moment.crash
        self._forks.tell(f"{crash.name}\n{verdict.outcome.value}\n{verdict.reason}")

    async def _play(self) -> None:
        cluster = self._cluster
        await cluster.sim.start()
        await self._story(cluster)
        self._watch.end()

    async def _aftermath(self, crash: Crash, told: asyncio.Task[None]) -> CrashResult:
        """Let the victim crash, or live on, have everything repaired, and be judged."""
        told.cancel()
        with suppress(asyncio.CancelledError):
            await told
        moment = self._watch.moment
        assert moment is not None
        if crash in {Crash.POWER_CUT, Crash.TORN}:
            self._watch.cut_power(moment)
        elif crash is not Crash.RETURN:
            self._cluster.victim.kill()
        for node in self._cluster.companions:
            node.kill()
        await self._cluster.repair()
        return await judge(self._cluster)

    def _endings(self, moment: CrashPoint) -> list[Crash]:
        """Return how a copy ends: what a failed disk leaves can end in two ways."""
        if moment.crash not in DISK_ERRORS:
            return [moment.crash]
        return [crash for crash in self._rows if crash in DISK_ERRORS]

    def _on_told(self, moment: CrashPoint, told: list[str]) -> None:
        died = CrashResult(Outcome.LOST, "it died")
        verdicts = dict.fromkeys(self._endings(moment), died)
        for text in told:
            crash, outcome, reason = text.split("\n", 2)
            verdicts[Crash[crash]] = CrashResult(Outcome(outcome), reason)
        for crash, verdict in verdicts.items():
            one = moment._replace(crash=crash)
            self._verdicts[one] = verdict
            self._count(one, verdict)

    def _count(self, moment: CrashPoint, verdict: CrashResult) -> None:
        self._rows[moment.crash].add(moment, verdict)
        self._on_judged(moment)
