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

from simulation.matrix.forks import Forks
from simulation.matrix.judge import judge
from simulation.matrix.outcome import DISK_ERRORS, Crash, Moment, Outcome, Row, Verdict
from simulation.matrix.rehearsal import rehearse
from simulation.matrix.scene import Scene
from simulation.matrix.stories import Story
from simulation.matrix.watch import Crashed, Watch
from simulation.world.loop import SimLoop

STEPS_MAX: Final = 5_000_000
_SEED: Final = 7


def run_story(
    story: Story,
    crashes: Collection[Crash] = tuple(Crash),
    *,
    node: str = "broker-1",
    jobs: int = 1,
    on_judged: Callable[[Moment], None] = lambda _moment: None,
) -> list[Row]:
    """Return one row per kind of crash; a controller has no log dir to restart.

    Args:
        story: told once, undisturbed, and from every moment on in a copy.
        crashes: the kinds.
        node: who crashes.
        jobs: how many copies run at a time.
        on_judged: called with every moment as soon as its verdict is known.
    """
    rehearse()
    return _Run(story, node, crashes, jobs, on_judged).run()


class _Run:
    """One story."""

    def __init__(
        self,
        story: Story,
        node: str,
        crashes: Collection[Crash],
        jobs: int,
        on_judged: Callable[[Moment], None],
    ) -> None:
        self._story = story
        self._on_judged = on_judged
        self._loop = SimLoop(_SEED, steps_max=STEPS_MAX)
        self._scene = Scene(self._loop, node)
        kinds = [crash for crash in Crash if crash in crashes]
        if self._scene.victim is self._scene.cluster.controller:
            kinds = [crash for crash in kinds if crash is not Crash.RETURN]
        self._rows = {crash: Row(story.__name__, node, crash) for crash in kinds}
        self._verdicts: dict[Moment, Verdict] = {}
        self._same: list[tuple[Moment, Moment]] = []
        self._ending: Crash | None = None
        self._forks: Forks[Moment] = Forks(jobs, self._on_told)
        self._watch = Watch(
            self._scene,
            self._forks,
            kinds,
            lambda moment, like: self._same.append((moment, like)),
        )
        self._scene.begin = self._watch.begin

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
            self._tell(Verdict(Outcome.LOST, traceback.format_exc(limit=-8)))
        for moment, like in self._same:
            self._count(moment, self._verdicts[like])
        self._loop.run_until_complete(self._scene.cluster.stop())
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

    def _tell(self, verdict: Verdict) -> None:
        moment = self._watch.moment
        assert moment is not None
        crash = self._ending or moment.crash
        self._forks.tell(f"{crash.name}\n{verdict.outcome.value}\n{verdict.reason}")

    async def _play(self) -> None:
        scene = self._scene
        await scene.cluster.start()
        await self._story(scene)
        self._watch.end()

    async def _aftermath(self, crash: Crash, told: asyncio.Task[None]) -> Verdict:
        """Let the victim crash, or live on, have everything repaired, and be judged."""
        told.cancel()
        with suppress(asyncio.CancelledError):
            await told
        moment = self._watch.moment
        assert moment is not None
        if crash in {Crash.POWER_CUT, Crash.TORN}:
            self._watch.cut_power(moment)
        elif crash is not Crash.RETURN:
            self._scene.victim.kill()
        await self._scene.repair()
        return await judge(self._scene)

    def _endings(self, moment: Moment) -> list[Crash]:
        """Return how a copy ends: what a failed disk leaves can end in two ways."""
        if moment.crash not in DISK_ERRORS:
            return [moment.crash]
        return [crash for crash in self._rows if crash in DISK_ERRORS]

    def _on_told(self, moment: Moment, told: list[str]) -> None:
        died = Verdict(Outcome.LOST, "it died")
        verdicts = dict.fromkeys(self._endings(moment), died)
        for text in told:
            crash, outcome, reason = text.split("\n", 2)
            verdicts[Crash[crash]] = Verdict(Outcome(outcome), reason)
        for crash, verdict in verdicts.items():
            one = moment._replace(crash=crash)
            self._verdicts[one] = verdict
            self._count(one, verdict)

    def _count(self, moment: Moment, verdict: Verdict) -> None:
        self._rows[moment.crash].add(moment, verdict)
        self._on_judged(moment)
