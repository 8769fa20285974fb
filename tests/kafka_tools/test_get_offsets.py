"""kafka-get-offsets: the ends of partitions, by time and by special timestamp."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from tests.integration.labs import DEADLINE_MS, Lab
from tests.kafka_tools.tools import KafkaTools, Printed


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
    ],
)
def test_offsets_are_found(tools: KafkaTools, lab: Lab, topic: str, options: str, offset: int):
    lab.create(topic)
    producer = Producer({"bootstrap.servers": tools.bootstrap})
    for at_ms in range(1_000, 1_005):
        producer.produce(topic, b"v", timestamp=at_ms)
        assert producer.flush(DEADLINE_MS / 1000) == 0, "one batch per record"
    command = f"kafka-get-offsets --topic {topic} {options}"
    assert tools.run(command) == Printed(0, f"{topic}:0:{offset}\n")


def test_partitions_are_chosen(tools: KafkaTools, lab: Lab, topic: str):
    lab.create(topic, partitions=3)
    command = f"kafka-get-offsets --topic-partitions {topic}:0,{topic}:2"
    assert tools.run(command) == Printed(0, f"{topic}:0:0\n{topic}:2:0\n")


def test_a_topic_that_is_not_there_is_missed(tools: KafkaTools, topic: str):
    printed = tools.run(f"kafka-get-offsets --topic {topic}")
    assert printed.code == 1
    assert "Could not match any topic-partitions with the specified filters" in printed.err
