"""The swap matrix: every story, crashed at every disk operation, and what the starts came to.

A story is a plan. One world plays it undisturbed; at each moment a copy of it crashes, heals and is
judged as any run is. Nothing is printed here.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from simulation.core.actions import Kill, Step
from simulation.core.checkers.evidence import Violation
from simulation.core.plan import Plan
from simulation.core.verdict import Verdict
from simulation.defects import Defects
from simulation.matrix.crash_points import Crashed, CrashPoints
from simulation.matrix.forks import Forks
from simulation.matrix.outcome import (
    DISK_ERRORS,
    Crash,
    CrashPoint,
    CrashResult,
    Outcome,
    Row,
    crashes_of,
)
from simulation.matrix.story_run import StoryRun, with_probes
from simulation.run.runner import HEALING
from simulation.simulated_run import libraries_of, simulate, simulated_spec
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop

STEPS_MAX: Final = 5_000_000
_SEED: Final = 7


class StoryError(Exception):
    """A story that goes wrong where nothing crashes; the text says how."""


def check_story(plan: Plan) -> None:
    """Play a story undisturbed, to its end: what it comes to in a copy is then the crash's doing.

    Then every node is killed and starts again, so that what code makes at its first use is made
    here, and not in each copy anew: codecs are compiled when a message first travels.

    Raises:
        StoryError: a step does not go as written, or a checker finds something.
    """
    kills = [Step(action=Kill(name)) for name in plan.cluster.node_names]
    verdict = simulate(replace(plan, steps=(*plan.steps, *kills)), _SEED).verdict
    if not verdict.is_ok:
        found = "; ".join(map(str, verdict.violations))
        raise StoryError(f"{plan.name} goes wrong before anything crashes: {found}")


def run_story(
    plan: Plan,
    nodes: Sequence[str],
    crashes: Collection[Crash] = tuple(Crash),
    *,
    jobs: int = 1,
    on_judged: Callable[[CrashPoint], None] = lambda _moment: None,
) -> list[Row]:
    """Return one row per kind of crash that these nodes can have (``outcome.crashes_of``).

    Args:
        plan: a story that was checked; played once, and from every moment on in a copy.
        nodes: who crashes; at each operation of the first one's disks, the others with it.
        crashes: the kinds.
        jobs: how many copies run at a time.
        on_judged: called with every moment as soon as its verdict is known.
    """
    with Defects() as defects:
        return _MatrixRun(with_probes(plan), nodes, crashes, jobs, on_judged, defects).run()


def result_of(found: Sequence[Violation], starts: Mapping[str, int]) -> CrashResult:
    """Say what a crash came to.

    Args:
        found: by the checkers, or by who healed the cluster.
        starts: how often each node was started since; a second time it had ended by itself.
    """
    text = "; ".join(f"{each.checker}: {each.text}" for each in found)
    for name, count in starts.items():
        if count > 1:
            return CrashResult(Outcome.REFUSED, f"{name} was started {count} times; {text}")
    if not found:
        return CrashResult(Outcome.RECOVERED)
    is_offline = found[0].checker == HEALING
    return CrashResult(Outcome.OFFLINE if is_offline else Outcome.LOST, text)


class _MatrixRun:
    """One story with those who crash in it."""

    def __init__(
        self,
        plan: Plan,
        nodes: Sequence[str],
        crashes: Collection[Crash],
        jobs: int,
        on_judged: Callable[[CrashPoint], None],
        defects: Defects,
    ) -> None:
        self._plan = plan
        self._nodes = tuple(nodes)
        self._on_judged = on_judged
        self._defects = defects
        self._loop = SimLoop(_SEED, steps_max=STEPS_MAX)
        kinds = [crash for crash in crashes_of(nodes) if crash in crashes]
        self._rows = {crash: Row(plan.name, "+".join(nodes), crash) for crash in kinds}
        self._verdicts: dict[CrashPoint, CrashResult] = {}
        self._same: list[tuple[CrashPoint, CrashPoint]] = []
        self._ending: Crash | None = None
        self._forks: Forks[CrashPoint] = Forks(jobs, self._on_told)
        self._sim = SimCluster(self._loop, simulated_spec(plan.cluster))
        self._crashing = [self._sim.node(name) for name in nodes]
        self._story = StoryRun(plan, self._sim)
        self._watch = CrashPoints(
            self._crashing,
            kinds,
            self._forks,
            promised=self._story.promised,
            break_disk=lambda path: self._story.break_disk(nodes[0], path),
            on_same=lambda moment, like: self._same.append((moment, like)),
        )
        self._story.begin = self._watch.begin

    def run(self) -> list[Row]:
        """Play the story; in a copy this does not return."""
        try:
            with libraries_of(self._plan, self._loop):
                self._play()
            self._forks.finish()
        except BaseException:
            if self._watch.moment is None:
                self._forks.abandon()
                raise
            self._tell(CrashResult(Outcome.LOST, traceback.format_exc(limit=-8)))
        finally:
            self._loop.close()
        for moment, like in self._same:
            self._count(moment, self._verdicts[like])
        return list(self._rows.values())

    def _play(self) -> None:
        loop, story = self._loop, self._story
        run = loop.create_task(story.run(), name="run")
        with suppress(Crashed):
            self._run_until(story.steps_over, run)
        self._watch.end()
        moment = self._watch.moment
        if moment is not None:
            story.interrupt(self._nodes)
            *others, self._ending = self._endings(moment)
            for crash in others:
                if self._forks.branch():
                    self._ending = crash
                    break
            ending = self._ending
            story.go_on.set_result(lambda: self._crash(moment, ending))
            self._run_until(story.judged, run)
            self._tell(self._result(story.judged.result()))
        run.cancel()
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(run)

    def _run_until(self, reached: asyncio.Future[Any], run: asyncio.Task[Verdict]) -> None:
        """Let the world go on until its run has come so far, or raise what ended it before."""
        run.add_done_callback(lambda _: reached.cancel())
        try:
            self._loop.run_until_complete(reached)
        except asyncio.CancelledError:
            run.result()
            raise

    def _crash(self, moment: CrashPoint, crash: Crash) -> None:
        """Let the victim crash, or live on, and those that go with it."""
        if crash in {Crash.POWER_CUT, Crash.TORN}:
            self._watch.cut_power(moment)
        elif crash is not Crash.RETURN:
            self._crashing[0].kill()
        for node in self._crashing[1:]:
            node.kill()

    def _result(self, verdict: Verdict) -> CrashResult:
        self._defects.look_into(self._sim)
        return result_of(
            [*verdict.violations, *self._defects.found], self._story.started_by_repair()
        )

    def _tell(self, result: CrashResult) -> None:
        moment = self._watch.moment
        assert moment is not None
        crash = self._ending or moment.crash
        self._forks.tell(f"{crash.name}\n{result.outcome.value}\n{result.reason}")

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
