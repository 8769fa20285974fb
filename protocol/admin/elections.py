"""Elections on demand: how to ask for them, and what is answered."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from protocol.admin.outcomes import Outcome, PartitionOutcomes
from protocol.admin.partitions import numbers_by_topic
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)


class ElectionType(IntEnum):
    """Which replica may be elected. Source: ElectionType.java."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_request(
    kind: ElectionType, partitions: Sequence[TopicPartition] | None, *, timeout_ms: int
) -> ElectLeadersRequest:
    """Have leaders elected for some partitions, or with None for all that need it."""
    topics = None
    if partitions is not None:
        topics = [
            TopicPartitions(topic=name, partitions=numbers)
            for name, numbers in numbers_by_topic(partitions).items()
        ]
    return ElectLeadersRequest(election_type=kind, topic_partitions=topics, timeout_ms=timeout_ms)


def elect_outcomes(answer: ElectLeadersResponse) -> PartitionOutcomes:
    """Return what became of the elections; brokers leave out partitions that needed none."""
    return PartitionOutcomes(
        whole=Outcome(ErrorCode(answer.error_code)),
        parts={
            TopicPartition(topic.topic, each.partition_id): Outcome.of(each)
            for topic in answer.replica_election_results
            for each in topic.partition_result
        },
    )
