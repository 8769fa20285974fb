"""Groups of consumers: no partition has two owners, and no answered commit is forgotten.

A generation's number comes again only when a group was forgotten: nobody in it and no offsets for
``offsets.retention.check.interval.ms``, longer than runs last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.history import Assignment, Commit, Function, Kind, Operation, Poll, Txn

NAME: Final = "groups"


@dataclass(slots=True)
class _Groups:
    """What was told so far."""

    owners: dict[tuple[str, int, TopicPartition], str] = field(
        default_factory=dict[tuple[str, int, TopicPartition], str]
    )
    """Who owns a partition in a generation of a group."""
    committed: dict[tuple[str, TopicPartition], int] = field(
        default_factory=dict[tuple[str, TopicPartition], int]
    )
    """The highest offset that a group was told to be committed."""
    goes_on_from: dict[tuple[str, TopicPartition], int] = field(
        default_factory=dict[tuple[str, TopicPartition], int]
    )
    """What was committed when a client was assigned a partition that it has not read since."""


def check_groups(evidence: Evidence) -> list[Violation]:
    """Look at all members' assignments, commits and first reads, in their order."""
    forgiven = evidence.forgiven
    if any(tp.topic == CONSUMER_OFFSETS for tp in forgiven):
        return []  # What groups were told may be lost.
    deletions = deletions_of(evidence)
    groups = _Groups()
    found: list[Violation] = []
    for operation in evidence.history:
        if operation.kind is not Kind.OK:
            continue
        match operation.value:
            case Assignment() as assigned:
                found += _owners(groups, operation, assigned)
            case Commit() as commit if operation.function is Function.COMMIT:
                for tp, offset in commit.offsets:
                    key = (commit.group, tp)
                    groups.committed[key] = max(offset, groups.committed.get(key, 0))
            case Txn() as txn if txn.group:
                for read in txn.reads:
                    key = (txn.group, read.tp)
                    behind = read.records[-1][0] + 1
                    groups.committed[key] = max(behind, groups.committed.get(key, 0))
            case Poll() as poll:
                may_go_back = [
                    read.tp
                    for read in poll.reads
                    if read.tp in forgiven or deletions.took_topic(read.tp.topic, 0)
                ]
                found += _first_reads(groups, operation, poll, may_go_back)
            case _:
                pass
    return found


def _owners(groups: _Groups, operation: Operation, assigned: Assignment) -> Iterator[Violation]:
    client = operation.client
    for tp in assigned.partitions:
        key = (assigned.group, assigned.generation, tp)
        owner = groups.owners.setdefault(key, client)
        if owner != client:
            text = (
                f"{tp} has two owners in generation {assigned.generation} of group "
                f"{assigned.group}: {owner} and {client}"
            )
            yield Violation(NAME, operation.at_us, text)
        groups.goes_on_from[client, tp] = groups.committed.get((assigned.group, tp), 0)


def _first_reads(
    groups: _Groups, operation: Operation, poll: Poll, may_go_back: list[TopicPartition]
) -> Iterator[Violation]:
    for read in poll.reads:
        if not read.records:
            continue
        committed = groups.goes_on_from.pop((operation.client, read.tp), 0)
        first = read.records[0][0]
        if first < committed and read.tp not in may_go_back:
            text = (
                f"{operation.client} reads {read.tp} from offset {first}, after it was answered "
                f"that its group had committed {committed}"
            )
            yield Violation(NAME, operation.at_us, text)
