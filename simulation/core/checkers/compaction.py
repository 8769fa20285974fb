"""Which records compaction may take: those that a newer one of their key supersedes.

The newest of a key stays; if it has no value, for ``delete.retention.ms``. What has no key was
written before its topic was compacted, and goes. Whether more is gone is for `durability` and
`agreement`. Source: LogCleaner.scala shouldRetainRecord; KIP-354.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from protocol.ids import NO_OFFSET, TopicPartition
from simulation.core.checkers.deletions import deletions_of
from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.held_configs import HeldConfigs
from simulation.core.history import Kind, Poll, Send
from simulation.core.payload import is_tombstone, key_of


class _Tombstone(NamedTuple):
    """A record without value that was written, or may have been."""

    offset: int
    """-1: not known."""
    begun_us: int


class Compaction:
    """The compacted topics of one run."""

    def __init__(self, evidence: Evidence) -> None:
        self.topics = deletions_of(evidence).compacted
        """Those that were compacted at any time."""
        self._ended_us = evidence.samples.ended_us
        self._held = HeldConfigs(evidence)
        self._keys: dict[int, bytes] = {}
        self._tombstones: dict[tuple[TopicPartition, bytes], list[_Tombstone]] = {}
        self._deletion_us: dict[str, int] = {}
        read = _read(evidence)
        for begun_us, send, offset, record in _keyed(evidence):
            key = key_of(record, send.keys)
            assert key is not None, f"record {record} of a producer with keys has none"
            self._keys[record] = key
            if is_tombstone(record, send.keys):
                self._tombstones.setdefault((send.tp, key), []).extend(
                    _Tombstone(place, begun_us) for place in (offset, *read.get(record, ()))
                )

    def newest_of_keys(self, records: Mapping[int, int]) -> dict[bytes, int]:
        """Return where the last record of each key is; ``records``: number by offset, ascending."""
        return {
            key: offset
            for offset, record in records.items()
            if (key := self._keys.get(record)) is not None
        }

    def may_have_taken(
        self, tp: TopicPartition, offset: int, record: int, newest: Mapping[bytes, int]
    ) -> bool:
        """Tell whether a record that is gone may be so.

        Args:
            tp: its partition.
            offset: where it was; -1 when nobody said.
            record: its number.
            newest: of the log now (``newest_of_keys``).
        """
        if tp.topic not in self.topics:
            return False
        key = self._keys.get(record)
        if key is None:
            return True
        return newest.get(key, NO_OFFSET) > offset or any(
            NO_OFFSET in {tombstone.offset, offset} or tombstone.offset >= offset
            for tombstone in self._tombstones.get((tp, key), ())
            if self._ended_us - tombstone.begun_us >= self._deletion_us_of(tp.topic)
        )

    def _deletion_us_of(self, topic: str) -> int:
        """Return for how long records without value stay, by the shortest configuration."""
        if topic not in self._deletion_us:
            held = self._held.of(topic, 0, self._ended_us)
            shortest_ms = min(config.delete_retention_ms for config in held)
            self._deletion_us[topic] = shortest_ms * 1000
        return self._deletion_us[topic]


def _keyed(evidence: Evidence) -> Iterator[tuple[int, Send, int, int]]:
    """Give begin, send, offset and number of each record with a key that may be there."""
    for begin, end in evidence.spans:
        send = end.value
        if not isinstance(send, Send) or not send.keys or end.kind is Kind.FAIL:
            continue
        for count, record in enumerate(send.records):
            is_known = send.base_offset != NO_OFFSET
            yield begin.at_us, send, send.base_offset + count if is_known else NO_OFFSET, record


def _read(evidence: Evidence) -> dict[int, dict[int, None]]:
    """Return where each record was read.

    A producer that is not idempotent may have written it at one more place than it was told, where
    a leader took it whose answer was lost (seed 1069278).
    """
    places: dict[int, dict[int, None]] = {}
    for _, end in evidence.spans:
        for read in end.value.reads if isinstance(end.value, Poll) else ():
            for offset, record in read.records:
                places.setdefault(record, {})[offset] = None
    return places
