"""kafka-reassign-partitions before anything is moved: arguments, plans made, plans refused."""

from __future__ import annotations

import json
import shlex
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import load_cluster_spec
from tests.integration.labs import Lab
from tests.kafka_tools.plans import CANCEL, EXECUTE, VERIFY, PlanFile, document, error
from tests.kafka_tools.tools import KafkaTools, Printed

ONE_ACTION = (
    "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list"
)
GENERATE = "kafka-reassign-partitions --generate"
FILE = "--reassignment-json-file f"
TOPICS = "--topics-to-move-json-file f --broker-list 1"


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    """A topic on two brokers each."""
    lab.create(topic, assignment={0: [1, 2], 1: [2, 3]})
    return topic


def topics(*names: str) -> str:
    return json.dumps({"version": 1, "topics": [{"topic": name} for name in names]})


def printed_plans(lines: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what ``--generate`` found and what it proposes."""
    assert [lines[0], lines[2], lines[3]] == [
        "Current partition replica assignment",
        "",
        "Proposed partition reassignment configuration",
    ]
    return json.loads(lines[1]), json.loads(lines[4])


@pytest.mark.scenario(197)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", ONE_ACTION),
        ("--list --execute", ONE_ACTION),
        ("--generate --verify --cancel", ONE_ACTION),
        ("--generate", 'Missing required argument "[topics-to-move-json-file]"'),
        (
            "--generate --topics-to-move-json-file f",
            'Missing required argument "[broker-list]"',
        ),
        ("--execute", 'Missing required argument "[reassignment-json-file]"'),
        ("--verify", 'Missing required argument "[reassignment-json-file]"'),
        ("--cancel", 'Missing required argument "[reassignment-json-file]"'),
        *[
            (
                f"--{action} {needed} {option}",
                f'Option "[{name}]" can\'t be used with action "[{action}]"',
            )
            for action, needed, options in (
                ("generate", TOPICS, (FILE, "--throttle 1", "--additional", "--timeout 1")),
                (
                    "execute",
                    FILE,
                    ("--topics-to-move-json-file f", "--broker-list 1", "--preserve-throttles"),
                ),
                (
                    "verify",
                    FILE,
                    (
                        "--additional",
                        "--broker-list 1",
                        "--disable-rack-aware",
                        "--replica-alter-log-dirs-throttle 1",
                        "--throttle 1",
                        "--timeout 1",
                        "--topics-to-move-json-file f",
                    ),
                ),
                (
                    "cancel",
                    FILE,
                    ("--additional", "--throttle 1", "--replica-alter-log-dirs-throttle 1"),
                ),
                ("list", "", (FILE, "--throttle 1", "--timeout 1", "--preserve-throttles")),
            )
            for option in options
            for name in [option.split()[0].removeprefix("--")]
        ],
    ],
)
def test_arguments_that_do_not_go_together(tools: KafkaTools, arguments: str, message: str):
    printed = tools.run(f"kafka-reassign-partitions {arguments}")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith(f"{message}\n")


@pytest.mark.parametrize("arguments", ["--list", f"--execute {FILE}", f"--generate {TOPICS}"])
def test_a_cluster_must_be_named(tools: KafkaTools, arguments: str):
    printed = tools.run_bare("kafka-reassign-partitions", shlex.split(arguments))
    assert (printed.code, printed.out) == (1, "")
    alternatives = {
        "3.9.2": "--bootstrap-server",
        "4.3.1": "either --bootstrap-server or --bootstrap-controller",
    }
    assert printed.err.startswith(f"Please specify {alternatives[tools.release]}\n")


@pytest.mark.parametrize("options", ["", " --disable-rack-aware"])
def test_a_plan_is_proposed(
    tools: KafkaTools, lab: Lab, created: str, plan: PlanFile, options: str
):
    plan.write_text(topics(created))
    lines = plan.succeed(f"{GENERATE} --broker-list 1,3{options}")
    current, proposed = printed_plans(lines)

    def where(broker: int, partition: int) -> str:
        # From 4.2 on the plan that leads back names the log dirs (KAFKA-19582).
        is_told = not tools.release.startswith("3.")
        return lab.log_dir_of(broker, created, partition).path if is_told else "any"

    assert current == document(
        {
            (created, 0): {1: where(1, 0), 2: where(2, 0)},
            (created, 1): {2: where(2, 1), 3: where(3, 1)},
        }
    )
    for row in proposed["partitions"]:
        assert sorted(row["replicas"]) == [1, 3]
        assert row["log_dirs"] == ["any", "any"]


def test_a_broker_that_is_not_there_is_left_out_of_a_proposal(created: str, plan: PlanFile):
    plan.write_text(topics(created))
    _, proposed = printed_plans(plan.succeed(f"{GENERATE} --broker-list 1,2,9"))
    assert [sorted(row["replicas"]) for row in proposed["partitions"]] == [[1, 2], [1, 2]]


@pytest.mark.scenario(193)
@pytest.mark.parametrize(
    ("text", "brokers", "message"),
    [
        (topics("a"), "1,1,3", "Broker list contains duplicate entries: [1]"),
        (
            topics("a", "a"),
            "1,3",
            "List of topics to reassign contains duplicate entries: [a]",
        ),
        (
            topics("nope"),
            "1,3",
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
            "Topic nope not found.",
        ),
        (topics("a"), "x", 'For input string: "x"'),
        ("x", "1", "The input string is not a valid JSON"),
        ('{"version": 3, "topics": []}', "1", "Not supported version field value 3"),
    ],
    ids=["brokers twice", "topics twice", "unknown", "no number", "no JSON", "version"],
)
def test_no_plan_can_be_made(plan: PlanFile, text: str, brokers: str, message: str):
    plan.write_text(text)
    assert error(plan.run(f"{GENERATE} --broker-list {brokers}")) == message


@pytest.mark.scenario(193)
@pytest.mark.parametrize("brokers", ["1", "1,9"])
def test_a_plan_needs_enough_brokers(tools: KafkaTools, created: str, plan: PlanFile, brokers: str):
    plan.write_text(topics(created))
    assert error(plan.run(f"{GENERATE} --broker-list {brokers}")) == (
        "Replication factor: 2 larger than available brokers: 1."
        if tools.release.startswith("3.")
        else "The target replication factor of 2 cannot be reached because only 1 broker(s) are "
        "registered or some brokers have all their log directories cordoned."
    )


@pytest.fixture(scope="module")
def half_racked(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """Two brokers; one has no rack."""
    shape = LabShape(brokers=2, log_dirs=1)
    file = write_lab_spec(tmp_path_factory.mktemp("half-racked"), shape)
    spec = load_cluster_spec(file)
    first, second = spec.brokers
    without = replace(spec, brokers=(replace(first, rack=None), second))
    file.write_text(dump_cluster_spec(without))
    cluster = Cluster(file)
    with running(cluster), ClusterAdmin(cluster.spec) as admin:
        yield Lab(cluster, admin)


@pytest.mark.scenario(193)
def test_racks_are_known_of_all_brokers_or_do_not_count(
    half_racked: Lab, topic: str, plan: PlanFile
):
    half_racked.create(topic, assignment={0: [1, 2]})
    plan.write_text(topics(topic))
    generate = f"{GENERATE} --broker-list 1,2 --bootstrap-server {','.join(half_racked.servers)}"
    assert error(plan.run(generate)) == (
        "Not all brokers have rack information. Add --disable-rack-aware in command line to make "
        "replica assignment without rack information."
    )
    _, proposed = printed_plans(plan.succeed(f"{generate} --disable-rack-aware"))
    assert [sorted(row["replicas"]) for row in proposed["partitions"]] == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nojson", "Unrecognized token 'nojson': was expecting"),
        ('{"version": 2}', "Not supported version field value 2"),
        ("{}", "Partition reassignment list cannot be empty"),
        (json.dumps(document({})), "Partition reassignment list cannot be empty"),
        (json.dumps(document({("a", 0): []})), "Partition replica list cannot be empty"),
        (
            json.dumps({"partitions": document({("a", 0): [1]})["partitions"] * 2}),
            "Partition reassignment contains duplicate topic partitions: a-0",
        ),
        (
            json.dumps(document({("a", 0): [1, 1], ("b", 0): [2, 2, 3, 3]})),
            "Partition replica lists may not contain duplicate entries: "
            "a-0 contains multiple entries for 1. b-0 contains multiple entries for 2,3",
        ),
        (
            json.dumps(
                {
                    "partitions": [
                        {"topic": "a", "partition": 0, "replicas": [1, 2], "log_dirs": ["any"]}
                    ]
                }
            ),
            "Size of replicas list [1, 2] is different from size of log dirs list [any] "
            "for partition a-0",
        ),
        (json.dumps(document({("a", 0): [1, 9]})), "Unknown broker id 9"),
        (
            json.dumps(document({("nope", 0): [1, 2]})),
            "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
            "Topic nope not found.",
        ),
    ],
    ids=[
        "no JSON",
        "version",
        "nothing",
        "empty",
        "no replicas",
        "twice",
        "brokers twice",
        "sizes",
        "unknown broker",
        "unknown topic",
    ],
)
@pytest.mark.scenario(194)
def test_a_plan_is_refused(plan: PlanFile, text: str, message: str):
    plan.write_text(text)
    assert error(plan.run(EXECUTE)).startswith(message)


@pytest.mark.kafka_bug("KAFKA-16455")
@pytest.mark.scenario(194)
def test_a_plan_for_a_partition_that_is_not_there_is_refused(created: str, plan: PlanFile):
    plan.write({(created, 7): [1, 2]})
    missing = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
    message = error(plan.run(EXECUTE))
    assert message.removeprefix(missing) == f"Unable to find partition: {created}-7"


@pytest.mark.parametrize("action", [VERIFY, CANCEL])
def test_what_is_no_plan_is_neither_verified_nor_cancelled(plan: PlanFile, action: str):
    plan.write_text("nojson")
    assert error(plan.run(action)).startswith("Unrecognized token 'nojson'")


def test_a_plan_that_cannot_be_read(tools: KafkaTools):
    assert error(tools.run(f"{EXECUTE} --reassignment-json-file /nothing/there")) == (
        "Unable to read file /nothing/there"
    )


def test_verifying_an_unknown_partition_finds_no_replicas(created: str, plan: PlanFile):
    plan.write({(created, 7): [1, 2]})
    assert plan.succeed(VERIFY) == [
        "Status of partition reassignment:",
        f"There is no active reassignment of partition {created}-7, "
        "but replica set is  rather than 1,2.",
        "",
        "Clearing broker-level throttles on brokers 1,2,3",
        f"Clearing topic-level throttles on topic {created}",
    ]


@pytest.mark.parametrize("action", [VERIFY, CANCEL])
def test_throttles_of_an_unknown_topic_cannot_be_cleared(plan: PlanFile, topic: str, action: str):
    plan.write({(topic, 0): [1, 2]})
    assert error(plan.run(action)) == (
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
        f"The topic '{topic}' does not exist."
    )


def test_the_order_of_replicas_counts(created: str, plan: PlanFile):
    plan.write({(created, 1): [2, 3], (created, 0): [2, 1]})
    assert plan.succeed(VERIFY)[:3] == [
        "Status of partition reassignment:",
        f"There is no active reassignment of partition {created}-0, "
        "but replica set is 1,2 rather than 2,1.",
        f"Reassignment of partition {created}-1 is completed.",
    ]


def test_there_is_nothing_to_cancel(tools: KafkaTools, created: str, plan: PlanFile):
    plan.write({(created, 0): [1, 2]})
    assert plan.run(CANCEL) == Printed(
        0,
        "None of the specified partition reassignments are active.\n"
        "None of the specified partition moves are active."
        "Clearing broker-level throttles on brokers 1,2,3\n"
        f"Clearing topic-level throttles on topic {created}\n",
    )
    assert plan.succeed(f"{CANCEL} --preserve-throttles") == [
        "None of the specified partition reassignments are active.",
        "None of the specified partition moves are active.",
    ]
    assert tools.run("kafka-reassign-partitions --list") == Printed(
        0, "No partition reassignments found.\n"
    )
