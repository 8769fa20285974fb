"""Descriptions of topics, line by line."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from jbodlab.kafka_tools.core.options import read_words
from jbodlab.kafka_tools.core.topic_report import Described, lines_of, topic_document
from jbodlab.kafka_tools.core.topic_words import OPTIONS
from protocol.admin.cluster import TopicView
from protocol.admin.configs import ConfigView
from protocol.configs.types import ConfigSource
from protocol.ids import ZERO_UUID, TopicPartition
from tests.protocol.admin.views import partition, reassignment

T0 = TopicPartition("t", 0)
TOPIC = TopicView(
    name="t",
    topic_id=bytes(range(16)),
    is_internal=False,
    partitions=(
        partition("t", 0, leader=1, replicas=(1, 2, 3), isr=(2, 1)),
        partition("t", 1, leader=-1, replicas=(2,), isr=(2,), elr=((), (2,))),
        partition("t", 2, leader=9, replicas=(9, 1), isr=(9,)),
    ),
)


def entry(name: str, value: str, source: ConfigSource) -> ConfigView:
    return ConfigView(name=name, value=value, source=source, is_sensitive=False, synonyms=())


MIN_ISR = entry("min.insync.replicas", "1", ConfigSource.STATIC_BROKER_CONFIG)
DESCRIBED = Described(
    topic=TOPIC,
    configs=[
        MIN_ISR,
        entry("retention.ms", "9", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        entry("segment.bytes", "7", ConfigSource.DEFAULT_CONFIG),
    ],
    reassignments={
        TopicPartition("t", 0): reassignment(
            TopicPartition("t", 0), replicas=(1, 2, 3), adding=(3,), removing=()
        )
    },
    live_brokers=[1, 2, 3],
)
HEADER = (
    "Topic: t\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 3\tReplicationFactor: 2\t"
    "Configs: min.insync.replicas=1,retention.ms=9"
)


def lines(described: Described, options: str = "") -> list[str]:
    return list(lines_of(described, read_words(shlex.split(options), OPTIONS)))


def test_a_topic_is_described_with_what_moves():
    assert lines(DESCRIBED) == [
        HEADER,
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 2,1\tAdding Replicas: 3\t"
        "Removing Replicas: \tElr: N/A\tLastKnownElr: N/A",
        "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2\tIsr: 2\tElr: \tLastKnownElr: 2",
        "\tTopic: t\tPartition: 2\tLeader: 9\tReplicas: 9,1\tIsr: 9\tElr: N/A\tLastKnownElr: N/A",
    ]
    assert lines(replace(DESCRIBED, topic=replace(TOPIC, topic_id=ZERO_UUID)))[0].startswith(
        "Topic: t\tPartitionCount: 3\t"
    )


@pytest.mark.parametrize(
    ("report", "min_isr", "partitions"),
    [
        # What is being added is not missing yet.
        ("--under-replicated-partitions", "1", [2]),
        ("--unavailable-partitions", "1", [1, 2]),
        ("--under-min-isr-partitions", "2", [1, 2]),
        ("--at-min-isr-partitions", "2", [0]),
        ("--at-min-isr-partitions --unavailable-partitions", "2", [0, 1, 2]),
    ],
)
def test_a_report_shows_only_the_partitions_it_is_about(
    report: str, min_isr: str, partitions: list[int]
):
    described = replace(DESCRIBED, configs=[replace(MIN_ISR, value=min_isr)])
    numbers = [
        int(line.split("\t")[2].removeprefix("Partition: ")) for line in lines(described, report)
    ]
    assert numbers == partitions


def test_topics_with_settings_are_shown_without_their_partitions():
    assert lines(DESCRIBED, "--topics-with-overrides") == [HEADER]
    assert lines(replace(DESCRIBED, configs=[]), "--topics-with-overrides") == []


def test_programs_get_the_same():
    found = topic_document(DESCRIBED, read_words(["--unavailable-partitions"], OPTIONS))
    assert found["configs"] == {"min.insync.replicas": "1", "retention.ms": "9"}
    assert found["partitions"] == [
        {"partition": 1, "leader": None, "replicas": [2], "isr": [2]},
        {"partition": 2, "leader": 9, "replicas": [9, 1], "isr": [9]},
    ]
