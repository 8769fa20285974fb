"""The JSON files of ``kafka-reassign-partitions``: which replicas go where, which topics to plan.

Says nothing of what the cluster has: no path and no broker is looked up.
Source: ReassignPartitionsCommand.java parsePartitionReassignmentData, formatAsReassignmentJson.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from jbodlab.kafka_tools.core.failures import ToolFailure, command_failed, operation_failed
from jbodlab.kafka_tools.core.json_fields import (
    as_integer,
    as_list,
    as_object,
    as_text,
    duplicates,
    field_of,
    parse,
)
from protocol.ids import TopicPartition

ANY: Final = "any"
"""The log dir that means: wherever the broker likes."""
_VERSION: Final = 1


class ReplicaOn(NamedTuple):
    """One replica of a partition. Sorts by broker, then topic, then partition."""

    broker: int
    partition: TopicPartition

    def __str__(self) -> str:
        return f"{self.partition}-{self.broker}"


Assignment = Mapping[TopicPartition, Sequence[int]]
"""Replicas by partition, the preferred leader first."""


@dataclass(frozen=True, slots=True)
class ProposedReassignment:
    """A file of ``--reassignment-json-file``."""

    partitions: tuple[tuple[TopicPartition, tuple[int, ...]], ...]
    """In the order of the file; a partition may be there twice."""
    log_dirs: Mapping[ReplicaOn, str] = field(default_factory=dict[ReplicaOn, str])
    """Only replicas that are to be in a certain log dir."""

    @property
    def assignment(self) -> dict[TopicPartition, tuple[int, ...]]:
        """The wanted replicas; of a partition that is there twice, the last."""
        return dict(self.partitions)


def parse_plan(text: str) -> ProposedReassignment:
    """Read a file of ``--reassignment-json-file``.

    Raises:
        ToolFailure: it is no JSON, has another version, or other fields than it should.
    """
    try:
        document = as_object(parse(text))
    except ToolFailure as failure:
        raise _wrapped(failure) from failure
    _check_version(document)
    partitions: list[tuple[TopicPartition, tuple[int, ...]]] = []
    log_dirs: dict[ReplicaOn, str] = {}
    for each in as_list(document.get("partitions", [])):
        partition, replicas, dirs = _entry(as_object(each))
        partitions.append((partition, replicas))
        for broker, path in zip(replicas, dirs, strict=True):
            if path != ANY:
                log_dirs[ReplicaOn(broker, partition)] = path
    return ProposedReassignment(tuple(partitions), log_dirs)


def check_plan(plan: ProposedReassignment) -> None:
    """Check that a plan can be carried out.

    Raises:
        ToolFailure: it is empty, or names a partition or a replica twice, or no replica.

    Source: ReassignPartitionsCommand.java parseExecuteAssignmentArgs.
    """
    if not plan.partitions:
        raise command_failed("Partition reassignment list cannot be empty")
    if any(not replicas for _, replicas in plan.partitions):
        raise command_failed("Partition replica list cannot be empty")
    twice = duplicates([partition for partition, _ in plan.partitions])
    if twice:
        raise command_failed(
            "Partition reassignment contains duplicate topic partitions: "
            + ",".join(map(str, twice))
        )
    repeated = [
        f"{partition} contains multiple entries for {','.join(map(str, duplicates(replicas)))}"
        for partition, replicas in plan.partitions
        if duplicates(replicas)
    ]
    if repeated:
        raise command_failed(
            f"Partition replica lists may not contain duplicate entries: {'. '.join(repeated)}"
        )


def parse_topics(text: str) -> list[str]:
    """Read a file of ``--topics-to-move-json-file``.

    Raises:
        ToolFailure: it is no JSON, has another version, or names a topic twice.
    """
    try:
        document = as_object(parse(text))
    except ToolFailure as failure:
        raise operation_failed("The input string is not a valid JSON") from failure
    _check_version(document)
    listed = as_list(document.get("topics", []))
    topics = [as_text(field_of(as_object(each), "topic")) for each in listed]
    twice = duplicates(topics)
    if twice:
        raise command_failed(
            f"List of topics to reassign contains duplicate entries: [{', '.join(twice)}]"
        )
    return topics


def plan_document(assignment: Assignment, log_dirs: Mapping[ReplicaOn, str]) -> dict[str, Any]:
    """Return a document as of ``--reassignment-json-file``, sorted by topic and partition.

    Args:
        assignment: replicas by partition.
        log_dirs: where replicas are; "any" where it does not tell.
    """
    return {
        "version": _VERSION,
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "replicas": list(replicas),
                "log_dirs": [log_dirs.get(ReplicaOn(b, partition), ANY) for b in replicas],
            }
            for partition, replicas in sorted(assignment.items())
        ],
    }


def _check_version(document: dict[str, Any]) -> None:
    version = as_integer(document.get("version", _VERSION))
    if version != _VERSION:
        raise operation_failed(f"Not supported version field value {version}")


def _entry(fields: dict[str, Any]) -> tuple[TopicPartition, tuple[int, ...], list[str]]:
    topic = as_text(field_of(fields, "topic"))
    partition = TopicPartition(topic, as_integer(field_of(fields, "partition")))
    replicas = tuple(map(as_integer, as_list(field_of(fields, "replicas"))))
    if "log_dirs" not in fields:
        return partition, replicas, [ANY] * len(replicas)
    dirs = list(map(as_text, as_list(fields["log_dirs"])))
    if len(dirs) != len(replicas):
        raise command_failed(
            f"Size of replicas list [{', '.join(map(str, replicas))}] is different from size of "
            f"log dirs list [{', '.join(dirs)}] for partition {partition}"
        )
    return partition, replicas, dirs


def _wrapped(failure: ToolFailure) -> ToolFailure:
    """Return a parser's failure as the tool's; what is merely no object stays what it is."""
    if failure.message.startswith("Expected "):
        return failure
    return operation_failed(failure.message, failure)
