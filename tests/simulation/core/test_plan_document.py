from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.faults.model import DiskFault, DiskMode, NetworkFault, NetworkMode
from simulation.core import actions, conditions
from simulation.core.actions import CreateTopic, Fault, Step, Until, When
from simulation.core.conditions import AllOf, Leader, Led, Not
from simulation.core.plan import ClusterPlan, Ending, Plan, Workload
from simulation.core.plan_document import PlanError, parse_plan, plan_text, value_text
from tests.simulation.core.plans import steps

TEXT = """
name: leader-fails
shows: A leader whose log dir fails gives way to a follower.
scenarios: [2, 49]
cluster:
  brokers: 3
  configs: {unclean.leader.election.enable: false, num.replica.fetchers: 2}
  topics:
    - {name: orders, assignment: [[1, 2, 3]], log_dir: d1}
workloads:
  - {name: load, topic: orders, interval: 20ms}
steps:
  - at: 2s
    says: The disk dies.
    fault: {id: dead, broker: leader of orders-0, log_dir: of orders-0, mode: eio}
  - until:
      all:
        - leader: {of: orders-0, is: 2}
        - not: {in_isr: {of: orders-0, broker: 1}}
    within: 10s
  - when: {led: orders-0}
    steps:
      - kill: 3
  - create_topic: {name: orders2, partitions: 9, replication_factor: 4}
    answers: INVALID_REPLICATION_FACTOR
ending: {heals_within: 1min}
"""

PLAN = Plan(
    name="leader-fails",
    shows="A leader whose log dir fails gives way to a follower.",
    scenarios=(2, 49),
    cluster=ClusterPlan(
        brokers=3,
        configs={"unclean.leader.election.enable": "false", "num.replica.fetchers": "2"},
        topics=(CreateTopic(name="orders", assignment=((1, 2, 3),), log_dir="d1"),),
    ),
    workloads=(Workload(name="load", topic="orders", interval_ms=20),),
    steps=(
        Step(
            at_ms=2000,
            says="The disk dies.",
            action=Fault(
                name="dead",
                rule=DiskFault(mode=DiskMode.EIO, node="leader of orders-0", log_dir="of orders-0"),
            ),
        ),
        Step(
            action=Until(
                condition=AllOf(
                    (
                        Leader(of="orders-0", is_="broker-2"),
                        Not(conditions.InIsr(of="orders-0", broker="broker-1")),
                    )
                ),
                within_ms=10_000,
            )
        ),
        Step(
            action=When(condition=Led("orders-0"), steps=(Step(action=actions.Kill("broker-3")),))
        ),
        Step(
            action=CreateTopic(
                name="orders2",
                partitions=9,
                replication_factor=4,
                answers="INVALID_REPLICATION_FACTOR",
            )
        ),
    ),
    ending=Ending(heals_within_ms=60_000),
)


def mistakes_of(text: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, source="x.yaml")
    return caught.value.mistakes


def test_a_file_is_read_as_the_plan_that_it_describes() -> None:
    assert parse_plan(TEXT, source="x.yaml") == PLAN


def test_a_plan_is_written_as_a_text_that_reads_as_the_same_plan() -> None:
    assert parse_plan(plan_text(PLAN), source="x.yaml") == PLAN


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(steps(), max_size=4))
def test_every_step_is_read_back_as_it_was_written(steps: list[Step]) -> None:
    plan = Plan(
        name="drawn",
        shows="Anything.",
        cluster=ClusterPlan(topics=(CreateTopic(name="orders"),)),
        workloads=(Workload(name="load", topic="orders"),),
        steps=(
            Step(
                action=Fault(
                    name="dead",
                    rule=NetworkFault(mode=NetworkMode.CUT, source="*", target="broker-1"),
                )
            ),
            *steps,
        ),
    )

    assert parse_plan(plan_text(plan), source="x.yaml") == plan


def test_an_action_is_told_in_one_line() -> None:
    assert (
        value_text(Until(condition=Leader(of="orders-0", is_="broker-2"), within_ms=500))
        == "until: {leader: {of: orders-0, is: broker-2}}, within: 500ms"
    )


def test_a_condition_is_told_in_one_line() -> None:
    assert value_text(Not(Led("orders-0"))) == "not: {led: orders-0}"


def test_all_mistakes_are_told_together_with_their_place() -> None:
    text = """
name: Leader fails
shows: A leader fails
cluster: {broker: 3}
steps:
  - kil: broker-1
  - until: {leder: {of: orders-0}}
    within: 10
  - leader: {of: orders-0}
  - kill: broker-1
    stop: broker-1
"""
    assert mistakes_of(text) == [
        "cluster.broker: unknown word (did you mean brokers?)",
        "steps[0]: has no word of an action",
        "steps[0].kil: unknown word (did you mean kill?)",
        "steps[1].within: must be a time such as 500ms, 2s or 1min, is 10",
        "steps[1].until.leder: unknown word (did you mean leader?)",
        "steps[2]: has no word of an action",
        "steps[2].leader: unknown word (did you mean clear?)",
        "steps[3]: one action a step, here are kill and stop",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "the file: must be a mapping of keys, is [1]"),
        ("a:\n- {name: x, name: y}", "a[0].name: is given twice, in lines 2 and 2"),
        ("a: [", "is no YAML: while parsing"),
    ],
)
def test_a_text_that_is_no_plan_at_all_is_refused(text: str, told: str) -> None:
    assert mistakes_of(text)[0].startswith(told)


def test_a_fault_is_checked_as_everywhere() -> None:
    text = TEXT.replace("mode: eio", "mode: eio, nth: 0, probabilty: 2")

    assert mistakes_of(text) == [
        "steps[0].fault.probabilty: unknown key (did you mean probability?)",
        "steps[0].fault.nth: must be >= 1, is 0",
    ]


def test_what_happens_to_a_node_is_no_fault_but_a_step() -> None:
    text = TEXT.replace("log_dir: of orders-0, mode: eio", "mode: kill")

    assert mistakes_of(text) == [
        "steps[0].fault.mode: must be of a disk or the network, is 'kill'",
    ]
