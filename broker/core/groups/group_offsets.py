"""The offsets that groups committed, of one partition of ``__consumer_offsets``.

Who may commit is decided elsewhere (`membership`). Offsets of open transactions wait for the marker
that ends them. Source: GroupMetadataManager.scala, OffsetMetadataManager.java, and for the bytes
GroupMetadataManager.offsetCommitKey, offsetCommitValue (3.9).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from broker.core.coordination import Record
from broker.core.groups.membership import ExpiryRule
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.messages.group_records import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from protocol.stored_records import decode_versioned, encode_key, encode_versioned

_VALUE_VERSION: Final = 3
_VALUE_VERSION_WITH_EXPIRY: Final = 1
_NEVER: Final = -1
_KEYS_KEPT: Final = 4_096
"""Keys of partitions that are committed again and again."""


class Committed(NamedTuple):
    """An offset of a group in a partition."""

    offset: int
    leader_epoch: int
    """Of the last record that was read; -1 when the client did not tell."""
    metadata: str
    commit_ms: int
    """By the time of day; a client of version 1 may have chosen it."""
    expire_ms: int = _NEVER
    """When a client of versions 2 to 4 wants it to expire; -1 leaves that to the broker."""
    order: int = 0
    """Of its record in the log, in which later ones replace earlier ones."""


Offsets: TypeAlias = dict[TopicPartition, Committed]


class GroupOffsets:
    """What groups committed; a group is here as long as it has an offset, or one is pending.

    One whose only offsets were refused or aborted is here, and empty, until the next look for
    expired offsets, as GroupMetadataManager.cleanupGroupMetadata is the first to find it so.
    """

    def __init__(self) -> None:
        """Begin without a group."""
        self._groups: dict[str, Offsets] = {}
        self._pending: dict[int, dict[str, Offsets]] = {}
        """By producer and group: what open transactions committed."""
        self._producers: dict[str, dict[int, None]] = {}
        """The producers that have something pending, by group."""
        self._empty: dict[str, None] = {}
        """Groups in which a commit left nothing, until somebody looks for expired offsets."""
        self._order = 0

    # What is there.

    def group_ids(self) -> Iterator[str]:
        """Give every group that is here."""
        yield from self._groups
        yield from (group_id for group_id in self._producers if group_id not in self._groups)
        yield from self._empty

    def is_here(self, group_id: str) -> bool:
        """Tell whether a group has offsets, or somebody wanted it to have some a while ago."""
        return self.has_offsets(group_id) or group_id in self._empty

    def note_empty(self, group_id: str) -> None:
        """Have a group be here although nothing of a commit stays."""
        if not self.has_offsets(group_id):
            self._empty[group_id] = None

    def forget_empty(self, group_id: str) -> None:
        """Have a group without offsets go."""
        self._empty.pop(group_id, None)

    def has_offsets(self, group_id: str) -> bool:
        """Tell whether a group has an offset, or one is pending in a transaction."""
        return group_id in self._groups or group_id in self._producers

    def committed(self, group_id: str) -> Mapping[TopicPartition, Committed]:
        """Return all offsets of a group, without those that are pending."""
        return self._groups.get(group_id, {})

    def among(self, group_id: str, tps: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return those of ``tps`` in which a group has an offset, or one is pending."""
        committed = self.committed(group_id)
        return [tp for tp in tps if tp in committed or self.is_unstable(group_id, tp)]

    def is_unstable(self, group_id: str, tp: TopicPartition) -> bool:
        """Tell whether an open transaction is about to change an offset."""
        producers = self._producers.get(group_id, ())
        return any(tp in self._pending[producer_id][group_id] for producer_id in producers)

    # Changes.

    def put(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, Committed],
        *,
        producer_id: int = NO_PRODUCER_ID,
    ) -> None:
        """Take offsets over, at once or, of a producer, with the end of its transaction."""
        for tp, committed in offsets.items():
            self._put(group_id, tp, committed, producer_id)

    def delete(self, group_id: str, tps: Iterable[TopicPartition]) -> list[Record]:
        """Forget offsets, pending ones too; return the tombstones of those that there were.

        Source: OffsetMetadataManager.deleteOffsets.
        """
        return [
            (offset_key(group_id, tp), None) for tp in tps if self._remove(group_id, tp) is not None
        ]

    def delete_all(self, group_id: str) -> list[Record]:
        """Forget all offsets of a group, pending ones too; return the tombstones."""
        found = dict.fromkeys(self.committed(group_id))
        for producer_id in self._producers.get(group_id, ()):
            found.update(dict.fromkeys(self._pending[producer_id][group_id]))
        return self.delete(group_id, found)

    def expire(
        self, group_id: str, rule: ExpiryRule, *, wall_ms: int, retention_ms: int
    ) -> Iterator[Record]:
        """Forget what was unused for ``retention_ms``, one with each tombstone that is given.

        Source: GroupMetadata.removeExpiredOffsets, OffsetExpirationConditionImpl.
        """
        if not rule.may_expire:
            return
        expired = [
            tp
            for tp, committed in self.committed(group_id).items()
            if tp.topic not in rule.kept_topics
            and _is_expired(committed, rule, wall_ms, retention_ms)
            and not self.is_unstable(group_id, tp)
        ]
        for tp in expired:
            yield from self.delete(group_id, (tp,))

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> Collection[str]:
        """End what a producer has pending; return the groups that it was pending in.

        An offset that was committed after a pending one stays: the log has it last.
        """
        pending = self._pending.pop(producer_id, {})
        for group_id, offsets in pending.items():
            self._forget_producer(group_id, producer_id)
            for tp, committed in offsets.items() if is_commit else ():
                now = self.committed(group_id).get(tp)
                if now is None or now.order < committed.order:
                    self._groups.setdefault(group_id, {})[tp] = committed
            self.note_empty(group_id)
        return list(pending)

    # The log.

    def replay(
        self, group_id: str, tp: TopicPartition, committed: Committed | None, producer_id: int
    ) -> None:
        """Take over one record of the log; None for a tombstone."""
        if committed is None:
            self._remove(group_id, tp)
        else:
            self._put(group_id, tp, committed, producer_id)

    def _put(
        self, group_id: str, tp: TopicPartition, committed: Committed, producer_id: int
    ) -> None:
        self._order += 1
        self._empty.pop(group_id, None)
        committed = committed._replace(order=self._order)
        if producer_id == NO_PRODUCER_ID:
            self._groups.setdefault(group_id, {})[tp] = committed
        else:
            groups = self._pending.setdefault(producer_id, {})
            groups.setdefault(group_id, {})[tp] = committed
            self._producers.setdefault(group_id, {})[producer_id] = None

    def _remove(self, group_id: str, tp: TopicPartition) -> Committed | None:
        removed: Committed | None = None
        for producer_id in list(self._producers.get(group_id, ())):
            offsets = self._pending[producer_id][group_id]
            removed = offsets.pop(tp, removed)
            if not offsets:
                del self._pending[producer_id][group_id]
                self._forget_producer(group_id, producer_id)
        offsets = self._groups.get(group_id, {})
        removed = offsets.pop(tp, removed)
        if not offsets:
            self._groups.pop(group_id, None)
        return removed

    def _forget_producer(self, group_id: str, producer_id: int) -> None:
        producers = self._producers[group_id]
        del producers[producer_id]
        if not producers:
            del self._producers[group_id]


def _is_expired(committed: Committed, rule: ExpiryRule, wall_ms: int, retention_ms: int) -> bool:
    if committed.expire_ms != _NEVER:
        return wall_ms >= committed.expire_ms
    since_ms = committed.commit_ms if rule.unused_since_ms is None else rule.unused_since_ms
    return wall_ms - since_ms >= retention_ms


def offset_records(group_id: str, offsets: Mapping[TopicPartition, Committed]) -> list[Record]:
    """Return the records of a commit."""
    return [
        (offset_key(group_id, tp), offset_value(committed)) for tp, committed in offsets.items()
    ]


@lru_cache(_KEYS_KEPT)
def offset_key(group_id: str, tp: TopicPartition) -> bytes:
    """Return the key of a group's offset in a partition, as it is stored."""
    return encode_key(OffsetCommitKey(group=group_id, topic=tp.topic, partition=tp.partition))


def offset_value(committed: Committed) -> bytes:
    """Return an offset as Kafka 3.9 stores it: version 1 where a client set when it expires."""
    has_expiry = committed.expire_ms != _NEVER
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
    )
    return encode_versioned(value, _VALUE_VERSION_WITH_EXPIRY if has_expiry else _VALUE_VERSION)


def read_offset(
    key: LegacyOffsetCommitKey | OffsetCommitKey, value: bytes | None
) -> tuple[str, TopicPartition, Committed | None]:
    """Return group, partition and offset of a stored record; None for a tombstone.

    Raises:
        Malformed: no such version, or no such body.
    """
    tp = TopicPartition(key.topic, key.partition)
    if value is None:
        return key.group, tp, None
    if isinstance(key, LegacyOffsetCommitKey):
        legacy, _ = decode_versioned(LegacyOffsetCommitValue, value)
        return key.group, tp, Committed(legacy.offset, -1, legacy.metadata, legacy.commit_timestamp)
    stored, _ = decode_versioned(OffsetCommitValue, value)
    return (
        key.group,
        tp,
        Committed(
            stored.offset,
            stored.leader_epoch,
            stored.metadata,
            stored.commit_timestamp,
            stored.expire_timestamp,
        ),
    )
