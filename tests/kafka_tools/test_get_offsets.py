"""kafka-get-offsets: the ends of partitions, by time and by special timestamp."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from tests.integration.labs import DEADLINE_MS, KEPT, Lab
from tests.kafka_tools.tools import KafkaTools, Printed

FAILED = "Error occurred: "


@pytest.mark.parametrize(
    ("options", "offset"),
    [
        ("", 5),
        ("--time latest", 5),
        ("--time -1", 5),
        ("--time earliest", 0),
        ("--time -2", 0),
        ("--time 1000", 0),
        ("--time 1002", 2),
        ("--time max-timestamp", 4),
        ("--time -3", 4),
        ("--time earliest-local", 0),
        ("--time -4", 0),
    ],
)
def test_offsets_are_found(tools: KafkaTools, lab: Lab, topic: str, options: str, offset: int):
    lab.create(topic, configs=KEPT)
    producer = Producer({"bootstrap.servers": tools.bootstrap})
    for at_ms in range(1_000, 1_005):
        producer.produce(topic, b"v", timestamp=at_ms)
        assert producer.flush(DEADLINE_MS / 1000) == 0, "one batch per record"
    command = f"kafka-get-offsets --topic {topic} {options}"
    assert tools.run(command) == Printed(0, f"{topic}:0:{offset}\n")


@pytest.mark.parametrize("time", ["latest-tiered", "-5", "9999999999999"])
def test_where_there_is_no_offset_nothing_is_printed(
    tools: KafkaTools, lab: Lab, topic: str, time: str
):
    lab.create(topic)
    assert tools.run(f"kafka-get-offsets --topic {topic} --time {time}") == Printed(0, "")


def test_nothing_is_pending_where_there_is_no_tiered_storage(
    tools: KafkaTools, lab: Lab, topic: str
):
    lab.create(topic)
    printed = tools.run(f"kafka-get-offsets --topic {topic} --time earliest-pending-upload")
    if tools.release.startswith("3."):
        assert printed.code == 1, "the name came with 4.2"
    else:
        assert printed == Printed(0, "")


@pytest.mark.parametrize(
    ("chosen", "partitions"),
    [
        ("--topic-partitions {}:0,{}:2", (0, 2)),
        ("--topic-partitions {}:1-", (1, 2)),
        ("--topic-partitions {}:-2", (0, 1)),
        ("--topic-partitions {}:1-2,nothing", (1,)),
        ("--topic {} --partitions 2,0,7", (0, 2)),
        ("--topic {} --exclude-internal-topics", (0, 1, 2)),
    ],
)
def test_partitions_are_chosen(
    tools: KafkaTools, lab: Lab, topic: str, chosen: str, partitions: tuple[int, ...]
):
    # The tool takes topics as regular expressions: one topic must not be found by another's.
    topic = f"{topic}-end"
    lab.create(topic, partitions=3)
    expected = "".join(f"{topic}:{number}:0\n" for number in partitions)
    command = f"kafka-get-offsets {chosen.replace('{}', topic)}"
    assert tools.run(command) == Printed(0, expected)


def test_all_topics_are_told(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic)
    printed = tools.run("kafka-get-offsets")
    assert (printed.code, printed.err) == (0, "")
    assert f"{topic}:0:0" in printed.lines


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--topic nothing-here", "Could not match any topic-partitions with the specified filters"),
        ("--time soon", "Malformed time argument soon. Please use -1 or latest / -2 or earliest"),
        (
            "--partitions x",
            "--partitions expects a comma separated list of numeric partition ids, but received: x",
        ),
        (
            "--topic a --topic-partitions a:0",
            "--topic-partitions cannot be used with --topic or --partitions",
        ),
        (
            "--topic-partitions x:y:z",
            "org.apache.kafka.tools.TerseException: Invalid rule specification: x:y:z",
        ),
    ],
    ids=["unknown topic", "time", "partitions", "both", "rule"],
)
def test_what_cannot_be_asked(tools: KafkaTools, options: str, message: str):
    printed = tools.run(f"kafka-get-offsets {options}")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith(f"{FAILED}{message}")
