"""Partitions grouped as requests want them, and what is answered for each."""

from __future__ import annotations

from protocol.admin.partitions import numbers_by_topic
from protocol.ids import TopicPartition


def test_partitions_are_grouped_by_topic_in_their_order() -> None:
    a, b, c = TopicPartition("y", 1), TopicPartition("x", 0), TopicPartition("y", 0)
    assert numbers_by_topic([a, b, c]) == {"y": [1, 0], "x": [0]}
