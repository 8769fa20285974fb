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
from simulation.matrix.outcome import Crash, Moment, Outcome, Row, Verdict
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
    jobs: int = 1,
    on_judged: Callable[[Moment], None] = lambda _moment: None,
) -> list[Row]:
    """Return one row per kind of crash.

    Args:
        story: told once, undisturbed, and from every moment on in a copy.
        crashes: the kinds.
        jobs: how many copies run at a time.
        on_judged: called with every moment as soon as its verdict is known.
    """
    return _Run(story, crashes, jobs, on_judged).run()


class _Run:
    """One story."""

    def __init__(
        self,
        story: Story,
        crashes: Collection[Crash],
        jobs: int,
        on_judged: Callable[[Moment], None],
    ) -> None:
        self._story = story
        self._on_judged = on_judged
        self._rows = {crash: Row(story.__name__, crash) for crash in Crash if crash in crashes}
        self._verdicts: dict[Moment, Verdict] = {}
        self._same: list[tuple[Moment, Moment]] = []
        self._forks: Forks[Moment] = Forks(jobs, self._on_told)
        self._loop = SimLoop(_SEED, steps_max=STEPS_MAX)
        self._scene = Scene(self._loop)
        self._watch = Watch(
            self._scene,
            self._forks,
            crashes,
            lambda moment, like: self._same.append((moment, like)),
        )
        self._scene.begin = self._watch.begin

    def run(self) -> list[Row]:
        """Tell the story; in a copy this does not return."""
        try:
            self._tell_story()
        except BaseException:
            if self._watch.moment is None:
                raise
            self._forks.tell(f"{Outcome.LOST.value}\n{traceback.format_exc(limit=-8)}")
        self._forks.finish()
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
        moment = self._watch.moment
        if moment is not None:
            verdict = loop.run_until_complete(self._aftermath(moment, told))
            self._forks.tell(f"{verdict.outcome.value}\n{verdict.reason}")

    async def _play(self) -> None:
        scene = self._scene
        await scene.cluster.start()
        await self._story(scene)
        self._watch.end()

    async def _aftermath(self, moment: Moment, told: asyncio.Task[None]) -> Verdict:
        """Let the victim crash, start again, and be judged."""
        told.cancel()
        with suppress(asyncio.CancelledError):
            await told
        victim = self._scene.victim
        if moment.crash in {Crash.POWER_CUT, Crash.TORN}:
            self._watch.cut_power(moment)
        else:
            victim.kill()
        for drive in victim.drives.values():
            drive.faults.clear()
        victim.start()
        await self._scene.quicken()
        return await judge(self._scene)

    def _on_told(self, moment: Moment, text: str) -> None:
        outcome, _, reason = text.partition("\n")
        verdict = Verdict(Outcome(outcome), reason) if text else Verdict(Outcome.LOST, "it died")
        self._verdicts[moment] = verdict
        self._count(moment, verdict)

    def _count(self, moment: Moment, verdict: Verdict) -> None:
        self._rows[moment.crash].add(moment, verdict)
        self._on_judged(moment)
