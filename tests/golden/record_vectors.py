"""The golden record batches and message sets, and our values in the words of their JSON.

``records.jsonl.gz``: all from Apache Kafka 3.9.2 (``MemoryRecordsBuilder``). Compressed bytes are
for decoding only: another build of a codec may write others. ``make_records`` has Kafka write them.
"""

from __future__ import annotations

import functools
from typing import Any

from protocol.records.batch import BatchHeader
from protocol.records.message_set import MessageHeader
from protocol.records.records import Record
from tests.golden.vectors import load_vectors

Vector = dict[str, Any]


@functools.cache
def record_vectors() -> tuple[Vector, ...]:
    """Return all of them, in file order."""
    return tuple(load_vectors("records"))


def batch_words(header: BatchHeader) -> dict[str, Any]:
    """Return a header of format 2."""
    return {
        "magic": header.magic,
        "sizeInBytes": header.size_bytes,
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "attributes": header.attributes,
        "compression": header.compression.name.lower(),
        "timestampType": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "lastOffsetDelta": header.last_offset_delta,
        "count": header.records_count,
        "crc": header.crc,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
    }


def message_words(header: MessageHeader) -> dict[str, Any]:
    """Return a header of format 0 or 1, without what only the messages inside can tell."""
    timestamp_type = "LogAppendTime" if header.is_log_append_time else "CreateTime"
    return {
        "magic": header.magic,
        "sizeInBytes": header.size_bytes,
        "lastOffset": header.offset,
        "attributes": header.attributes,
        "compression": header.compression.name.lower(),
        "timestampType": timestamp_type if header.magic > 0 else "NoTimestampType",
        "maxTimestamp": header.timestamp,
        "crc": header.crc,
    }


def record_words(record: Record) -> dict[str, Any]:
    """Return a record; ``sequence`` is in the JSON of format 2 only."""
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "sequence": record.sequence,
        "key_hex": None if record.key is None else record.key.hex(),
        "value_hex": None if record.value is None else record.value.hex(),
        "headers": [[key, None if value is None else value.hex()] for key, value in record.headers],
    }
