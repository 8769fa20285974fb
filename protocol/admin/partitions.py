"""Partitions as requests and records name them: topic by topic."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.ids import TopicPartition


def numbers_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group the numbers of partitions by topic, in the order in which they come."""
    grouped: dict[str, list[int]] = {}
    for topic, number in partitions:
        grouped.setdefault(topic, []).append(number)
    return grouped
