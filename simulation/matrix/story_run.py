"""A run of a plan that a crash may end in the middle of its steps; what follows is any run's end.

When and how it crashes is not known here.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from typing import Final

from protocol.faults.model import CONTROLLER_NODE, DiskFault, DiskMode
from simulation.core.actions import CreateTopic, StartWorkload, Step, Until
from simulation.core.conditions import AllOf, Count
from simulation.core.history import Function
from simulation.core.needs import Need
from simulation.core.plan import Ending, Plan, Workload
from simulation.core.verdict import Verdict
from simulation.run.run_context import RunContext, StepError
from simulation.run.runner import PlanRun
from simulation.run.steps import Player
from simulation.world.cluster import SimCluster
from simulation.world.sim_cluster_instance import SimClusterInstance

PERSISTS_MS: Final = 2_000
"""Long enough for a log dir to be given up and leaders to be elected; the broker lives on."""
AFTER: Final = "after-the-crash"
"""The topic that is created when all is over; with a topic behind it, who writes there then."""
FAULT: Final = "the-crash"
_KEYS: Final = 4
_LOOK_AGAIN_S: Final = 0.01
_COMPACT_BYTES_MIN: Final = 1_600
"""The controller's journal is compacted in the middle of stories."""


def with_probes(plan: Plan) -> Plan:
    """Return the plan with a producer for each of its topics, which writes a record in the end."""
    created = [action for action in plan.actions if isinstance(action, CreateTopic)]
    topics = {topic.name: topic for topic in (*plan.cluster.topics, *created)}
    return replace(plan, workloads=(*plan.workloads, *map(_probe, topics.values())))


def _probe(topic: CreateTopic) -> Workload:
    needs_keys = "compact" in topic.configs.get("cleanup.policy", "")
    return Workload(
        name=f"{AFTER}-{topic.name}",
        topic=topic.name,
        keys=_KEYS if needs_keys else 0,
        records_max=1,
        begins=False,
    )


class StoryRun(PlanRun):
    """One run; when its steps are over, or were interrupted, it waits for ``go_on``."""

    def __init__(self, plan: Plan, cluster: SimCluster) -> None:
        self._instance = SimClusterInstance(cluster)
        super().__init__(plan, self._instance, cluster.loop.chance.stream("workloads"))
        cluster.controller.compact_bytes_min = _COMPACT_BYTES_MIN
        self._sim = cluster
        self.begin: Callable[[], None] = _nothing
        """Called where the crashes of the plan begin."""
        self._crashed: tuple[str, ...] = ()
        self._context_of_steps: RunContext | None = None
        self._player: Player | None = None
        self._playing: asyncio.Task[None] | None = None
        self._starts: dict[str, int] = {}
        self.steps_over: asyncio.Future[None] = cluster.loop.create_future()
        """Done when the steps are, or were interrupted."""
        self.go_on: asyncio.Future[Callable[[], None]] = cluster.loop.create_future()
        """What crashes now; then the run comes to its end."""
        self.judged: asyncio.Future[Verdict] = cluster.loop.create_future()
        """Done before the cluster is stopped."""

    def promised(self) -> bytes:
        """Return what was promised until now, in so far as it differs from an earlier time."""
        functions = Counter(
            each.function for each in self.history.operations if each.function is not Function.POLL
        )
        return repr(sorted(functions.items())).encode()

    def interrupt(self, crashed: tuple[str, ...]) -> None:
        """End the steps where they are, and forgive what was not met: these nodes crash."""
        self._crashed = crashed
        ending = Ending(heals_within_ms=self._plan.ending.heals_within_ms, empty_faults="count")
        self._plan = replace(self._plan, ending=ending)
        assert self._playing is not None, "nothing crashes before the steps"
        self._playing.cancel()

    def break_disk(self, node: str, path: str) -> None:
        """Let a disk fail for good, in the middle of an operation; the steps go on around it.

        A controller ends by itself, and the steps with it.
        """
        loop = self._sim.loop
        asyncio._set_running_loop(loop)  # noqa: SLF001 -- in a copy: it knows the process by its id
        rule = DiskFault(node=node, log_dir=path, mode=DiskMode.EIO)
        self._instance.set_fault(FAULT, rule)
        assert self._context_of_steps is not None, "no disk breaks before the steps"
        assert self._player is not None
        self._context_of_steps.active_faults[FAULT] = rule
        self._player.persists_ms = PERSISTS_MS
        if node == CONTROLLER_NODE:
            loop.call_later(_LOOK_AGAIN_S, self._end_with_controller, context=Context())

    def _end_with_controller(self) -> None:
        if self._sim.controller.is_running:
            self._sim.loop.call_later(_LOOK_AGAIN_S, self._end_with_controller)
        elif self._playing is not None:
            self._playing.cancel()

    def started_by_repair(self) -> dict[str, int]:
        """Return how often each node was started since the crash."""
        nodes = self._sim.nodes.items()
        return {name: node.starts_count - self._starts[name] for name, node in nodes}

    async def _play(self, context: RunContext, player: Player) -> None:
        marked = [step for step in self._plan.steps if step.crashes_begin]
        first = (*marked, *self._plan.steps)[0]

        def on_step(step: Step) -> None:
            if step is first:
                self.begin()

        player.on_step = on_step
        self._context_of_steps, self._player = context, player
        self._playing = context.group.create_task(super()._play(context, player), name="steps")
        with suppress(asyncio.CancelledError):  # ``interrupt``: this run goes on.
            await self._playing
        self.steps_over.set_result(None)
        crash = await self.go_on
        self._starts = {name: node.starts_count for name, node in self._sim.nodes.items()}
        crash()

    async def _verdict(self, context: RunContext, player: Player) -> Verdict:
        verdict = await super()._verdict(context, player)
        self.judged.set_result(verdict)
        return verdict

    async def _use_healed(self, context: RunContext) -> None:
        """Have every topic take a record, and a new one be made where the controller crashed."""
        player = Player(context, self._story)
        await player.play(await self._uses(context))
        if player.failures:
            raise StepError("; ".join(player.failures))

    async def _uses(self, context: RunContext) -> list[Step]:
        seen = await context.observer.observe((Need.METADATA,))
        known = {tp.topic for view in seen.metadata.values() for tp in view}
        probes = [
            workload.name
            for workload in self._plan.workloads
            if workload.name == f"{AFTER}-{workload.topic}" and workload.topic in known
        ]
        brokers = self._plan.cluster.broker_ids
        steps = [Step(action=StartWorkload(name)) for name in probes]
        if CONTROLLER_NODE in self._crashed:
            steps.insert(0, Step(action=CreateTopic(name=AFTER, assignment=(brokers,))))
        counts = tuple(Count(workload=name, at_least=1) for name in probes)
        return [*steps, Step(action=Until(condition=AllOf(counts)))] if counts else steps


def _nothing() -> None:
    return None
