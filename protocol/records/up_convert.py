"""Rewrites a producer's message set, format 0 or 1, as one batch of format 2.

Offsets begin at 0, whatever the producer wrote; the leader stamps its own, and its time if the
topic wants that. It knows nothing of topics and their limits.

Source: LogValidator.java convertAndAssignOffsetsNonCompressed, buildRecordsAndAssignOffsets.
"""

from __future__ import annotations

from collections.abc import Iterable

from protocol.errors import Malformed
from protocol.ids import NO_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP
from protocol.ports import Buffer
from protocol.records.batch import (
    HEADER_SIZE_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    BatchHeader,
    Compression,
)
from protocol.records.build import record_parts, seal_batch
from protocol.records.compression import OUTPUT_BYTES_MAX
from protocol.records.entries import EntryHeader, iterate_entries
from protocol.records.message_set import (
    InvalidMessageSet,
    MessageHeader,
    check_message_crc,
    opened_in_steps,
)
from protocol.records.records import RecordView, wrapped_int64
from protocol.records.steps import (
    BYTES_OF_A_STEP,
    RECORDS_OF_A_STEP,
    Steps,
    append_in_steps,
    at_once,
    compress_in_steps,
)


def up_convert(buffer: Buffer, *, needs_keys: bool = False) -> bytearray:
    """Return the records of the message set in ``buffer`` as one batch; a cut tail is left out.

    Raises:
        Malformed: as ``up_convert_in_steps``.
    """
    return at_once(up_convert_in_steps(buffer, needs_keys=needs_keys))


def up_convert_in_steps(
    buffer: Buffer, *, needs_keys: bool = False, output_bytes_max: int = OUTPUT_BYTES_MAX
) -> Steps[bytearray]:
    """Do as ``up_convert``, in steps of at most ``RECORDS_OF_A_STEP`` records.

    Args:
        buffer: the message set.
        needs_keys: refuse a message without a key, as compacted topics do.
        output_bytes_max: what a wrapper may become when it is decompressed.

    Raises:
        InvalidMessageSet: no whole message, messages of several formats, a wrapper that is not
            alone, or what ``opened_in_steps`` finds.
        Malformed: a sum or a length is wrong.
    """
    batch = _NewBatch()
    for position, header in iterate_entries(buffer):
        message = _checked(buffer, position, header, batch)
        batch.codec = message.compression
        views = yield from opened_in_steps(
            buffer, position, message, output_bytes_max=output_bytes_max
        )
        for view in views:
            if needs_keys and view.key is None:
                raise InvalidMessageSet("a message without a key for a compacted topic")
            parts = batch.begin(view)
            if view.size_bytes < BYTES_OF_A_STEP:
                batch.append(parts)
            else:
                yield from batch.append_long(parts)
            if batch.is_step_over():
                yield
    if batch.count == 0:
        raise InvalidMessageSet(f"no whole message in {len(buffer)} bytes")
    return (yield from batch.seal_in_steps())


class _NewBatch:
    """The batch under way."""

    __slots__ = ("_body", "_first_ms", "_newest_ms", "_stepped_bytes", "codec", "count", "magic")

    def __init__(self) -> None:
        self.magic = -1
        """Of the message set; -1 before its first message."""
        self.codec = Compression.NONE
        self.count = 0
        self._body = bytearray()
        self._stepped_bytes = 0
        self._first_ms = self._newest_ms = NO_TIMESTAMP

    def begin(self, record: RecordView) -> tuple[Buffer, ...]:
        """Return the parts of the next record."""
        timestamp_ms = record.timestamp_ms
        if timestamp_ms < NO_TIMESTAMP:
            raise InvalidMessageSet(f"timestamp {timestamp_ms}")
        if self.count == 0:
            self._first_ms = timestamp_ms
        self._newest_ms = max(self._newest_ms, timestamp_ms)
        delta = wrapped_int64(timestamp_ms - self._first_ms)
        return record_parts(delta, self.count, record.key, record.value)

    def append(self, parts: Iterable[Buffer]) -> None:
        """Write the record that was begun."""
        for part in parts:
            self._body += part
        self.count += 1

    def append_long(self, parts: Iterable[Buffer]) -> Steps[None]:
        """Write one that takes more than a step."""
        for part in parts:
            yield from append_in_steps(self._body, part)
        self.count += 1

    def is_step_over(self) -> bool:
        """Tell whether others should have a turn before the next record."""
        body_bytes = len(self._body)
        if self.count % RECORDS_OF_A_STEP and body_bytes - self._stepped_bytes < BYTES_OF_A_STEP:
            return False
        self._stepped_bytes = body_bytes
        return True

    def seal_in_steps(self) -> Steps[bytearray]:
        data = yield from compress_in_steps(self.codec, self._body)
        header = BatchHeader(
            base_offset=0,
            batch_length=HEADER_SIZE_BYTES - LOG_OVERHEAD_BYTES + len(data),
            partition_leader_epoch=NO_EPOCH,
            magic=MAGIC,
            crc=0,
            attributes=self.codec,
            last_offset_delta=self.count - 1,
            base_timestamp=self._first_ms,
            max_timestamp=self._newest_ms,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
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
