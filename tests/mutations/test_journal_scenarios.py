"""Scenarios about the controller's journal fail without the code they are about, only then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from broker.app import Broker
from broker.lifecycle.journal_knowledge import JournalKnowledge
from controller.app import Controller
from controller.core.machine import Machine
from jbodlab.worlds.scenario_files import load_plan
from simulation.core.actions import Until
from simulation.core.plan import Plan
from simulation.core.verdict import Verdict
from simulation.run.runner import run_plan
from simulation.simulated_run import simulated_spec
from simulation.world.cluster import SimCluster
from simulation.world.sim_cluster_instance import SimClusterInstance
from tests.mutations import mutants
from tests.mutations.mutants import MutantController, turn_into
from tests.simulation.world.worlds import sim_loop

DAMAGED = "bug-damaged-end-of-the-journal-is-learned-again"
EMPTIED = "bug-emptied-journal-is-said-and-nothing-is-lost"
NO_ID_TWICE = "bug-restored-journal-gives-no-producer-id-twice"
WHO_IS_AWAY = "bug-restored-journal-leaves-out-ids-of-who-is-away"
NEWER_LEADERS = "bug-restored-journal-learns-newer-leaders"

PATIENCE_MS = 12_000
Prepare = Callable[[SimCluster], None]


def machine(mutant: type[Machine]) -> Prepare:
    """Return what gives every controller of a cluster this machine."""

    class Mutant(MutantController):
        machine = mutant

    def prepare(cluster: SimCluster) -> None:
        cluster.controller.on_made = lambda controller: turn_into(Mutant, controller)

    return prepare


def knowledge(mutant: type[JournalKnowledge]) -> Prepare:
    """Return what gives every broker of a cluster this knowledge of the journal."""

    def on_made(broker: Broker) -> None:
        turn_into(mutant, getattr(broker, "_parts").journal)  # noqa: B009 -- nobody's

    def prepare(cluster: SimCluster) -> None:
        for node in cluster.brokers.values():
            node.on_made = on_made

    return prepare


def accepting(cluster: SimCluster) -> None:
    """Let controllers take brokers that have heard of another journal."""

    def on_made(controller: Controller) -> None:
        controller.accepts_other_journals = True

    cluster.controller.on_made = on_made


def impatient(plan: Plan) -> Plan:
    """Return a plan that gives up sooner than one for real processes, but later than it needs."""
    steps = tuple(
        replace(step, action=replace(step.action, within_ms=PATIENCE_MS))
        if isinstance(step.action, Until)
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps, ending=replace(plan.ending, heals_within_ms=PATIENCE_MS))


async def played(plan: Plan, prepare: Prepare) -> Verdict:
    loop = sim_loop()
    cluster = SimCluster(loop, simulated_spec(plan.cluster))
    prepare(cluster)
    return await run_plan(plan, SimClusterInstance(cluster), chance=loop.chance.stream("workloads"))


@pytest.mark.sampled_among("scenarios that mutants of the journal fail", kept=2)
@pytest.mark.parametrize(
    ("scenario", "prepare", "words"),
    [
        pytest.param(
            *(DAMAGED, machine(mutants.DeafMachine), "durability: orders-0 offset"),
            id="acts by a damaged journal without hearing brokers",
        ),
        pytest.param(
            *(NEWER_LEADERS, machine(mutants.DeafMachine), "steps: until: {not: {topic_exists"),
            id="acts by a restored journal without hearing brokers",
        ),
        pytest.param(
            *(NEWER_LEADERS, machine(mutants.EpochMachine), "healing: not well"),
            id="begins an epoch above its journal's only",
        ),
        pytest.param(
            *(NO_ID_TWICE, machine(mutants.BlockMachine), "idempotence: producer id 0 was given"),
            id="does not heed which blocks brokers have",
        ),
        pytest.param(
            *(NO_ID_TWICE, knowledge(mutants.ForgetfulKnowledge), "idempotence: producer id 0"),
            id="uses a block before its disks have it",
        ),
        pytest.param(
            *(WHO_IS_AWAY, machine(mutants.GaplessMachine), "idempotence: producer id 0 was given"),
            id="leaves no gap for a broker that is away",
        ),
        pytest.param(
            *(EMPTIED, accepting, "steps: until: {node: {node: controller, state: stopped"),
            id="takes brokers with another journal's data",
        ),
        pytest.param(
            *(EMPTIED, knowledge(mutants.BlankKnowledge), "steps: until: {node: {node: controller"),
            id="does not read what its disks have of the journal",
        ),
    ],
)
async def test_a_scenario_fails_with_a_node_that(
    scenario: str, prepare: Prepare, words: str
) -> None:
    verdict = await played(impatient(load_plan(scenario)), prepare)

    found = [f"{each.checker}: {each.text}" for each in verdict.violations]
    assert any(text.startswith(words) for text in found), found


@pytest.mark.sampled("scenario", kept=1)
@pytest.mark.parametrize("scenario", [DAMAGED, EMPTIED, NO_ID_TWICE, WHO_IS_AWAY, NEWER_LEADERS])
async def test_a_scenario_is_clean_with_real_nodes(scenario: str) -> None:
    verdict = await played(impatient(load_plan(scenario)), _leave_as_they_are)

    assert verdict.violations == ()


def _leave_as_they_are(_cluster: SimCluster) -> None:
    return None
