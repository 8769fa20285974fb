"""Topics: how to order that they are created, grown or deleted, and what is answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol.admin.outcomes import Outcome
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

DELETE_BY_NAME_VERSION_MAX: Final = 5
"""Of DeleteTopics. From 6 on a topic is named in another field, which also takes ids (KIP-516)."""
_BROKER_S_CHOICE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to be created. Source: NewTopic.java."""

    name: str
    partitions: int | None = None
    """None: as many as the cluster makes by default; so with the replication factor."""
    replication_factor: int | None = None
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """Brokers by partition, preferred leader first, in place of both counts."""
    configs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """What a topic is to grow to. Source: NewPartitions.java."""

    count: int
    """Of all its partitions then."""
    assignment: Sequence[Sequence[int]] | None = None
    """Brokers of each new partition; None for the cluster to choose."""


def create_topics_request(topics: Iterable[NewTopic], *, timeout_ms: int) -> CreateTopicsRequest:
    """Create topics; counts that are left to the cluster take version 4 (KIP-464)."""
    return CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics], timeout_ms=timeout_ms, validate_only=False
    )


def create_partitions_request(
    topics: Mapping[str, NewPartitions], *, timeout_ms: int
) -> CreatePartitionsRequest:
    """Give topics, by name, more partitions."""
    return CreatePartitionsRequest(
        topics=[_grown(name, wanted) for name, wanted in topics.items()],
        timeout_ms=timeout_ms,
        validate_only=False,
    )


def delete_topics_request(names: Sequence[str], *, timeout_ms: int) -> DeleteTopicsRequest:
    """Delete topics and their records; send it in ``DELETE_BY_NAME_VERSION_MAX`` at most."""
    return DeleteTopicsRequest(topics=[], topic_names=list(names), timeout_ms=timeout_ms)


def topic_outcomes(
    answer: CreateTopicsResponse | CreatePartitionsResponse | DeleteTopicsResponse,
) -> list[Outcome]:
    """Return what became of each topic, in the order of the answer."""
    match answer:
        case CreateTopicsResponse():
            results = answer.topics
        case CreatePartitionsResponse():
            results = answer.results
        case DeleteTopicsResponse():
            results = answer.responses
    return [Outcome.of(each) for each in results]


def _creatable(topic: NewTopic) -> CreatableTopic:
    partitions, replication_factor = topic.partitions, topic.replication_factor
    if topic.assignment:
        partitions = replication_factor = None
    return CreatableTopic(
        name=topic.name,
        num_partitions=_BROKER_S_CHOICE if partitions is None else partitions,
        replication_factor=_BROKER_S_CHOICE if replication_factor is None else replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
            for number, brokers in topic.assignment.items()
        ],
        configs=[
            CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()
        ],
    )


def _grown(name: str, wanted: NewPartitions) -> CreatePartitionsTopic:
    assignments = None
    if wanted.assignment is not None:
        assignments = [
            CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in wanted.assignment
        ]
    return CreatePartitionsTopic(name=name, count=wanted.count, assignments=assignments)
