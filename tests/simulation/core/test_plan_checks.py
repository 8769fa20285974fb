from __future__ import annotations

import pytest

from simulation.core.plan_document import PlanError, parse_plan

HEAD = """
name: x
shows: X.
cluster:
  topics: [{name: orders, partitions: 2, replication_factor: 3}]
workloads: [{name: load, topic: orders}]
"""


def mistakes_of(text: str) -> list[str]:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, source="x.yaml")
    return caught.value.mistakes


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            "kill: broker-4",
            "steps[0].kill: must be one of controller, broker-1, broker-2",
        ),
        ("kill: leader of payments-0", "steps[0].kill: there is no topic payments"),
        (
            "until: {log_dir: {broker: controller, log_dir: d1, state: online}}",
            "steps[0].until.log_dir.broker: must be one of broker-1, broker-2, broker-3",
        ),
        (
            "until: {log_dir: {broker: 1, log_dir: d3, state: online}}",
            "steps[0].until.log_dir.log_dir: must be one of d1, d2 or as in of orders-0, is 'd3'",
        ),
        ("until: {led: order-0}", "steps[0].until.led: there is no topic order (did you mean"),
        ("stop_workload: lod", "steps[0].stop_workload: there is no workload lod (did you mean"),
        ("clear: dead", "steps[0].clear: there is no fault dead"),
        (
            "fault: {id: x, node: controller, log_dir: d1, mode: eio}",
            "steps[0].fault.node: must be one of broker-1, broker-2, broker-3",
        ),
        (
            "{delete_topic: orders, answers: UNKNOWN_TOPIC}",
            "steps[0].answers: no code of Kafka's: UNKNOWN_TOPIC (did you mean UNKNOWN_TOPIC_ID?)",
        ),
        (
            "remove_file: {broker: 1, log_dir: d1, file: ../d2}",
            "steps[0].remove_file.file: must be a path below the log dir, is '../d2'",
        ),
        (
            "until: {file: {broker: 1, log_dir: d1, name: /etc}}",
            "steps[0].until.file.name: must be a path below the log dir, is '/etc'",
        ),
        ("create_topic: a-1", "steps[0].create_topic: must not end in a hyphen and a number"),
        ("create_topic: a b", "steps[0].create_topic: must be 1 to 249 letters"),
        (
            "expect: {count: {workload: load}}",
            "steps[0]: must have one of is, at_least, at_most, more",
        ),
        ("expect: {not: {any: []}}", "steps[0]: a list of conditions must not be empty"),
        ("{when: {led: orders}, steps: []}", "steps[0].steps: must not be empty"),
    ],
)
def test_a_step_that_fits_nothing_is_told(step: str, told: str) -> None:
    (mistake,) = mistakes_of(f"{HEAD}steps:\n  - {step}\n")

    assert mistake.startswith(told)


@pytest.mark.parametrize(
    ("cluster", "told"),
    [
        ("{brokers: 0}", "cluster.brokers: must be >= 1, is 0"),
        ("{racks: [a]}", "cluster.racks: must be one per broker, 3, are 1"),
        ("{broker_configs: {4: {}}}", "cluster.broker_configs.4: there is no broker 4"),
        ("{configs: {log.segment.byte: 1}}", "cluster.configs.log.segment.byte: "),
        ("{session_timeout: 100ms}", "cluster.controller.session_timeout_ms: must be > "),
        ("{topics: [{name: a, configs: {x: 1}}]}", "cluster.topics[0].configs.x: "),
        ("{topics: [{name: a, replication_factor: 4}]}", "cluster.topics[0].replication_factor"),
        ("{topics: [{name: a, assignment: [[1, 9]]}]}", "cluster.topics[0].assignment: there is"),
    ],
)
def test_a_cluster_that_cannot_be_is_told(cluster: str, told: str) -> None:
    mistakes = mistakes_of(f"name: x\nshows: X.\ncluster: {cluster}\n")

    assert mistakes[0].startswith(told)


def test_steps_do_not_go_back_in_time() -> None:
    steps = "[{at: 2s, kill: 1}, {kill: 2}, {at: 1s, kill: 3}]"

    assert mistakes_of(f"{HEAD}steps: {steps}") == [
        "steps[2].at: must be no earlier than the step before"
    ]


def test_names_are_given_once() -> None:
    text = HEAD.replace("[{name: load", "[{name: load, topic: orders}, {name: load")

    assert mistakes_of(text) == ["workloads: the name load is given 2 times"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: A b\nshows: X.", "name: must be lower-case words joined by hyphens, is 'A b'"),
        ("name: x\nshows: X", "shows: must be one sentence, with its full stop"),
        ("name: x\nshows: X.\nworlds: []", "worlds: must not be empty"),
        ("name: x\nshows: X.\nbecause: Y.", "because: it runs in every world"),
        (
            "name: x\nshows: X.\nworlds: [real]\nbecause: so",
            "because: must be one sentence, with its full stop",
        ),
    ],
)
def test_a_plan_says_what_it_is(text: str, told: str) -> None:
    assert mistakes_of(text) == [told]


@pytest.mark.parametrize(
    ("workload", "told"),
    [
        (
            "group: g",
            "workloads[0].group: only of kind consume, not of client plain, "
            "or of a kind that needs one",
        ),
        (
            "group: g, kind: consume",
            "workloads[0].group: only of kind consume, not of client plain, "
            "or of a kind that needs one",
        ),
        (
            "kind: transform, client: aiokafka, into: orders",
            "workloads[0].kind: transform needs client aiokafka or java, a group and into",
        ),
        (
            "kind: transform, client: aiokafka, group: g",
            "workloads[0].into: of kind transform or regroup, which must have it, and of no other",
        ),
        (
            "into: orders",
            "workloads[0].into: of kind transform or regroup, which must have it, and of no other",
        ),
        (
            "transactional: true",
            "workloads[0].transactional: only of kind produce, not of client plain, with acks all",
        ),
        (
            "aborts_every: 3",
            "workloads[0].aborts_every: must be >= 0, of who has transactions, is 3",
        ),
        (
            "read_committed: true, kind: consume",
            "workloads[0].read_committed: only of kind consume, not of client plain",
        ),
        ("client: aiokafka, kind: move", "workloads[0].client: aiokafka gives no orders"),
        ("kind: administer", "workloads[0].kind: administer needs a group"),
        ("kind: regroup, into: orders", "workloads[0].kind: regroup needs a group"),
        ("rack: r0", "workloads[0].rack: only of kind consume and client plain"),
        (
            "client: java",
            "workloads[0].client: java is in a group, transactional or read_committed",
        ),
        ("keys: -1", "workloads[0].keys: must be >= 0, is -1"),
        (
            "client: aiokafka, message_format: 1",
            "workloads[0].message_format: aiokafka speaks 2 only",
        ),
        (
            "idempotent: true, message_format: 0",
            "workloads[0].message_format: must be 2 of an idempotent producer",
        ),
        (
            "message_format: 1, compression: zstd",
            "workloads[0].compression: zstd came with message format 2",
        ),
        ('idempotent: true, acks: "1"', "workloads[0].acks: must be all of an idempotent producer"),
    ],
)
def test_a_client_that_cannot_be_is_told(workload: str, told: str) -> None:
    text = HEAD.replace("topic: orders}]", f"topic: orders, {workload}}}]")

    assert mistakes_of(text) == [told]


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("crashes: [[]]", "crashes[0]: must be different nodes, at least one, are []"),
        (
            "crashes: [[1], [2, 2]]",
            "crashes[1]: must be different nodes, at least one, are ['broker-2', 'broker-2']",
        ),
        (
            "crashes: [[leader of orders-0]]",
            "crashes[0]: must be nodes by their names, 'leader of orders-0' is none",
        ),
        (
            "steps: [{wait: 1s, crashes_begin: true}, {wait: 1s, crashes_begin: true}]",
            "steps: crashes_begin is said of 2 steps, crashes begin once",
        ),
    ],
)
def test_who_crashes_and_from_where_on_is_said_clearly(rest: str, told: str) -> None:
    assert mistakes_of(f"{HEAD}{rest}\n") == [told]


def test_everybody_has_a_topic_but_who_examines() -> None:
    text = "name: x\nshows: X.\nworkloads:\n  - {name: examiner, kind: examine}\n"
    assert parse_plan(text, source="x.yaml").workloads[0].topic == ""
    assert mistakes_of(text + "  - {name: writer}\n") == ["workloads[1].topic: is missing"]
