"""Reads logs as they lie on a disk, whoever's disk it is: the evidence of checkers at the end.

It reads files, not what brokers have in memory; what is needed of that is given to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Protocol
from zlib import crc32

from broker.storage.layout import (
    LOG_SUFFIX,
    BadDirName,
    DirKind,
    PartitionDirName,
    parse_dir_name,
    parse_segment_file_name,
)
from protocol.errors import Malformed
from protocol.ids import TopicPartition
from protocol.records.batch import BatchHeader, UnsupportedMagic, iterate_batches
from protocol.records.records import ControlRecordType, control_type, iterate_records
from simulation.core.payload import number_of
from simulation.core.samples import BatchSample, EpochBegin, LogSample, ProducerSample

_BATCHES_KEPT: Final = 4096


class Files(Protocol):
    """What is read of a log dir; names are relative to it, "" is itself. Any ``Disk`` can."""

    def list_dir(self, name: str) -> list[str]:
        """Return the names in a directory."""
        ...

    def is_dir(self, name: str) -> bool:
        """Tell whether this is a directory."""
        ...

    def read_file(self, name: str) -> bytes:
        """Return a whole file."""
        ...


class Holding(NamedTuple):
    """A current log as the broker that uses it has it in memory."""

    log_dir: str
    is_leader: bool
    high_watermark: int
    log_start_offset: int
    producers: tuple[ProducerSample, ...] | None = None
    epochs: tuple[EpochBegin, ...] | None = None


def logs_below(
    broker: int, log_dir: str, files: Files, holdings: Mapping[TopicPartition, Holding] | None
) -> Iterator[LogSample]:
    """Give every current and future log.

    Args:
        broker: whose log dir it is.
        log_dir: its path.
        files: what lies there.
        holdings: what the broker uses, of all its log dirs; None when this one is not online.
    """
    for name in files.list_dir(""):
        found = _partition_dir(files, name)
        if found is not None:
            tp, is_future = found.topic_partition, found.kind is DirKind.FUTURE
            if holdings is None:
                yield LogSample(broker, log_dir, tp, is_future, is_readable=False)
                continue
            held = holdings.get(tp)
            if held is None or is_future or held.log_dir != log_dir:
                yield LogSample(broker, log_dir, tp, is_future)
            else:
                yield _current(broker, tp, files, held)


def _partition_dir(files: Files, name: str) -> PartitionDirName | None:
    if not files.is_dir(name):
        return None
    try:
        found = parse_dir_name(name)
    except BadDirName:
        return None
    return found if found.kind in (DirKind.CURRENT, DirKind.FUTURE) else None


def _current(broker: int, tp: TopicPartition, files: Files, held: Holding) -> LogSample:
    batches = _batches(files, str(tp))
    return LogSample(
        broker,
        held.log_dir,
        tp,
        is_future=False,
        high_watermark=held.high_watermark,
        log_start_offset=held.log_start_offset,
        is_leader=held.is_leader,
        batches=tuple(batch for batch in batches if batch.next_offset > held.log_start_offset),
        producers=held.producers,
        epochs=held.epochs,
    )


def _batches(files: Files, name: str) -> Iterator[BatchSample]:
    """Give the batches of all segments in the order of their offsets."""
    segments = sorted(
        (base, file)
        for file in files.list_dir(name)
        if (parsed := parse_segment_file_name(file)) is not None
        for base, suffix in [parsed]
        if suffix == LOG_SUFFIX
    )
    for _, file in segments:
        try:
            yield from _batches_of(files.read_file(f"{name}/{file}"))
        except (Malformed, UnsupportedMagic):
            return  # A disk wrote over it; whether it may have is for the checkers to say.


def _batches_of(data: bytes) -> Iterator[BatchSample]:
    for at, header in iterate_batches(data):
        batch = data[at : at + header.size_bytes]
        yield BatchSample(
            header.base_offset,
            header.next_offset,
            crc32(batch),
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            () if header.is_control else _records_of(batch, header),
            header.is_transactional,
            _marker(batch, header) if header.is_control else "",
            header.partition_leader_epoch,
        )


@lru_cache(_BATCHES_KEPT)
def _records_of(batch: bytes, header: BatchHeader) -> tuple[tuple[int, int], ...]:
    """Return offset and number of each record: the same bytes lie in the logs of all replicas."""
    return tuple(
        (record.offset, number_of(record.value, record.headers))
        for record in iterate_records(batch, 0, header)
    )


def _marker(batch: bytes, header: BatchHeader) -> Literal["", "commit", "abort"]:
    """Return how a transaction ended, where it is that which a control batch tells."""
    for record in iterate_records(batch, 0, header):
        match control_type(record):
            case ControlRecordType.COMMIT:
                return "commit"
            case ControlRecordType.ABORT:
                return "abort"
            case _:
                pass
    return ""
