"""Groups of consumers: no partition has two owners, and no answered commit is forgotten.

Nor is one taken under a generation that is over. Members hear of a rebalance while another one
waits for it. By the consumer protocol a partition goes to a member when the one before has given it
back (KIP-848), which it is told in an earlier generation.

A generation's number comes again only when a group was forgotten: nobody in it and no offsets when
its coordinator looks, every ``offsets.retention.check.interval.ms``. By the consumer protocol that
shows: who asks after a generation was told is told an earlier one. Whoever had asked before that
was heard may be told of either group. By the classic one nobody knows when a member had asked; but
members tell when they have left, and a group that all have left is forgotten at the next look.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from protocol.faults.model import DISK_MODE_NAMES
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.history import (
    NO_GENERATION,
    Assignment,
    Commit,
    Function,
    Kind,
    Operation,
    Poll,
    Txn,
)
from simulation.core.samples import Samples

NAME: Final = "groups"
_LOOKS: Final = "offsets.retention.check.interval.ms"
_LOOKS_MS: Final = "600000"
"""Kafka's default."""


@dataclass(slots=True)
class _GroupLife:
    """A group until it is forgotten."""

    began_us: int = 0
    """When that was heard; before, it may have been the one that is forgotten. -1: it was not."""
    first: tuple[str, int] | None = None
    """Who heard that, and when it had asked."""
    told: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """When which generation was told, where it was the latest."""
    members: set[str] = field(default_factory=set[str])
    """Who was told of it, and has not left."""
    left_us: int = 0
    """When the last of those left that did."""

    def has(self, client: str, assigned: Assignment) -> bool:
        """Whether what a client was told is surely of this group, and not of the one before."""
        asked_us = assigned.asked_us
        return self.first is None or asked_us >= self.began_us or (client, asked_us) == self.first

    def shows_its_end(self, assigned: Assignment, at_us: int, looks_us: int) -> bool:
        """Whether a later generation was told before that was asked for, and a look was between.

        Or nobody was left in it, and a generation is told that should be behind it.
        """
        if assigned.asked_us < 0 and self.told and not self.members:
            return at_us - self.left_us >= looks_us and assigned.generation <= self.told[-1][1]
        return any(
            told_us < assigned.asked_us
            and at_us - told_us >= looks_us
            and assigned.generation < generation
            for told_us, generation in self.told
        )


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
    assigned: dict[tuple[str, str], Assignment] = field(
        default_factory=dict[tuple[str, str], Assignment]
    )
    """What the members of a group by the consumer protocol were told last, by group and client."""
    taken: dict[tuple[str, TopicPartition], Operation] = field(
        default_factory=dict[tuple[str, TopicPartition], Operation]
    )
    """When one of those was first told that a partition is its own, which another one had."""
    lives: defaultdict[str, _GroupLife] = field(default_factory=lambda: defaultdict(_GroupLife))

    def is_forgotten(self, operation: Operation, assigned: Assignment, looks_us: int) -> bool:
        """Whether that is told of a group that is new, and nobody had committed to the old one."""
        return self.lives[assigned.group].shows_its_end(
            assigned, operation.at_us, looks_us
        ) and all(group != assigned.group for group, _ in self.committed)

    def left(self, operation: Operation, left: Assignment) -> None:
        """Hear that a member has left its group."""
        life = self.lives[left.group]
        life.members.discard(operation.client)
        life.left_us = operation.at_us

    def forget(self, operation: Operation, assigned: Assignment) -> None:
        """Begin anew with a group: what was told of its generations is of no more use."""
        group, asked_us = assigned.group, assigned.asked_us
        # By the classic protocol all had left it: nobody is told of it any more.
        began_us = -1 if asked_us < 0 else operation.at_us
        self.lives[group] = _GroupLife(began_us, (operation.client, asked_us))
        self.owners = {key: owner for key, owner in self.owners.items() if key[0] != group}
        self.assigned = {key: told for key, told in self.assigned.items() if key[0] != group}
        self.taken = {key: told for key, told in self.taken.items() if key[0] != group}


def check_groups(evidence: Evidence) -> list[Violation]:
    """Look at what members were told, and at their commits and first reads, in their order."""
    return [*_unheard(evidence.samples), *_told(evidence)]


def _unheard(samples: Samples) -> Iterator[Violation]:
    """Find rebalances of which a member did not hear that asked, though nothing was in its way."""
    for each in samples.unheard:
        is_disturbed = any(
            fault.begin_us <= each.at_us and (fault.end_us is None or each.since_us <= fault.end_us)
            for fault in samples.faults
            if fault.what not in DISK_MODE_NAMES
        )
        if not is_disturbed:
            text = (
                f"{each.member} was told twice that nothing is new in group {each.group}, and "
                f"{each.waits} has waited to join it since {samples.told_time(each.since_us)}"
            )
            yield Violation(NAME, each.at_us, text)


def _told(evidence: Evidence) -> list[Violation]:
    forgiven = evidence.forgiven
    if any(tp.topic == CONSUMER_OFFSETS for tp in forgiven):
        return []  # What groups were told may be lost.
    deletions = deletions_of(evidence)
    groups = _Groups()
    looks_us = 1_000 * int(evidence.configs.get(_LOOKS, _LOOKS_MS))
    found: list[Violation] = []
    for operation in evidence.history:
        if operation.kind is not Kind.OK:
            continue
        match operation.value:
            case Assignment() as assigned:
                found += _assigned(groups, operation, assigned, looks_us)
            case Commit() as commit if operation.function is Function.COMMIT:
                found += _committed(groups, operation, commit)
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


def _assigned(
    groups: _Groups, operation: Operation, assigned: Assignment, looks_us: int
) -> Iterator[Violation]:
    if assigned.generation == NO_GENERATION and not assigned.partitions:
        groups.left(operation, assigned)
        return
    if groups.is_forgotten(operation, assigned, looks_us):
        groups.forget(operation, assigned)
    yield from _owners(groups, operation, assigned)
    yield from _given_back(groups, operation, assigned)


def _owners(groups: _Groups, operation: Operation, assigned: Assignment) -> Iterator[Violation]:
    client = operation.client
    life = groups.lives[assigned.group]
    life.members.add(client)
    if all(assigned.generation > generation for _, generation in life.told):
        life.told.append((operation.at_us, assigned.generation))
    for tp in assigned.partitions:
        key = (assigned.group, assigned.generation, tp)
        owner = groups.owners.setdefault(key, client) if life.has(client, assigned) else client
        if owner != client:
            text = (
                f"{tp} has two owners in generation {assigned.generation} of group "
                f"{assigned.group}: {owner} and {client}"
            )
            yield Violation(NAME, operation.at_us, text)
        if tp not in assigned.placed:
            groups.goes_on_from[client, tp] = groups.committed.get((assigned.group, tp), 0)


def _committed(groups: _Groups, operation: Operation, commit: Commit) -> Iterator[Violation]:
    for tp, offset in commit.offsets:
        key = (commit.group, tp)
        groups.committed[key] = max(offset, groups.committed.get(key, 0))
        if commit.is_late:
            text = (
                f"{operation.client} committed {tp} for group {commit.group} under a generation "
                f"that was over for it"
            )
            yield Violation(NAME, operation.at_us, text)


def _given_back(groups: _Groups, operation: Operation, assigned: Assignment) -> Iterator[Violation]:
    """Find members that are asked to give back what another one has in a later generation.

    When it asked it was a member, of an earlier generation, so that nobody had taken its partitions
    from it; and the other one had been told by then.
    """
    group, client = assigned.group, operation.client
    if assigned.asked_us < 0 or not groups.lives[group].has(client, assigned):
        return
    before = groups.assigned.get((group, client))
    for tp in before.partitions if before else ():
        taken = groups.taken.get((group, tp))
        if tp in assigned.partitions or taken is None or taken.client == client:
            continue
        owned = taken.value
        assert isinstance(owned, Assignment)
        if taken.at_us < assigned.asked_us and assigned.generation < owned.generation:
            text = (
                f"{taken.client} was assigned {tp} in generation {owned.generation} of group "
                f"{group}, and {client} had to give it back later, in generation "
                f"{assigned.generation}"
            )
            yield Violation(NAME, operation.at_us, text)
    for tp in assigned.partitions:
        if before is None or tp not in before.partitions:
            groups.taken[group, tp] = operation
    groups.assigned[group, client] = assigned


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
