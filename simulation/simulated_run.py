"""One plan in one simulated world: run, and all that is to be told of it, as values.

It prints nothing and judges nothing: ``jbodlab.commands.simulate`` shows, the checkers judge.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from controller.journal import COMPACT_BYTES_MIN
from protocol.cluster_file.spec import ClusterSpec, cluster_spec
from protocol.metrics.writer import NewRowWriter
from simulation.contracts.contract import Contracts
from simulation.contracts.table import CONTRACTS
from simulation.core.actions import EditJournal, Fault
from simulation.core.checkers.evidence import Violation
from simulation.core.cluster_document import cluster_document, port_count
from simulation.core.coverage import Coverage, Transition
from simulation.core.dice import Streams
from simulation.core.draw import draw_plan
from simulation.core.features import Features, draw_features
from simulation.core.history import History
from simulation.core.plan import ClusterPlan, Plan
from simulation.core.samples import Samples
from simulation.core.verdict import StoryLine, Verdict
from simulation.defects import Defects
from simulation.run.runner import run_plan
from simulation.world.cluster import SimCluster
from simulation.world.foreign_clocks import foreign_clocks
from simulation.world.garbage import garbage_of_one_world
from simulation.world.loop import SimLoop
from simulation.world.random_streams import RandomStreams
from simulation.world.rows import NoRows
from simulation.world.sim_cluster_instance import SimClusterInstance
from simulation.world.virtual_loop import StepLimitError

NODE_FAULTS: Final = ("kill", "stop", "power_cut", "pause", "slow_cpu", "skew_clock")
"""Words of actions that are faults of nodes."""
BASE_DIR: Final = Path("/world")
FIRST_PORT: Final = 9000
STEPS_AFTER_BROKEN: Final = 2_000_000
"""Most runs take less in all."""
SMALL_JOURNAL_BYTES: Final = 2_000
_PACKAGES: Final = ("aiokafka", "crc32c", "cramjam", "construct")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """One run that is over. It can be sent between processes."""

    seed: int
    verdict: Verdict
    trace_hash: str
    """The same whenever this seed runs this plan."""
    steps: int
    """Of the loop."""
    virtual_ms: int
    fired: Mapping[str, int] = field(default_factory=dict[str, int])
    """Kind of fault -> operations that it changed, or how often a node met it."""
    features: tuple[str, ...] = ()
    """Those that are on in its plan, where a seed drew it."""
    rules: bytes | None = None
    """A byte for each outcome of ``rule_watch``, 1 where it was reached; None: nobody watched."""
    transitions: Mapping[Transition, int] = field(default_factory=dict[Transition, int])
    last_events: tuple[str, ...] = ()
    """The last ones of the trace, where something was found."""
    cpu_s: float = 0.0
    """Processor time that it took, where somebody measured it; another one each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a plan is run; nothing here changes what happens."""

    show: Callable[[StoryLine], None] | None = None
    """Hears every line of the story when it happens."""
    keep_history: Callable[[History], None] | None = None
    """Is given the history at the end."""
    keep_samples: Callable[[Samples], None] | None = None
    """Is given what nodes held when, at the end."""
    new_row_writer: NewRowWriter = NoRows
    """Takes metric rows."""
    steps_after_broken: int = STEPS_AFTER_BROKEN
    """How long a run may go on that broke a contract: it need not come to an end any more."""


def simulated_spec(cluster: ClusterPlan) -> ClusterSpec:
    """Return the cluster of a plan on the ports and paths that it has in every world."""
    ports = range(FIRST_PORT, FIRST_PORT + port_count(cluster))
    return cluster_spec(cluster_document(cluster, ports), base_dir=BASE_DIR, source="plan")


def plan_of_seed(seed: int, length_s: int | None = None) -> Plan:
    """Return the plan that a seed draws; always the same one."""
    return draw_plan(seed, draw_streams(seed), length_s)


def simulate_seed(seed: int, length_s: int | None = None) -> SimulatedRun:
    """Run the plan that a seed draws; as ``simulate``."""
    run = simulate(plan_of_seed(seed, length_s), seed)
    return replace(run, features=features_of_seed(seed).names)


def features_of_seed(seed: int) -> Features:
    """Return the features that are on in the plan that a seed draws."""
    return draw_features(draw_streams(seed)("features"))


def draw_streams(seed: int) -> Streams:
    """Return the streams from which the plan of a seed is drawn."""
    chance = RandomStreams(seed)
    return lambda name: chance.stream(f"draw:{name}")


def simulate(plan: Plan, seed: int, options: Options | None = None) -> SimulatedRun:
    """Run ``plan`` in the world of ``seed``; whatever chance decides there comes from it.

    Raises:
        CannotRunError, ClusterInstanceError: as ``run_plan``.
    """
    with garbage_of_one_world():
        return _simulated(plan, seed, options or Options())


def _simulated(plan: Plan, seed: int, options: Options) -> SimulatedRun:
    loop = SimLoop(seed)
    coverage = Coverage()
    last_events: list[str] = []
    story: list[StoryLine] = []

    def show(line: StoryLine) -> None:
        story.append(line)
        if options.show is not None:
            options.show(line)

    async def run() -> Verdict:
        cluster = SimCluster(
            loop, simulated_spec(plan.cluster), options.new_row_writer, witness=coverage
        )
        cluster.controller.compact_bytes_min = compact_bytes_min(plan, loop.chance)
        instance = _Instance(cluster)
        verdict = await run_plan(
            plan,
            instance,
            chance=loop.chance.stream("workloads"),
            show=show,
            keep_history=options.keep_history,
        )
        last_events.extend(instance.last_events)
        if options.keep_samples is not None and instance.taken is not None:
            options.keep_samples(instance.taken)
        loop.collect_garbage()
        defects.look_into(cluster)
        found = (*verdict.violations, *defects.found, *contracts.found)
        return replace(verdict, violations=found)

    contracts = Contracts(CONTRACTS, on_broken=lambda: loop.limit_steps(options.steps_after_broken))
    try:
        with (
            Defects() as defects,
            contracts,
            asyncio.Runner(loop_factory=lambda: loop) as runner,
            libraries_of(plan, loop),
        ):
            verdict = runner.run(run())
            trace_hash = loop.trace.hexdigest()
    except StepLimitError:
        if not contracts.found:
            raise
        verdict = _without_end(plan, contracts.found, story)
        trace_hash = loop.trace.hexdigest()
    return SimulatedRun(
        seed=seed,
        verdict=verdict,
        trace_hash=trace_hash,
        steps=loop.steps,
        virtual_ms=loop.now_us // 1000,
        fired=_fired(plan, verdict),
        transitions=coverage.counts,
        last_events=() if verdict.is_ok else tuple(last_events),
    )


def compact_bytes_min(plan: Plan, chance: RandomStreams) -> int:
    """Return below which size the controller's journal is not compacted in a world.

    In half of the worlds it is so small that a story gets there; nowhere where a hand edits the
    journal, by lines, of which a compacted one has a single one.
    """
    if any(isinstance(action, EditJournal) for action in plan.actions):
        return COMPACT_BYTES_MIN
    return chance.stream("compaction").choice((COMPACT_BYTES_MIN, SMALL_JOURNAL_BYTES))


def _without_end(plan: Plan, broken: Sequence[Violation], story: Sequence[StoryLine]) -> Verdict:
    """Return the verdict of a run that broke a contract and then came to no end."""
    lasted_ms = story[-1].at_ms if story else 0
    return Verdict(
        plan=plan.name, violations=tuple(broken), story=tuple(story), lasted_ms=lasted_ms
    )


def libraries_of(plan: Plan, loop: SimLoop) -> AbstractContextManager[None]:
    """Return the context in which the client libraries of ``plan`` live in the world of a loop."""
    if any(workload.client == "aiokafka" for workload in plan.workloads):
        return foreign_clocks(loop)
    return nullcontext()


class _Instance(SimClusterInstance):
    """Remembers what happened last before the verdict: what follows is only the shutdown."""

    last_events: tuple[str, ...] = ()
    taken: Samples | None = None

    async def samples(self) -> Samples:
        """Keep the last events, then take the samples."""
        self.last_events = tuple(map(str, self.cluster.loop.trace.last))
        self.taken = await super().samples()
        return self.taken


def replay_header(commit: str | None) -> dict[str, str]:
    """Return what a run depends on besides its seed and plan."""
    header = {"commit": commit or "unknown", "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            header[package] = version(package)
        except PackageNotFoundError:
            header[package] = "none"
    return header


def _fired(plan: Plan, verdict: Verdict) -> dict[str, int]:
    """Sum what faults have met, by their kind."""
    fired = {word: verdict.done[word] for word in NODE_FAULTS if word in verdict.done}
    for action in plan.actions:
        if isinstance(action, Fault):
            mode = action.rule.mode.value
            fired[mode] = fired.get(mode, 0) + verdict.fault_hits.get(action.name, 0)
    return fired
