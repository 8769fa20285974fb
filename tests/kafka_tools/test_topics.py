"""kafka-topics: create, list, describe, alter, delete, and what it says when that fails."""

from __future__ import annotations

import re

import pytest

from tests.integration.labs import Lab
from tests.kafka_tools.faults import offline
from tests.kafka_tools.tools import KafkaTools, Printed

FAILED = "Error while executing topic command : "


def missing(tools: KafkaTools, topic: str) -> str:
    """Return what the tool says; 3.9 shows the wrapper around the name."""
    name = f"Optional[{topic}]" if tools.release.startswith("3.") else topic
    return f"{FAILED}Topic '{name}' does not exist as expected\n"


def failure(printed: Printed) -> tuple[int, str]:
    """Return code and stdout; stderr has the log line of the same exception."""
    return printed.code, printed.out


def test_a_topic_is_created_listed_described_and_deleted(tools: KafkaTools, topic: str):
    assert tools.run(
        f"kafka-topics --create --topic {topic} --partitions 2 --replication-factor 3 "
        "--config retention.ms=9 --config segment.bytes=2000000"
    ) == Printed(0, f"Created topic {topic}.\n")
    assert topic in tools.run("kafka-topics --list").lines

    described = tools.run(f"kafka-topics --describe --topic {topic}")
    header, *partitions = described.lines
    assert re.fullmatch(
        rf"Topic: {topic}\tTopicId: [\w-]{{22}}\tPartitionCount: 2\tReplicationFactor: 3\t"
        "Configs: (?=.*retention.ms=9)(?=.*segment.bytes=2000000).*",
        header,
    )
    assert len(partitions) == 2
    for number, line in enumerate(partitions):
        assert re.fullmatch(
            rf"\tTopic: {topic}\tPartition: {number}\tLeader: \d\tReplicas: (\d,\d,\d)\tIsr: \1"
            r"\tElr: (N/A)?\tLastKnownElr: (N/A)?",
            line,
        ), line

    assert tools.run(f"kafka-topics --delete --topic {topic}") == Printed(0, "")
    assert topic not in tools.run("kafka-topics --list").lines


def test_replicas_are_placed_by_hand(tools: KafkaTools, topic: str):
    tools.run(f"kafka-topics --create --topic {topic} --replica-assignment 3:1,2:3")
    lines = tools.run(f"kafka-topics --describe --topic {topic}").lines
    assert [re.findall(r"Leader: (\d)\tReplicas: ([\d,]+)", line) for line in lines[1:]] == [
        [("3", "3,1")],
        [("2", "2,3")],
    ]


def test_partitions_are_added(tools: KafkaTools, topic: str):
    tools.run(f"kafka-topics --create --topic {topic} --partitions 1 --replication-factor 1")
    assert tools.run(f"kafka-topics --alter --topic {topic} --partitions 3") == Printed(0, "")
    assert "PartitionCount: 3" in tools.run(f"kafka-topics --describe --topic {topic}").out
    assert failure(tools.run(f"kafka-topics --alter --topic {topic} --partitions 2")) == (
        1,
        f"{FAILED}Topic currently has 3 partitions, which is higher than the requested 2.\n",
    )


def test_names_that_metrics_would_mix_up_are_warned_of(tools: KafkaTools, topic: str):
    name = f"{topic}.a_b"
    assert tools.run(f"kafka-topics --create --topic {name} --replication-factor 1") == Printed(
        0,
        "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore "
        "('_') could collide. To avoid issues it is best to use either, but not both.\n"
        f"Created topic {name}.\n",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--replication-factor 9",
            "Replication factor: 9 larger than available brokers: 3.",
        ),
        ("--partitions 0", "The partitions must be greater than 0"),
        ("--config foo=1", "Unknown topic config name: foo"),
        (
            "--config retention.ms=x",
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
    ],
    ids=["too many replicas", "no partitions", "unknown config", "bad config"],
)
def test_a_topic_that_cannot_be_is_refused(
    tools: KafkaTools, topic: str, options: str, message: str
):
    printed = tools.run(f"kafka-topics --create --topic {topic} {options}")
    assert printed.code == 1
    assert message in printed.out


def test_a_topic_is_created_once(tools: KafkaTools, topic: str):
    create = f"kafka-topics --create --topic {topic}"
    assert tools.run(create).code == 0
    assert failure(tools.run(create)) == (1, f"{FAILED}Topic '{topic}' already exists.\n")
    assert tools.run(f"{create} --if-not-exists").code == 0


@pytest.mark.parametrize("action", ["--describe", "--delete", "--alter --partitions 2"])
def test_a_topic_that_is_not_there_is_missed(tools: KafkaTools, topic: str, action: str):
    printed = tools.run(f"kafka-topics {action} --topic {topic}")
    assert failure(printed) == (1, missing(tools, topic))
    assert tools.run(f"kafka-topics {action} --topic {topic} --if-exists") == Printed(0, "")


def test_topics_with_settings_of_their_own_are_shown_alone(tools: KafkaTools, topic: str):
    tools.run(f"kafka-topics --create --topic {topic} --config retention.ms=9")
    shown = tools.run("kafka-topics --describe --topics-with-overrides")
    assert any(line.startswith(f"Topic: {topic}\t") for line in shown.lines)
    assert not any(line.startswith("\t") for line in shown.lines)


@pytest.mark.parametrize(
    "report",
    ["--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"],
)
def test_a_cluster_that_is_whole_has_nothing_to_report(
    tools: KafkaTools, lab: Lab, topic: str, report: str
):
    lab.create(topic)
    assert tools.run(f"kafka-topics --describe --topic {topic} {report}") == Printed(0, "")


def test_partitions_at_their_minimum_are_reported(tools: KafkaTools, topic: str):
    tools.run(f"kafka-topics --create --topic {topic} --replication-factor 1")
    (line,) = tools.run(f"kafka-topics --describe --topic {topic} --at-min-isr-partitions").lines
    assert line.startswith(f"\tTopic: {topic}\tPartition: 0\t")


def test_one_action_at_a_time(tools: KafkaTools):
    printed = tools.run("kafka-topics --list --describe")
    assert printed.code == 1
    assert printed.err.startswith(
        "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "Command must include exactly one action: --list, --describe, --create, "),
        ("--create", 'Missing required argument "[topic]"'),
        ("--delete", 'Missing required argument "[topic]"'),
        ("--alter --topic a", 'Missing required argument "[partitions]"'),
        (
            "--create --topic a --partitions 2 --replica-assignment 1,2",
            'Option "[replica-assignment]" can\'t be used with option "[partitions]"',
        ),
        (
            "--create --topic a --if-exists",
            'Option "[if-exists]" can\'t be used with option "[create]"',
        ),
        (
            "--list --under-replicated-partitions",
            'Option "[under-replicated-partitions]" can\'t be used with option "[list]"',
        ),
        ("--alter --topic a --config b=c", 'Option combination "[['),
    ],
)
def test_arguments_that_do_not_go_together(tools: KafkaTools, options: str, message: str):
    printed = tools.run(f"kafka-topics {options}")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith(message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "--replica-assignment 1:2,1:2:3",
            "Partition 1 has different replication factor: [1, 2, 3]",
        ),
        (
            "--replica-assignment 1:1",
            "Partition replica lists may not contain duplicate entries: 1",
        ),
        (
            "--replica-assignment 1:9",
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            "--replication-factor 0",
            "The replication factor must be between 1 and 32767 inclusive",
        ),
        (
            "--config nope",
            "requirement failed: Invalid topic config: all configs to be added must be in the "
            'format "key=val".',
        ),
    ],
)
def test_placements_and_settings_that_cannot_be(
    tools: KafkaTools, topic: str, options: str, message: str
):
    printed = tools.run(f"kafka-topics --create --topic {topic} {options}")
    assert failure(printed) == (1, f"{FAILED}{message}\n")


def test_a_bad_name_is_refused(tools: KafkaTools):
    printed = tools.run("kafka-topics --create --topic 'a b'")
    assert failure(printed) == (
        1,
        f"{FAILED}Topic name is invalid: 'a b' contains one or more characters other than ASCII "
        "alphanumerics, '.', '_' and '-'\n",
    )


def test_added_partitions_are_placed_by_hand(tools: KafkaTools, topic: str):
    tools.run(f"kafka-topics --create --topic {topic} --replica-assignment 1:2")
    alter = f"kafka-topics --alter --topic {topic}"
    assert tools.run(f"{alter} --partitions 2 --replica-assignment 1:2,3:1") == Printed(0, "")
    lines = tools.run(f"kafka-topics --describe --topic {topic}").lines[1:]
    assert [re.findall(r"Replicas: ([\d,]+)", line) for line in lines] == [["1,2"], ["3,1"]]
    printed = tools.run(f"{alter} --partitions 3 --replica-assignment 1:2")
    assert failure(printed) == (
        1,
        f"{FAILED}Increasing the number of partitions by 1 but 0 assignments provided.\n",
    )


def test_topics_are_found_by_expression(tools: KafkaTools, topic: str):
    for name in (f"{topic}-x1", f"{topic}-x2", f"{topic}-y"):
        tools.run(f"kafka-topics --create --topic {name} --replication-factor 1")
    assert sorted(tools.run(f"kafka-topics --list --topic {topic}-x.").lines) == [
        f"{topic}-x1",
        f"{topic}-x2",
    ]
    assert tools.run(f"kafka-topics --delete --topic {topic}-x.") == Printed(0, "")
    assert tools.run(f"kafka-topics --list --topic {topic}-.*").lines == [f"{topic}-y"]


def test_a_topic_is_described_by_its_id(tools: KafkaTools, topic: str):
    tools.run(f"kafka-topics --create --topic {topic} --replication-factor 1")
    by_name = tools.run(f"kafka-topics --describe --topic {topic}")
    topic_id = by_name.out.split("\t")[1].removeprefix("TopicId: ")
    by_id = tools.run(f"kafka-topics --describe --topic-id {topic_id}")
    # The tool asks for names with DescribeTopicPartitions, for ids with Metadata.
    assert re.sub("N/A", "", by_id.out) == by_name.out
    missing_id = "AAAAAAAAAAAAAAAAAAAABA"
    assert failure(tools.run(f"kafka-topics --describe --topic-id {missing_id}")) == (
        1,
        f"{FAILED}TopicId '{missing_id}' does not exist as expected\n",
    )


def test_many_partitions_are_described_in_pages(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic, partitions=7)
    command = f"kafka-topics --describe --topic {topic}"
    paged = tools.run(f"{command} --partition-size-limit-per-response 2")
    assert paged == tools.run(command)
    assert len(paged.lines) == 8


def test_a_broken_log_dir_shows_in_reports(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic, assignment={0: [3, 1]}, configs={"min.insync.replicas": "2"})
    alone = f"{topic}-alone"
    describe = "kafka-topics --describe --topic"

    def reported(name: str, report: str) -> list[str]:
        lines = tools.run(f"{describe} {name} --{report}").lines
        return [line.split("\tElr")[0] for line in lines]

    with offline(lab, 3, topic):
        left = f"\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 3,1\tIsr: 1"
        assert reported(topic, "under-replicated-partitions") == [left]
        assert reported(topic, "under-min-isr-partitions") == [left]
        assert reported(topic, "unavailable-partitions") == []
        assert reported(topic, "at-min-isr-partitions") == []
    lab.create(alone, assignment={0: [3]}, configs={"min.insync.replicas": "1"})
    with offline(lab, 3, alone):
        left = f"\tTopic: {alone}\tPartition: 0\tLeader: none\tReplicas: 3\tIsr: 3"
        assert reported(alone, "unavailable-partitions") == [left]
        assert reported(alone, "under-min-isr-partitions") == [left]
        assert reported(alone, "under-replicated-partitions") == []
