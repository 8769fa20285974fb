"""Partitions as requests, answers and records name them: topic by topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition


def numbers_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group the numbers of partitions by topic, in the order in which they come."""
    grouped: dict[str, list[int]] = {}
    for topic, number in partitions:
        grouped.setdefault(topic, []).append(number)
    return grouped


class AnsweredPartition(Protocol):
    """What answers say of one partition."""

    @property
    def partition_index(self) -> int:
        """Its number."""
        ...

    @property
    def error_code(self) -> int:
        """Kafka's number."""
        ...


class AnsweredTopic(Protocol):
    """What answers say of one topic."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def partitions(self) -> Iterable[AnsweredPartition]:
        """Those that were asked about."""
        ...


def errors_by_partition(topics: Iterable[AnsweredTopic]) -> dict[TopicPartition, ErrorCode]:
    """Return the error of each partition, NONE where what was asked for is done."""
    return {
        TopicPartition(topic.name, each.partition_index): ErrorCode(each.error_code)
        for topic in topics
        for each in topic.partitions
    }
