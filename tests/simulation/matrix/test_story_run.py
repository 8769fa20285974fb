"""A run that ends in the middle of its steps is healed, used and judged as any run is."""

from __future__ import annotations

from collections.abc import Callable

from simulation.core.plan import Plan
from simulation.core.verdict import Verdict
from simulation.matrix.story_run import AFTER, StoryRun, with_probes
from simulation.simulated_run import simulated_spec
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop
from tests.simulation.matrix.stories import told

LONG = """
  - start_workload: writes
  - {until: {count: {workload: writes, at_least: 1}}, crashes_begin: true}
  - {until: {leader: {of: orders-0, is: 2}}, within: 30s}
"""


class Played:
    """One story up to its crash, and what came of it."""

    def __init__(self, plan: Plan, crash: Callable[[SimCluster, StoryRun], None]) -> None:
        self.began = False
        loop = SimLoop(3)
        self.cluster = SimCluster(loop, simulated_spec(plan.cluster))
        self.run = StoryRun(with_probes(plan), self.cluster)
        self.run.begin = lambda: self._begin(loop, crash)
        self.run.go_on.set_result(lambda: None)
        self.verdict: Verdict = loop.run_until_complete(self.run.run())
        self.logs = self._logs()
        loop.close()

    def _begin(self, loop: SimLoop, crash: Callable[[SimCluster, StoryRun], None]) -> None:
        self.began = True
        loop.call_later(1, crash, self.cluster, self.run)

    def _logs(self) -> list[str]:
        drives = self.cluster.brokers[2].drives.values()
        return [name for drive in drives for name in drive.disk.memory.list_dir("")]


def test_steps_that_a_crash_interrupts_are_not_held_against_the_run() -> None:
    def crash(cluster: SimCluster, run: StoryRun) -> None:
        cluster.controller.kill()
        run.interrupt(("controller",))

    played = Played(told(LONG), crash)
    assert played.began
    assert played.verdict.violations == ()
    assert played.verdict.acknowledged == 2, "one before, one after the crash"
    assert f"{AFTER}-0" in played.logs
    assert played.run.started_by_repair()["broker-1"] == 0


def test_around_a_disk_that_breaks_the_steps_go_on_as_well_as_they_can() -> None:
    def crash(cluster: SimCluster, run: StoryRun) -> None:
        run.break_disk("broker-3", next(iter(cluster.brokers[3].drives)))

    played = Played(told(LONG), crash)
    assert played.verdict.violations == ()
    assert played.verdict.acknowledged == 2
