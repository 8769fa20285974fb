"""The groups of one partition of ``__consumer_offsets``: their offsets, and those that are members.

It decides and knows no log: what it returns is appended by whoever runs it (`coordination`).
Source: GroupCoordinator.scala, GroupCoordinatorShard.java.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from broker.core.coordination import (
    Answer,
    Decided,
    Record,
    TransactionProducer,
    Waiter,
    batch_size_bound,
    record_size_bound,
)
from broker.core.groups.assignors.builtin import BUILTIN_ASSIGNORS
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.group_offsets import (
    Committed,
    GroupOffsets,
    offset_records,
    read_offset,
)
from broker.core.groups.membership import Committer, Membership
from broker.core.metadata_image import MetadataImage
from protocol.configs.coordination import CoordinationConfig
from protocol.configs.group import GroupConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.stored_records import GROUP_RECORDS, decode_key

LOOKED_AT_MAX: Final = 2_000
"""Offsets and groups that one look for expired ones goes through."""
_OFFSET_RECORDS: Final = (0, 1)
_MS_OF_A_MINUTE: Final = 60_000
_NOW: Final = -1
_BROKERS_CHOICE: Final = -1


class NewOffset(NamedTuple):
    """An offset to be committed, as a request says."""

    tp: TopicPartition
    offset: int
    leader_epoch: int = -1
    metadata: str | None = None
    commit_ms: int = _NOW
    """By the time of day, where the client says it (version 1); -1: now."""


class Commit(NamedTuple):
    """What one request commits."""

    group_id: str
    committer: Committer
    offsets: Sequence[NewOffset]
    retention_ms: int = _BROKERS_CHOICE
    """What versions 2 to 4 may ask for."""
    producer: TransactionProducer | None = None
    """Whose transaction it is part of."""


class FetchedOffset(NamedTuple):
    """What OffsetFetch says of one partition."""

    tp: TopicPartition
    offset: int = -1
    """-1 where there is none."""
    leader_epoch: int = -1
    metadata: str = ""
    error_code: ErrorCode = ErrorCode.NONE


class GroupShard:
    """A `coordination.Shard`."""

    def __init__(
        self,
        config: CoordinationConfig,
        batch_bytes_max: Callable[[], int],
        metadata: MetadataImage,
        group_config: Callable[[str], GroupConfig] | None = None,
        *,
        empties_stay: bool = False,
    ) -> None:
        """Begin without a group.

        Args:
            config: the broker's.
            batch_bytes_max: ``max.message.bytes`` of the topic.
            metadata: the topics that groups of the consumer protocol read.
            group_config: gives what a group is configured to, now; None: all have the defaults.
            empties_stay: whether a group that lost its last offset is there until the next look
                for expired ones, as from 4.0 on.
        """
        self._config = config
        self._batch_bytes_max = batch_bytes_max
        self._empties_stay = empties_stay
        self.members = GroupMembers(
            config, batch_bytes_max, KnownTopics(metadata), BUILTIN_ASSIGNORS, group_config
        )
        self._membership: Membership = self.members
        self.offsets = GroupOffsets()
        self._look_due_ms: int | None = None
        """When expired offsets are looked for."""
        self._to_look_at: list[str] = []
        """The groups that remain of a look."""

    # What clients ask.

    def commit(self, waiter: Waiter, commit: Commit, now_ms: int, wall_ms: int) -> Decided:
        """Commit offsets; the answer is one error code for each.

        Raises:
            KafkaError: INVALID_COMMIT_OFFSET_SIZE, UNKNOWN_MEMBER_ID, or what
                ``Membership.validate_commit`` says.

        Source: GroupCoordinator.handleCommitOffsets, GroupMetadataManager.storeOffsets.
        """
        group_id = commit.group_id
        tps = [new.tp for new in commit.offsets]
        self._check_generation(group_id, commit.committer)
        self._membership.validate_commit(group_id, commit.committer, tps, now_ms)
        codes: list[ErrorCode] = []
        wanted: dict[TopicPartition, Committed] = {}
        for new in commit.offsets:
            code = self._check(new)
            codes.append(code)
            if code is ErrorCode.NONE:
                wanted[new.tp] = _committed(new, commit.retention_ms, wall_ms)
        records = offset_records(group_id, wanted)
        self._check_size(records)
        producer = commit.producer
        producer_id = NO_PRODUCER_ID if producer is None else producer.producer_id
        self.offsets.put(group_id, wanted, producer_id=producer_id)
        if not wanted:
            self.offsets.note_empty(group_id)
        return Decided(records, (Answer(waiter, codes),), producer=producer)

    def fetch(
        self,
        waiter: Waiter,
        group_id: str,
        tps: Iterable[TopicPartition] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> Decided:
        """Tell offsets of a group, of ``tps`` or all; the answer is a list of ``FetchedOffset``.

        Raises:
            KafkaError: what ``Membership.validate_fetch`` says.

        Source: GroupMetadataManager.getOffsets.
        """
        self._membership.validate_fetch(group_id, member_id, member_epoch)
        committed = self.offsets.committed(group_id)
        found = [
            self._fetched(group_id, tp, committed, require_stable=require_stable)
            for tp in (_by_topic(committed) if tps is None else tps)
        ]
        return Decided(answers=(Answer(waiter, found),))

    def delete_offsets(
        self, waiter: Waiter, group_id: str, tps: Sequence[TopicPartition]
    ) -> Decided:
        """Delete offsets of topics that nobody of the group reads; one error code for each.

        Raises:
            KafkaError: GROUP_ID_NOT_FOUND; NON_EMPTY_GROUP, where members say not what they read.

        Source: GroupCoordinator.handleDeleteOffsets.
        """
        if not self.offsets.is_here(group_id) and not self._membership.knows(group_id):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        in_use = self._membership.topics_in_use(group_id)
        records = self.offsets.delete(group_id, [tp for tp in tps if tp.topic not in in_use])
        if records:
            records += self._offsets_deleted(group_id)
        codes = [
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if tp.topic in in_use else ErrorCode.NONE
            for tp in tps
        ]
        return Decided(records, (Answer(waiter, codes),), is_atomic=False)

    def partitions_deleted(self, tps: Collection[TopicPartition]) -> Iterator[Decided]:
        """Forget the offsets of partitions that are no more, group by group; pending ones, too.

        Source: GroupCoordinator.handleDeletedPartitions, GroupMetadata.removeOffsets.
        """
        for group_id in list(self.offsets.group_ids()):
            records = self.offsets.delete(group_id, self.offsets.among(group_id, tps))
            if records:
                records += self._offsets_deleted(group_id)
                yield Decided(records, is_atomic=False)

    def _offsets_deleted(self, group_id: str) -> Sequence[Record]:
        """Return what follows for a group of which nobody reads some offsets any more."""
        if self.offsets.has_offsets(group_id):
            return ()
        if self._empties_stay:
            self.offsets.note_empty(group_id)
            return ()
        return self._membership.offsets_gone(group_id)

    # The log, and time.

    def replay(self, key: bytes, value: bytes | None, *, producer_id: int = NO_PRODUCER_ID) -> None:
        """Take over one record, of offsets or of members."""
        record, about = decode_key(GROUP_RECORDS, key)
        if record.number in _OFFSET_RECORDS:
            group_id, tp, committed = read_offset(about, value)
            self.offsets.replay(group_id, tp, committed, producer_id)
        else:
            self.members.replay(record, about, value)

    def replay_end(self, producer_id: int, *, is_commit: bool) -> None:
        """Take over the end of a transaction."""
        self.offsets.end_transaction(producer_id, is_commit=is_commit)

    def loaded(self, now_ms: int, wall_ms: int) -> Decided:
        """Look for expired offsets from now on; let sessions begin anew."""
        self._look_due_ms = now_ms + self._config.offsets_retention_check_interval_ms
        return self.members.loaded(now_ms, wall_ms)

    def expire(self, now_ms: int, wall_ms: int) -> Decided:
        """Do what members are due, and look for expired offsets, at some groups at a time."""
        due = self.members.expire(now_ms, wall_ms)
        if due.records or self._look_due_ms is None or now_ms < self._look_due_ms:
            return due
        if not self._to_look_at:
            groups = dict.fromkeys(self.offsets.group_ids())
            self._to_look_at = list(groups | dict.fromkeys(self._membership.group_ids()))
        records = self._expired(wall_ms)
        if not self._to_look_at:
            self._look_due_ms = now_ms + self._config.offsets_retention_check_interval_ms
        return Decided(records, due.answers)

    def next_due_ms(self) -> int | None:
        """Return when a member is due, or expired offsets are looked for."""
        due_ms = self.members.next_due_ms()
        if due_ms is None or self._look_due_ms is None:
            return self._look_due_ms if due_ms is None else due_ms
        return min(due_ms, self._look_due_ms)

    def unloaded(self, error: ErrorCode) -> Sequence[Answer]:
        """Nobody deserves another answer than ``error``."""
        del error
        return ()

    # Rules.

    def _check_generation(self, group_id: str, committer: Committer) -> None:
        """Refuse members of a group that has offsets alone: it is there, and nobody is in it."""
        is_simple = self.offsets.is_here(group_id) and not self._membership.knows(group_id)
        if is_simple and committer.generation >= 0:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def _check(self, new: NewOffset) -> ErrorCode:
        """Kafka counts the metadata in UTF-16 units, as its name does not say."""
        units = len((new.metadata or "").encode("utf-16-le", "surrogatepass")) // 2
        too_large = units > self._config.offset_metadata_max_bytes
        return ErrorCode.OFFSET_METADATA_TOO_LARGE if too_large else ErrorCode.NONE

    def _check_size(self, records: Sequence[Record]) -> None:
        size_bytes, most = batch_size_bound(records), self._batch_bytes_max()
        if size_bytes > most:
            raise KafkaError(
                ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
                f"a commit of {size_bytes} bytes; max.message.bytes is {most}",
            )

    def _fetched(
        self,
        group_id: str,
        tp: TopicPartition,
        committed: Mapping[TopicPartition, Committed],
        *,
        require_stable: bool,
    ) -> FetchedOffset:
        if require_stable and self.offsets.is_unstable(group_id, tp):
            return FetchedOffset(tp, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        found = committed.get(tp)
        if found is None:
            return FetchedOffset(tp)
        return FetchedOffset(tp, found.offset, found.leader_epoch, found.metadata)

    def _expired(self, wall_ms: int) -> list[Record]:
        """Go through groups that are to be looked at, until that was enough for once."""
        records: list[Record] = []
        looked_at, left_bytes = 0, self._batch_bytes_max() // 2
        while self._to_look_at and looked_at < LOOKED_AT_MAX and left_bytes > 0:
            group_id = self._to_look_at[-1]
            looked_at += 1 + len(self.offsets.committed(group_id))
            expired = self.offsets.expire(
                group_id,
                self._membership.expiry(group_id),
                wall_ms=wall_ms,
                retention_ms=self._config.offsets_retention_minutes * _MS_OF_A_MINUTE,
            )
            for record in expired:
                records.append(record)
                left_bytes -= record_size_bound(record)
                if left_bytes <= 0:
                    return records
            self._to_look_at.pop()
            self.offsets.forget_empty(group_id)
            if not self.offsets.has_offsets(group_id):
                records += self._membership.offsets_gone(group_id)
        return records


def _by_topic(tps: Iterable[TopicPartition]) -> Iterator[TopicPartition]:
    """Give those of one topic one after the other; topics as they were first met."""
    topics: dict[str, list[TopicPartition]] = {}
    for tp in tps:
        topics.setdefault(tp.topic, []).append(tp)
    return chain.from_iterable(topics.values())


def _committed(new: NewOffset, retention_ms: int, wall_ms: int) -> Committed:
    return Committed(
        new.offset,
        new.leader_epoch,
        new.metadata or "",
        wall_ms if new.commit_ms == _NOW else new.commit_ms,
        -1 if retention_ms == _BROKERS_CHOICE else wall_ms + retention_ms,
    )
