"""Reads the logs on the disks of a simulated cluster, as they lie there, without taking time.

It reads files, not what brokers have in memory; of the engine it takes only the high watermark, the
start of the log and whether it leads.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from broker.engine.state import EngineState
from broker.storage.layout import (
    LOG_SUFFIX,
    BadDirName,
    DirKind,
    PartitionDirName,
    parse_dir_name,
    parse_segment_file_name,
)
from broker.storage.memory_disk import MemoryDisk
from protocol.errors import Malformed
from protocol.records.batch import UnsupportedMagic, iterate_batches
from protocol.records.records import iterate_records
from simulation.core.payload import number_of
from simulation.core.samples import BatchSample, LogSample
from simulation.world.cluster import SimCluster
from simulation.world.node import BrokerNode


def look_at_disks(cluster: SimCluster) -> list[LogSample]:
    """Return every current and future log; records only of those whose broker leads."""
    return [log for node in cluster.brokers.values() for log in _logs(node)]


def _logs(node: BrokerNode) -> Iterator[LogSample]:
    engine = None if node.broker is None else node.broker.surface.engine
    state = None if engine is None else engine.state
    for path, drive in node.drives.items():
        memory = drive.disk.memory
        for name in memory.list_dir(""):
            found = _partition_dir(memory, name)
            if found is not None:
                yield _log(node.id, state, path, memory, found)


def _partition_dir(memory: MemoryDisk, name: str) -> PartitionDirName | None:
    if not memory.is_dir(name):
        return None
    try:
        found = parse_dir_name(name)
    except BadDirName:
        return None
    return found if found.kind in (DirKind.CURRENT, DirKind.FUTURE) else None


def _log(
    broker: int, state: EngineState | None, path: str, memory: MemoryDisk, found: PartitionDirName
) -> LogSample:
    tp = found.topic_partition
    is_future = found.kind is DirKind.FUTURE
    if state is None or not state.dirs[path].online:
        return LogSample(broker, path, tp, is_future, is_readable=False)
    replica = state.hosted.online(tp)
    if replica is None or is_future or replica.dir.path != path:
        return LogSample(broker, path, tp, is_future)
    partition = replica.partition
    batches = _batches(memory, str(found.topic_partition), with_records=partition.is_leader)
    return LogSample(
        broker,
        path,
        tp,
        is_future=False,
        high_watermark=partition.high_watermark,
        log_start_offset=partition.log_start_offset,
        is_leader=partition.is_leader,
        batches=tuple(batch for batch in batches if batch.next_offset > partition.log_start_offset),
    )


def _batches(memory: MemoryDisk, name: str, *, with_records: bool) -> Iterator[BatchSample]:
    """Give the batches of all segments in the order of their offsets."""
    segments = sorted(
        (base, file)
        for file in memory.list_dir(name)
        if (parsed := parse_segment_file_name(file)) is not None
        for base, suffix in [parsed]
        if suffix == LOG_SUFFIX
    )
    for _, file in segments:
        try:
            yield from _batches_of(memory.read_file(f"{name}/{file}"), with_records=with_records)
        except (Malformed, UnsupportedMagic):
            return  # A disk wrote over it; whether it may have is for the checkers to say.


def _batches_of(data: bytes, *, with_records: bool) -> Iterator[BatchSample]:
    for at, header in iterate_batches(data):
        has_records = with_records and not header.is_control
        yield BatchSample(
            header.base_offset,
            header.next_offset,
            crc32(data[at : at + header.size_bytes]),
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            tuple(
                (record.offset, number_of(record.value))
                for record in iterate_records(data, at, header)
            )
            if has_records
            else (),
        )
