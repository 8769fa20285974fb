"""Runs a plan on a cluster, from the start of the cluster to the verdict of the checkers.

It works on any asyncio loop, of virtual time or not, and knows no world.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from conformance.errors import ConformanceError
from simulation.cluster_instance import ClusterInstance
from simulation.core.actions import Fault, Step, Until
from simulation.core.capability import needed_capabilities
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.outcomes import may_hang
from simulation.core.checkers.reach import checks_of
from simulation.core.checkers.table import check_all
from simulation.core.conditions import FullIsr
from simulation.core.history import History
from simulation.core.met_situations import met_situations
from simulation.core.needs import Need
from simulation.core.plan import Plan
from simulation.core.plan_document import value_text
from simulation.core.verdict import StoryLine, Verdict
from simulation.loop_time import loop_now_us
from simulation.run.asking import Asker
from simulation.run.fault_triggering import trigger_unmet_faults
from simulation.run.healing import UnreadError, end_faults, end_workloads, heal
from simulation.run.judging import differences, why_not_judged
from simulation.run.observer import Observer
from simulation.run.run_context import RunContext, StepError
from simulation.run.steps import Player
from simulation.run.story import Story
from simulation.run.workloads import Workloads
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.workload.mover import RandomSource
from simulation.workload.topic_answers import TopicAnswers

LOOK_TIMEOUT_MS: Final = 1_000
ASK_EVERY_MS: Final = 1_000
TOPICS_WITHIN_MS: Final = 30_000
STEPS: Final = "steps"
"""The checker that a plan's own expectations are told under."""
FAULTS: Final = "faults"
HEALING: Final = "healing"
ANSWERS: Final = "Kafka's answers"


class CannotRunError(Exception):
    """The plan asks for what this cluster cannot do; the text says what."""


def refusal(plan: Plan, cluster: ClusterInstance) -> str | None:
    """Return why ``plan`` cannot run on ``cluster``, or None."""
    missing = [each for each in needed_capabilities(plan) if each not in cluster.capabilities]
    if not missing:
        return None
    words = ", ".join(each.value.replace("_", " ") for each in missing)
    return f"{plan.name} needs {words}, which this world does not have"


async def run_plan(
    plan: Plan,
    cluster: ClusterInstance,
    *,
    chance: RandomSource,
    show: Callable[[StoryLine], None] | None = None,
    keep_history: Callable[[History], None] | None = None,
) -> Verdict:
    """Start ``cluster``, run ``plan`` on it, stop it, and return the verdict.

    Args:
        plan: its cluster is what ``cluster`` was made for.
        cluster: not started yet.
        chance: for workloads that choose.
        show: hears every line of the story when it happens.
        keep_history: is given what the clients did, at the end.

    Raises:
        CannotRunError: before anything is started.
        ClusterInstanceError: the cluster does not start.
    """
    why_not = refusal(plan, cluster)
    if why_not is not None:
        raise CannotRunError(why_not)
    run = PlanRun(plan, cluster, chance, show)
    verdict = await run.run()
    if keep_history is not None:
        keep_history(run.history)
    return verdict


class PlanRun:
    """One run; ``run`` it once. What a run of another kind does otherwise, it overrides."""

    def __init__(
        self,
        plan: Plan,
        cluster: ClusterInstance,
        chance: RandomSource,
        show: Callable[[StoryLine], None] | None = None,
    ) -> None:
        self._plan = plan
        self._cluster = cluster
        self._chance = chance
        self._story = Story(cluster.now_ms) if show is None else Story(cluster.now_ms, show)
        self.history = History(loop_now_us)
        self._topic_answers = TopicAnswers()
        self._violations: list[Violation] = []
        self._began_us = 0
        self._healed_us: int | None = None
        self._healed_after_ms: int | None = None
        self._empty_faults: tuple[str, ...] = ()
        self._unread = ""
        """What readers who need coordinators have not read in the end."""

    async def run(self) -> Verdict:
        """Run it."""
        addresses = addresses_of(self._cluster.spec)
        told = self._topic_answers
        client = ClusterClient(addresses, "administrator", topic_answers=told)
        looking = ClusterClient(
            addresses, "lookout", request_timeout_ms=LOOK_TIMEOUT_MS, topic_answers=told
        )
        self._story.tell(f"{self._plan.name}: {self._plan.shows}")
        try:
            await self._cluster.start()
            async with asyncio.TaskGroup() as group:
                context = self._context(client, looking, group)
                player = Player(context, self._story)
                await self._play(context, player)
                await self._end(context, player.faults)
                return await self._verdict(context, player)
        finally:
            client.close()
            looking.close()
            await self._cluster.stop()

    def _context(
        self, client: ClusterClient, looking: ClusterClient, group: asyncio.TaskGroup
    ) -> RunContext:
        workloads = Workloads(
            {workload.name: workload for workload in self._plan.workloads},
            partial(
                ClusterClient,
                addresses_of(self._cluster.spec),
                topic_answers=self._topic_answers,
            ),
            self.history,
            self._chance,
            self._cluster.clock,
            group,
        )
        return RunContext(
            cluster=self._cluster,
            observer=Observer(self._cluster, looking, workloads.seen),
            admin=Admin(client, self.history),
            asker=Asker(client, self.history, self._cluster.clock),
            workloads=workloads,
            group=group,
        )

    async def _play(self, context: RunContext, player: Player) -> None:
        """Create the topics of the cluster, let the workloads begin, do the steps."""
        topics = self._plan.cluster.topics
        waits = [
            Until(condition=FullIsr(topic.name), within_ms=TOPICS_WITHIN_MS) for topic in topics
        ]
        await player.play([Step(action=action) for action in (*topics, *waits)])
        self._story.begin()
        self._began_us = loop_now_us()
        if not player.failures:
            for workload in self._plan.workloads:
                if workload.begins:
                    context.workloads.begin(workload.name)
            asking = context.group.create_task(_ask_for_metadata(context), name="ask-for-metadata")
            try:
                await player.play(self._plan.steps)
            finally:
                asking.cancel()
        self._note(STEPS, player.failures)

    async def _end(self, context: RunContext, faults: list[Fault]) -> None:
        """End the faults, wait until all is well, end the workloads."""
        await trigger_unmet_faults(context, self._plan.ending, self._story)
        await self._judge_empty(faults)
        await end_faults(context, self._plan.ending, self._story)
        self._healed_us = loop_now_us()
        try:
            self._healed_after_ms = await heal(context, self._plan.ending, self._story)
            await self._use_healed(context)
            await end_workloads(context, self._plan.ending, self._story)
            # Connections that died unnoticed still take replicas out of the Isr for a while.
            await heal(context, self._plan.ending, self._story)
        except StepError as error:
            self._unread = str(error) if isinstance(error, UnreadError) else ""
            self._note(HEALING, [] if self._unread else [str(error)])
            await context.workloads.end_writers()
            await context.workloads.end_transformers()
            await context.workloads.end_readers()

    async def _use_healed(self, context: RunContext) -> None:
        """Ask more of a cluster that is well again, before its clients end; raise StepErrors."""

    async def _judge_empty(self, faults: list[Fault]) -> None:
        """Note the faults that met nothing, as mistakes of the plan or as bad luck."""
        hits = await self._cluster.fault_hits()
        empty = [fault for fault in faults if not hits.get(fault.name)]
        if self._plan.ending.empty_faults == "fail":
            self._note(FAULTS, [] if self._violations else [_inert(fault) for fault in empty])
            return
        self._empty_faults = tuple(fault.name for fault in empty)
        if empty:
            self._story.tell(f"never met anything: {', '.join(self._empty_faults)}")

    async def _verdict(self, context: RunContext, player: Player) -> Verdict:
        samples = await self._cluster.samples()
        await self._judge_answers(context, player.faults)
        samples.began_us, samples.healed_us = self._began_us, self._healed_us
        samples.ended_us = loop_now_us()
        samples.views, samples.denials = self._topic_answers.views, self._topic_answers.denials
        evidence = Evidence(
            history=self.history.operations,
            samples=samples,
            configs=self._plan.cluster.configs,
            broker_configs=self._plan.cluster.broker_configs,
        )
        if self._unread and not may_hang(evidence):
            self._note(HEALING, [self._unread])
        self._violations += check_all(evidence)
        workloads = context.workloads.seen()
        seen = workloads.values()
        worked = {name: one.acknowledged + one.read for name, one in workloads.items()}
        hits = dict(await self._cluster.fault_hits())
        return Verdict(
            plan=self._plan.name,
            violations=tuple(
                each._replace(at_us=each.at_us - self._began_us) for each in self._violations
            ),
            story=tuple(self._story.lines),
            lasted_ms=self._story.now_ms,
            healed_after_ms=self._healed_after_ms,
            acknowledged=sum(each.acknowledged for each in seen),
            read=sum(each.read for each in seen),
            fault_hits=hits,
            empty_faults=self._empty_faults,
            done=dict(player.done),
            situations=met_situations(self._plan, evidence, worked, hits),
            checks=checks_of(evidence),
        )

    async def _judge_answers(self, context: RunContext, faults: Sequence[Fault]) -> None:
        """Hold answers against Kafka's; what that makes and asks is none of the evidence."""
        count = self._plan.ending.judged_cases
        if not count or self._violations or self._unread:
            return
        seen = await context.observer.observe((Need.METADATA, Need.LOG_DIRS))
        why_not = why_not_judged(seen, [fault.rule.mode for fault in faults])
        if why_not:
            self._story.tell(f"not held against Kafka's answers: {why_not}")
            return
        host, port = min(addresses_of(self._cluster.spec).items())[1]
        try:
            found = await differences(host, port, count, self._chance)
        except (ConformanceError, OSError) as error:
            found = [f"it could not be asked: {error}"]
        self._story.tell(f"{count} cases were held against Kafka's answers")
        self._note(ANSWERS, found)

    def _note(self, checker: str, texts: list[str]) -> None:
        self._violations += [Violation(checker, loop_now_us(), text) for text in texts]


async def _ask_for_metadata(context: RunContext) -> None:
    """Ask every broker again and again, until cancelled: checkers hear what each tells."""
    while True:
        await asyncio.sleep(ASK_EVERY_MS / 1000)
        await context.observer.observe((Need.METADATA,))


def _inert(fault: Fault) -> str:
    return (
        f"the fault {fault.name} never met anything: {value_text(fault)}; "
        "set it where work is done, narrow it less, or let it stay for longer"
    )
