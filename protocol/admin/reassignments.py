"""Reassignments: how to order, cancel and list them, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.admin.outcomes import Outcome, PartitionOutcomes
from protocol.admin.partitions import numbers_by_topic
from protocol.ids import TopicPartition
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
    ReassignablePartition,
    ReassignableTopic,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentView:
    """One reassignment under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    """The targets first, then those that go."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def tp(self) -> TopicPartition:
        """The partition's topic and number."""
        return TopicPartition(self.topic, self.partition)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas when it is done."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)


def reassign_request(
    targets: Mapping[TopicPartition, Sequence[int] | None], *, timeout_ms: int
) -> AlterPartitionReassignmentsRequest:
    """Give partitions other replicas, preferred leader first; None cancels a reassignment."""
    by_topic: dict[str, list[ReassignablePartition]] = {}
    for (topic, number), replicas in targets.items():
        wanted = ReassignablePartition(
            partition_index=number, replicas=None if replicas is None else list(replicas)
        )
        by_topic.setdefault(topic, []).append(wanted)
    return AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        topics=[ReassignableTopic(name=name, partitions=each) for name, each in by_topic.items()],
    )


def reassign_outcomes(answer: AlterPartitionReassignmentsResponse) -> PartitionOutcomes:
    """Return what became of the order."""
    return PartitionOutcomes(
        whole=Outcome.of(answer),
        parts={
            TopicPartition(topic.name, each.partition_index): Outcome.of(each)
            for topic in answer.responses
            for each in topic.partitions
        },
    )


def list_reassignments_request(
    partitions: Sequence[TopicPartition] | None = None, *, timeout_ms: int = 60_000
) -> ListPartitionReassignmentsRequest:
    """Ask for reassignments under way: of some partitions, or all of the cluster."""
    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in numbers_by_topic(partitions).items()
        ]
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics)


def reassignment_views(answer: ListPartitionReassignmentsResponse) -> list[ReassignmentView]:
    """Return what is under way; whether the answer is an error is for the caller to check."""
    return [
        ReassignmentView(
            topic=topic.name,
            partition=each.partition_index,
            replicas=tuple(each.replicas),
            adding=tuple(each.adding_replicas),
            removing=tuple(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    ]
