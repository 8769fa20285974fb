"""Rewrites a producer's message set, format 0 or 1, as one batch of format 2.

Offsets begin at 0, whatever the producer wrote; the leader stamps its own, and its time if the
topic wants that. It knows nothing of topics and their limits.

Source: LogValidator.java convertAndAssignOffsetsNonCompressed, buildRecordsAndAssignOffsets.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import (
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    Compression,
)
from protocol.records.build import append_record, seal_batch
from protocol.records.compression import OUTPUT_BYTES_MAX, compress
from protocol.records.entries import EntryHeader, iterate_entries
from protocol.records.message_set import (
    NO_TIMESTAMP,
    InvalidMessageSet,
    MessageHeader,
    check_message_crc,
    iterate_message_views,
)
from protocol.records.records import RecordView, wrapped_int64

RECORDS_PER_STEP: Final = 256


def up_convert(buffer: Buffer, *, needs_keys: bool = False) -> bytearray:
    """Return the records of the message set in ``buffer`` as one batch; a cut tail is left out.

    Raises:
        Malformed: as ``up_convert_in_steps``.
    """
    steps = up_convert_in_steps(buffer, needs_keys=needs_keys)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def up_convert_in_steps(
    buffer: Buffer, *, needs_keys: bool = False, output_bytes_max: int = OUTPUT_BYTES_MAX
) -> Generator[None, None, bytearray]:
    """Do as ``up_convert``, in steps of at most ``RECORDS_PER_STEP`` records.

    Args:
        buffer: the message set.
        needs_keys: refuse a message without a key, as compacted topics do.
        output_bytes_max: what a wrapper may become when it is decompressed.

    Raises:
        InvalidMessageSet: no whole message, messages of several formats, a wrapper that is not
            alone, or what ``iterate_message_views`` finds.
        Malformed: a sum or a length is wrong.
    """
    batch = _NewBatch()
    for position, header in iterate_entries(buffer):
        message = _checked(buffer, position, header, batch)
        batch.codec = message.compression
        views = iterate_message_views(buffer, position, message, output_bytes_max=output_bytes_max)
        for view in views:
            if needs_keys and view.key is None:
                raise InvalidMessageSet("a message without a key for a compacted topic")
            batch.append(view)
            if batch.count % RECORDS_PER_STEP == 0:
                yield
    if batch.count == 0:
        raise InvalidMessageSet(f"no whole message in {len(buffer)} bytes")
    return batch.seal()


class _NewBatch:
    """The batch under way."""

    __slots__ = ("_body", "_first_ms", "_newest_ms", "codec", "count", "magic")

    def __init__(self) -> None:
        self.magic = -1
        """Of the message set; -1 before its first message."""
        self.codec = Compression.NONE
        self.count = 0
        self._body = bytearray()
        self._first_ms = self._newest_ms = NO_TIMESTAMP

    def append(self, record: RecordView) -> None:
        timestamp_ms = record.timestamp_ms
        if timestamp_ms < NO_TIMESTAMP:
            raise InvalidMessageSet(f"timestamp {timestamp_ms}")
        if self.count == 0:
            self._first_ms = timestamp_ms
        self._newest_ms = max(self._newest_ms, timestamp_ms)
        delta = wrapped_int64(timestamp_ms - self._first_ms)
        append_record(self._body, delta, self.count, record.key, record.value)
        self.count += 1

    def seal(self) -> bytearray:
        data = compress(self.codec, self._body)
        header = BatchHeader(
            base_offset=0,
            batch_length=HEADER_SIZE_BYTES - LOG_OVERHEAD_BYTES + len(data),
            partition_leader_epoch=-1,
            magic=MAGIC,
            crc=0,
            attributes=self.codec,
            last_offset_delta=self.count - 1,
            base_timestamp=self._first_ms,
            max_timestamp=self._newest_ms,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            records_count=self.count,
        )
        return seal_batch(header, data)


def _checked(buffer: Buffer, position: int, header: EntryHeader, batch: _NewBatch) -> MessageHeader:
    """Return ``header`` if its entry may follow what ``batch`` has."""
    if not isinstance(header, MessageHeader) or batch.magic not in (-1, header.magic):
        raise InvalidMessageSet(f"format {header.magic} behind format {batch.magic}")
    batch.magic = header.magic
    if not check_message_crc(buffer, position, header):
        raise Malformed(f"message of {header.size_bytes} bytes fails its CRC")
    if batch.count > 0 and (batch.codec or header.compression):
        raise InvalidMessageSet("a compressed message is not alone in its set")
    return header
