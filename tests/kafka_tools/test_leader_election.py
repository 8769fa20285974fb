"""kafka-leader-election: one partition, a file, all; what was done, not needed, impossible."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.deadlines import DEADLINE_MS
from tests.integration.labs import Lab, produce_with_confluent
from tests.kafka_tools.faults import bring_back, offline, take_offline
from tests.kafka_tools.tools import KafkaTools, Printed


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    lab.create(topic, partitions=2)
    return topic


@pytest.mark.parametrize("kind", ["preferred", "UNCLEAN"])
def test_a_partition_that_is_led_well_needs_no_election(tools: KafkaTools, created: str, kind: str):
    command = f"kafka-leader-election --election-type {kind} --topic {created} --partition 0"
    assert tools.run(command) == Printed(
        0, f"Valid replica already elected for partitions {created}-0\n"
    )


def test_partitions_come_from_a_file(tools: KafkaTools, created: str, tmp_path: Path):
    file = tmp_path / "partitions.json"
    named = [{"topic": created, "partition": number} for number in (0, 1)]
    file.write_text(json.dumps({"partitions": named}))
    printed = tools.run(
        "kafka-leader-election --election-type preferred --path-to-json-file", str(file)
    )
    assert printed.code == 0
    heading = "Valid replica already elected for partitions "
    assert printed.out.startswith(heading)
    assert sorted(printed.out.removeprefix(heading).strip().split(", ")) == [
        f"{created}-0",
        f"{created}-1",
    ]


def await_all_in_sync(lab: Lab) -> None:
    """Wait until all partitions may be elected, those that other tests left included."""
    lab.cluster.wait_until(
        lambda admin: all(
            len(each.isr) == len(each.replicas)
            for broker in lab.running_brokers()
            for each in admin.view(broker).partitions
        ),
        "every replica of the cluster is in its Isr",
        DEADLINE_MS,
    )


def test_leadership_goes_back_to_the_preferred_replica(tools: KafkaTools, lab: Lab, created: str):
    preferred = lab.partition(created).leader
    lab.cluster.restart_broker(preferred)
    await_all_in_sync(lab)
    assert lab.partition(created).leader != preferred

    printed = tools.run("kafka-leader-election --election-type preferred --all-topic-partitions")

    heading = "Successfully completed leader election (PREFERRED) for partitions "
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith(heading)
    assert f"{created}-0" in printed.out.removeprefix(heading).strip().split(", ")
    assert lab.partition(created).leader == preferred


def test_of_all_partitions_only_those_that_changed_are_told(tools: KafkaTools, lab: Lab):
    await_all_in_sync(lab)
    command = "kafka-leader-election --election-type preferred --all-topic-partitions"
    assert tools.run(command).code == 0, "whatever other tests left"
    assert tools.run(command) == Printed(0, "")


def test_a_partition_that_is_not_there_cannot_be_elected(tools: KafkaTools, topic: str):
    command = f"kafka-leader-election --election-type preferred --topic {topic} --partition 0"
    printed = tools.run(command)
    assert (printed.code, printed.out) == (
        1,
        f"Error completing leader election (PREFERRED) for partition: {topic}-0: "
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
        "The partition does not exist.\n",
    )
    assert printed.err.startswith("1 replica(s) could not be elected\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Replica election data is empty"),
        ("{}", 'Replica election data is missing "partitions" field'),
        (
            json.dumps({"partitions": [{"topic": "a", "partition": 1}] * 2}),
            "Replica election data contains duplicate partitions: [a-1]",
        ),
    ],
    ids=["empty", "no partitions", "twice"],
)
def test_a_file_without_sense_is_refused(
    tools: KafkaTools, tmp_path: Path, text: str, message: str
):
    file = tmp_path / "partitions.json"
    file.write_text(text)
    printed = tools.run(
        "kafka-leader-election --election-type preferred --path-to-json-file", str(file)
    )
    assert printed.code == 1
    assert message in printed.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--election-type foo --topic a --partition 0",
            "Cannot parse argument 'foo' of option election-type",
        ),
        ("--topic a --partition 0", "Missing required option(s): election-type"),
        (
            "--election-type preferred",
            "One and only one of the following options is required: topic, all-topic-partitions, "
            "path-to-json-file",
        ),
        (
            "--election-type preferred --topic a --partition 0 --all-topic-partitions",
            "One and only one of the following options is required: topic, all-topic-partitions, "
            "path-to-json-file",
        ),
        ("--election-type preferred --topic a", "Missing required option(s): partition"),
        (
            "--election-type preferred --path-to-json-file /nothing/there",
            "java.io.IOException: Unable to read file /nothing/there",
        ),
    ],
)
def test_arguments_without_sense_are_refused(tools: KafkaTools, options: str, message: str):
    printed = tools.run(f"kafka-leader-election {options}")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith(message)


def failed(kind: str, partition: str, error: str) -> str:
    return (
        f"Error completing leader election ({kind}) for partition: {partition}: "
        f"org.apache.kafka.common.errors.{error}"
    )


def test_a_preferred_replica_on_an_offline_log_dir_is_not_elected(
    tools: KafkaTools, lab: Lab, topic: str
):
    lab.create(topic, assignment={0: [1, 2]}, configs={"min.insync.replicas": "1"})
    elect = f"kafka-leader-election --election-type preferred --topic {topic} --partition 0"
    with offline(lab, 1, topic):
        printed = tools.run(elect)
        assert printed.code == 1
        assert printed.out.startswith(
            failed("PREFERRED", f"{topic}-0", "PreferredLeaderNotAvailableException: ")
        )
        assert printed.err.startswith("1 replica(s) could not be elected\n")
        assert lab.partition(topic).leader == 2
    done = f"Successfully completed leader election (PREFERRED) for partitions {topic}-0\n"
    assert tools.run(elect) == Printed(0, done)


def test_only_an_unclean_election_makes_a_replica_lead_that_was_behind(
    tools: KafkaTools, lab: Lab, topic: str
):
    lab.create(topic, assignment={0: [1, 2]}, configs={"min.insync.replicas": "1"})
    elect = f"kafka-leader-election --topic {topic} --partition 0 --election-type"
    second = take_offline(lab, 2, topic)
    produce_with_confluent(lab, topic, [b"lost"])
    first = take_offline(lab, 1, topic)
    assert tools.run(f"{elect} unclean").out.startswith(
        failed("UNCLEAN", f"{topic}-0", "EligibleLeadersNotAvailableException: ")
    )

    bring_back(lab, 2, topic, second)
    assert lab.partition(topic).leader == -1
    assert tools.run(f"{elect} preferred").out.startswith(
        failed("PREFERRED", f"{topic}-0", "PreferredLeaderNotAvailableException: ")
    )
    done = f"Successfully completed leader election (UNCLEAN) for partitions {topic}-0\n"
    assert tools.run(f"{elect} unclean") == Printed(0, done)
    assert lab.partition(topic).leader == 2

    bring_back(lab, 1, topic, first)
    lab.wait_for_full_isr(topic)
    lost = tools.run(f"kafka-get-offsets --topic {topic}")
    assert lost == Printed(0, f"{topic}:0:0\n")
