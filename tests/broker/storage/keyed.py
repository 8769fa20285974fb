"""Logs of keyed records, for the tests of compaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from broker.storage.partition_log import PartitionLog
from protocol.ports import Disk
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.records import Record, iterate_all_records
from tests.broker.storage.builders import Config, log_on

Pairs: TypeAlias = "list[tuple[bytes, bytes | None]]"


def keyed_batch(base_offset: int, pairs: Pairs, *, producer_id: int = -1) -> bytes:
    """One batch of (key, value); timestamps are the offsets, a producer's sequences as well."""
    records = [
        NewRecord(value, key, timestamp_ms=base_offset + number)
        for number, (key, value) in enumerate(pairs)
    ]
    options = BatchOptions(
        base_offset=base_offset,
        leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0,
        base_sequence=-1 if producer_id < 0 else base_offset,
    )
    return bytes(build_batch(records, options))


def keyed_log(disk: Disk, batches: Sequence[Pairs], config: Config) -> PartitionLog:
    """A log with these batches, offsets from 0 on."""
    log = log_on(disk, config=config)
    for pairs in batches:
        log.append([keyed_batch(log.log_end_offset, pairs)], now_ms=0)
    return log


def records_of(log: PartitionLog, start: int | None = None) -> list[Record]:
    """Every record from ``start`` on, as a consumer reads them."""
    found: list[Record] = []
    first = offset = log.log_start_offset if start is None else start
    while offset < log.log_end_offset:
        read = log.read(offset, 200)
        for data in read.buffers:
            found += iterate_all_records(data)
        assert read.next_offset > offset
        offset = read.next_offset
    return [record for record in found if record.offset >= first]


def last_values(records: Iterable[Record]) -> dict[bytes, bytes]:
    """What a consumer knows who applied these records to a table; deleted keys are not in it."""
    table: dict[bytes, bytes] = {}
    for record in records:
        assert record.key is not None
        if record.value is None:
            table.pop(record.key, None)
        else:
            table[record.key] = record.value
    return table
