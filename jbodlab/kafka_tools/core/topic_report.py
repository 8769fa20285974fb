"""What ``kafka-topics --describe`` writes: which lines, and what is in them.

Source: TopicCommand.java TopicDescription, PartitionDescription, DescribeOptions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.core.topic_words import REPORTS
from protocol.admin.cluster import PartitionView, TopicView
from protocol.admin.configs import ConfigView
from protocol.admin.reassignments import ReassignmentView
from protocol.ids import ZERO_UUID, TopicPartition, uuid_text

_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """All that is known of one topic."""

    topic: TopicView
    configs: Sequence[ConfigView]
    reassignments: Mapping[TopicPartition, ReassignmentView]
    """Of the whole cluster."""
    live_brokers: Collection[int]

    @property
    def overrides(self) -> list[ConfigView]:
        """The settings that somebody made, for the topic or for brokers."""
        return [entry for entry in self.configs if not entry.is_default]

    @property
    def min_isr(self) -> int:
        """How many replicas must be in sync."""
        values = [entry.value for entry in self.configs if entry.name == _MIN_ISR]
        return int(values[0] or 1) if values else 1

    def reassignment(self, partition: PartitionView) -> ReassignmentView | None:
        """Return what is under way for a partition."""
        return self.reassignments.get(partition.tp)

    def replication_factor(self, partition: PartitionView) -> int:
        """Return how many replicas a partition has, without those that are being added."""
        under_way = self.reassignment(partition)
        return len(partition.replicas) - (len(under_way.adding) if under_way else 0)

    def is_reported(self, partition: PartitionView, report: str) -> bool:
        """Whether a partition is one of those that a report is about."""
        match report:
            case "under-replicated-partitions":
                return self.replication_factor(partition) > len(partition.isr)
            case "under-min-isr-partitions":
                return partition.leader < 0 or len(partition.isr) < self.min_isr
            case "at-min-isr-partitions":
                return len(partition.isr) == self.min_isr
            case _:
                return partition.leader not in self.live_brokers


def lines_of(described: Described, words: Words) -> Iterator[str]:
    """Return the lines about one topic.

    Args:
        described: the topic.
        words: the command line, for its reports.
    """
    if words.has("topics-with-overrides"):
        if described.overrides:
            yield _topic_line(described)
        return
    reports = words.given(REPORTS)
    if not reports:
        yield _topic_line(described)
    for partition in reported_partitions(described, reports):
        yield _partition_line(described, partition)


def reported_partitions(described: Described, reports: Sequence[str]) -> list[PartitionView]:
    """Return the partitions that any of some reports is about; all when there is none."""
    return [
        partition
        for partition in described.topic.partitions
        if not reports or any(described.is_reported(partition, report) for report in reports)
    ]


def topic_document(described: Described, words: Words) -> Mapping[str, object]:
    """Return one topic as part of a JSON document."""
    topic = described.topic
    return {
        "topic": topic.name,
        "topic_id": uuid_text(topic.topic_id),
        "configs": {entry.name: entry.value for entry in described.overrides},
        "partitions": [
            {
                "partition": each.partition,
                "leader": each.leader if each.leader >= 0 else None,
                "replicas": list(each.replicas),
                "isr": list(each.isr),
            }
            for each in reported_partitions(described, words.given(REPORTS))
        ],
    }


def _topic_line(described: Described) -> str:
    topic = described.topic
    parts = [f"Topic: {topic.name}"]
    if topic.topic_id != ZERO_UUID:
        parts.append(f"TopicId: {uuid_text(topic.topic_id)}")
    parts.append(f"PartitionCount: {len(topic.partitions)}")
    parts.append(f"ReplicationFactor: {described.replication_factor(topic.partitions[0])}")
    parts.append(
        "Configs: " + ",".join(f"{entry.name}={entry.value}" for entry in described.overrides)
    )
    return "\t".join(parts)


def _partition_line(described: Described, partition: PartitionView) -> str:
    leader = partition.leader if partition.leader >= 0 else "none"
    line = (
        f"\tTopic: {described.topic.name}\tPartition: {partition.partition}\tLeader: {leader}"
        f"\tReplicas: {_ids(partition.replicas)}\tIsr: {_ids(partition.isr)}"
    )
    under_way = described.reassignment(partition)
    if under_way is not None:
        line += f"\tAdding Replicas: {_ids(under_way.adding)}"
        line += f"\tRemoving Replicas: {_ids(under_way.removing)}"
    line += f"\tElr: {_ids_or_unknown(partition.elr)}"
    return line + f"\tLastKnownElr: {_ids_or_unknown(partition.last_known_elr)}"


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _ids_or_unknown(brokers: Sequence[int] | None) -> str:
    return "N/A" if brokers is None else _ids(brokers)
