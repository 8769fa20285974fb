"""The batches and records of a `.log` file, as Kafka's DumpLogSegments tells them.

Segments of all three record formats are read; nothing is repaired.

Source: DumpLogSegments.scala (dumpLog).
"""

from __future__ import annotations

import mmap
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from jbodlab.decoding.dumps.row import DumpOptions, Findings, Row
from protocol.errors import Malformed
from protocol.records.batch import BatchHeader, Compression
from protocol.records.compression import decompress
from protocol.records.entries import (
    EntryHeader,
    check_entry_crc,
    iterate_entries,
    iterate_entry_records,
)
from protocol.records.message_set import (
    ENTRY_OVERHEAD_BYTES,
    MessageHeader,
    check_message_crc,
    iterate_messages,
)
from protocol.records.records import (
    ControlRecordType,
    Record,
    control_type,
    coordinator_epoch,
)

_BYTES_MAX: Final = DumpOptions().bytes_max


def map_file(path: Path) -> memoryview:
    """Return the bytes of a file, read when they are looked at.

    Raises:
        OSError: it cannot be opened.
    """
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def base_offset_of(path: Path) -> int:
    """Return the offset in the name of a segment's file."""
    return int(path.name.partition(".")[0])


def dump_log(path: Path, options: DumpOptions, findings: Findings) -> Iterator[Row]:
    """Give the batches of a segment, and their records where ``options`` ask for them.

    A cut or damaged tail ends it with a row that says how many bytes are left.
    """
    base_offset = base_offset_of(path)
    yield Row(f"Log starting offset: {base_offset}", {"startingOffset": base_offset})
    data = map_file(path)[: options.bytes_max]
    valid_bytes = 0
    records = _Records(path, options, findings)
    try:
        for position, header in iterate_entries(data):
            yield _batch_row(data, position, header)
            valid_bytes = position + header.size_bytes
            if options.is_deep or options.shows_contents:
                yield from records.rows(data, position, header)
    except Malformed as error:
        findings.note(f"Broken in {path}", f"  at position {valid_bytes}: {error}")
    left_bytes = len(data) - valid_bytes
    if left_bytes > 0 and options.bytes_max == _BYTES_MAX:
        text = f"Found {left_bytes} invalid bytes at the end of {path.name}"
        yield Row(text, {"invalidBytes": left_bytes})


def _batch_row(data: memoryview, position: int, header: EntryHeader) -> Row:
    if isinstance(header, BatchHeader):
        horizon = header.delete_horizon_ms
        own: dict[str, Any] = {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "count": header.records_count,
            "baseSequence": header.base_sequence,
            "lastSequence": header.last_sequence,
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.partition_leader_epoch,
            "isTransactional": header.is_transactional,
            "isControl": header.is_control,
            "deleteHorizonMs": horizon,
        }
        shown = {
            **own,
            "deleteHorizonMs": f"OptionalLong{'.empty' if horizon is None else [horizon]}",
        }
    else:
        own = {"offset": header.offset}
        shown = own
    rest = {
        "position": position,
        timestamp_type(header): _max_timestamp(header),
        "size": header.size_bytes,
        "magic": header.magic,
        "compresscodec": header.compression.name.lower(),
        "crc": header.crc,
        "isvalid": check_entry_crc(data, position, header),
    }
    return Row(_words({**shown, **rest}), {"kind": "batch", **own, **rest})


def timestamp_type(header: EntryHeader) -> str:
    """Return Kafka's name for what the timestamps of an entry are."""
    if header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if header.is_log_append_time else "CreateTime"


def _max_timestamp(header: EntryHeader) -> int:
    return header.max_timestamp if isinstance(header, BatchHeader) else header.timestamp


class _Records:
    """The records below the batches of one file; notes gaps between their offsets."""

    def __init__(self, path: Path, options: DumpOptions, findings: Findings) -> None:
        self._heading = f"Non-consecutive offsets in {path.absolute()}"
        self._options = options
        self._findings = findings
        self._last_offset = -1

    def rows(self, data: memoryview, position: int, header: EntryHeader) -> Iterator[Row]:
        """Give the records of one entry.

        Raises:
            Malformed: the records are damaged.
        """
        records = iterate_entry_records(data, position, header)
        if isinstance(header, BatchHeader):
            metadata = ((record, _metadata(record, header)) for record in records)
        else:
            messages = _messages(data, position, header)
            metadata = (
                (record, _old_metadata(record, header, message))
                for record, message in zip(records, messages, strict=True)
            )
        for record, shown in metadata:
            if self._last_offset not in {-1, record.offset - 1}:
                text = f"  {self._last_offset} is followed by {record.offset}"
                self._findings.note(self._heading, text, is_fault=False)
            self._last_offset = record.offset
            yield self._row(record, header, shown)

    def _row(self, record: Record, header: EntryHeader, metadata: dict[str, Any]) -> Row:
        shown = {} if self._options.skips_metadata else metadata
        content: dict[str, Any] = {"kind": "record", "offset": record.offset, **shown}
        if "headerKeys" in shown:
            content["headerKeys"] = [key for key, _ in record.headers]
        if "crc" in shown:
            content["crc"] = int(shown["crc"][:-1])
        if self._options.shows_contents and not _is_control(header):
            fields = {"key": record.key, "payload": record.value}
            shown |= {
                name: data.decode(errors="replace")
                for name, data in fields.items()
                if data is not None
            }
            content |= {
                name: None if data is None else b64encode(data).decode()
                for name, data in fields.items()
            }
        return Row(f"| {_words(shown)}", content)


def _metadata(record: Record, header: BatchHeader) -> dict[str, Any]:
    shown = _sizes(record, header)
    shown["sequence"] = record.sequence
    shown["headerKeys"] = f"[{','.join(key for key, _ in record.headers)}]"
    if header.is_control:
        shown |= _marker(record)
    return shown


def _old_metadata(
    record: Record, header: MessageHeader, message: tuple[MessageHeader, bool]
) -> dict[str, Any]:
    """Tell of a message in format 0 or 1; the brace is Kafka's, whose lines people match on."""
    own, is_valid = message
    return {**_sizes(record, header), "isValid": is_valid, "crc": f"{own.crc}}}"}


def _sizes(record: Record, header: EntryHeader) -> dict[str, Any]:
    return {
        "offset": record.offset,
        timestamp_type(header): record.timestamp_ms,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _messages(
    data: memoryview, position: int, header: MessageHeader
) -> Iterator[tuple[MessageHeader, bool]]:
    """Give the messages of an entry, each with whether its sum is right: itself, or those in it."""
    if header.compression is Compression.NONE:
        yield header, check_message_crc(data, position, header)
        return
    start = position + ENTRY_OVERHEAD_BYTES[header.magic]  # A wrapper has no key.
    packed = data[start : position + header.size_bytes]
    inner = memoryview(decompress(header.compression, packed, magic=header.magic))
    for at, message in iterate_messages(inner):
        yield message, check_message_crc(inner, at, message)


def _marker(record: Record) -> dict[str, Any]:
    kind = control_type(record)
    if kind in {ControlRecordType.ABORT, ControlRecordType.COMMIT}:
        return {"endTxnMarker": kind.name, "coordinatorEpoch": coordinator_epoch(record)}
    return {"controlType": f"{kind.name}({kind.value})"}


def _is_control(header: EntryHeader) -> bool:
    return isinstance(header, BatchHeader) and header.is_control


def _words(shown: dict[str, Any]) -> str:
    return " ".join(f"{key}: {_word(value)}" for key, value in shown.items())


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
