"""The producer state as it is on disk: snapshot files, and the state that the next one will hold.

It judges no sequence: that was done before the bytes were written. `broker.core.producers` holds
the rules.

Source: ProducerStateManager.java (snapshots), ProducerAppendInfo.java (markers).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from crc32c import crc32c

from broker.core.producers import PRODUCER_ID_EXPIRATION_MS, ProducerEntry
from broker.storage.indexes import AbortedTransaction
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader
from protocol.records.records import (
    ControlRecordType,
    control_type,
    coordinator_epoch,
    iterate_records,
)

_VERSION: Final = 1
_HEAD: Final = Struct(">hI")
_COUNT: Final = Struct(">i")
_ENTRY: Final = Struct(">qhiqiqiq")
_NONE: Final = -1


class CorruptSnapshot(ValueError):  # noqa: N818 -- says what it met
    """A snapshot file that is cut or damaged; the state is read from the log instead."""


def pack_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Return the content of a snapshot file."""
    packed = [_ENTRY.pack(*entry) for entry in entries]
    body = b"".join([_COUNT.pack(len(packed)), *packed])
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def unpack_snapshot(data: bytes) -> list[ProducerEntry]:
    """Return the entries of a snapshot file.

    Raises:
        CorruptSnapshot: unknown version, wrong sum or wrong size.
    """
    if len(data) < _HEAD.size + _COUNT.size:
        raise CorruptSnapshot(f"{len(data)} bytes are no snapshot")
    version, crc = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version}, known is {_VERSION}")
    body = memoryview(data)[_HEAD.size :]
    if crc32c(body) != crc:
        raise CorruptSnapshot("wrong CRC")
    entries = body[_COUNT.size :]
    if _COUNT.unpack_from(body)[0] * _ENTRY.size != len(entries):
        raise CorruptSnapshot(f"{_COUNT.unpack_from(body)[0]} entries in {len(entries)} bytes")
    return [ProducerEntry(*fields) for fields in _ENTRY.iter_unpack(entries)]


class WrittenProducers:
    """The last batch and open transaction of each producer in the log as written."""

    __slots__ = ("_entries", "_newest_timestamp")

    def __init__(self, entries: Iterable[ProducerEntry] = ()) -> None:
        self._entries = {entry.producer_id: entry for entry in entries}
        self._newest_timestamp = _NONE

    @property
    def entries(self) -> list[ProducerEntry]:
        """By producer id, without those that Kafka would have expired by now."""
        oldest = self._newest_timestamp - PRODUCER_ID_EXPIRATION_MS
        return [
            entry
            for _, entry in sorted(self._entries.items())
            if entry.timestamp > oldest or entry.transaction_first_offset != _NONE
        ]

    def note(self, header: BatchHeader, batch: Buffer, position: int) -> AbortedTransaction | None:
        """Take in one written batch that has a producer id.

        Give the transaction that it aborted, if any.
        """
        self._newest_timestamp = max(self._newest_timestamp, header.max_timestamp)
        if header.is_control:
            return self._note_marker(header, batch, position)
        known = self._entries.get(header.producer_id)
        first_offset = _NONE if known is None else known.transaction_first_offset
        if header.is_transactional and first_offset == _NONE:
            first_offset = header.base_offset
        self._entries[header.producer_id] = ProducerEntry(
            header.producer_id,
            header.producer_epoch,
            header.last_sequence,
            header.last_offset,
            header.last_offset_delta,
            header.max_timestamp,
            _NONE if known is None else known.coordinator_epoch,
            first_offset,
        )
        return None

    def _note_marker(
        self, header: BatchHeader, batch: Buffer, position: int
    ) -> AbortedTransaction | None:
        record = next(iterate_records(batch, position, header))
        kind = control_type(record)
        if kind not in {ControlRecordType.ABORT, ControlRecordType.COMMIT}:
            return None
        known = self._entries.get(header.producer_id)
        if known is None or known.producer_epoch != header.producer_epoch:
            first_offset = _NONE if known is None else known.transaction_first_offset
            known = ProducerEntry(
                header.producer_id,
                header.producer_epoch,
                _NONE,
                _NONE,
                0,
                _NONE,
                _NONE,
                first_offset,
            )
        first_offset = known.transaction_first_offset
        self._entries[header.producer_id] = known._replace(
            timestamp=header.max_timestamp,
            coordinator_epoch=coordinator_epoch(record),
            transaction_first_offset=_NONE,
        )
        if kind is ControlRecordType.COMMIT or first_offset == _NONE:
            return None
        last_stable_offset = self._first_open(header.last_offset + 1)
        return AbortedTransaction(
            header.producer_id, first_offset, header.last_offset, last_stable_offset
        )

    def _first_open(self, without: int) -> int:
        """Return where the oldest open transaction begins, ``without`` when there is none."""
        opened = (entry.transaction_first_offset for entry in self._entries.values())
        return min((offset for offset in opened if offset != _NONE), default=without)
