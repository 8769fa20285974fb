"""What the tests of storage build: batches, configs, logs on any disk, log dirs on the loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from broker.core.log_dirs import LogDirFailed
from broker.storage.fault_rules import FaultRule
from broker.storage.faults import FaultyDisk
from broker.storage.files import LogDirFiles
from broker.storage.log_dir import DirWorkers, LogDir
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.worker import InlineDiskWorker
from protocol.faults.model import DiskFault, DiskMode
from protocol.ids import TopicPartition
from protocol.ports import Disk
from protocol.records.batch import iterate_batches
from protocol.records.build import BatchOptions, NewRecord, build_batch

ORDERS = TopicPartition("orders", 0)
UNIQUE = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Config:
    """Small segments, so that little data shows everything."""

    segment_bytes: int = 2000
    segment_ms: int = 604_800_000
    segment_index_bytes: int = 4096
    index_interval_bytes: int = 256
    segment_jitter_ms: int = 0
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1

    @property
    def max_segment_ms(self) -> int:
        return self.segment_ms


def batch(
    base_offset: int,
    count: int = 1,
    *,
    size: int = 100,
    epoch: int = 0,
    timestamp: int | None = None,
) -> bytes:
    """One batch of ``count`` records; each timestamp is 1000 times its offset unless given."""
    first = base_offset * 1000 if timestamp is None else timestamp
    records = [
        NewRecord(value=bytes(size), timestamp_ms=first + number * 1000) for number in range(count)
    ]
    return bytes(build_batch(records, BatchOptions(base_offset=base_offset, leader_epoch=epoch)))


def batches(start: int, end: int, **options: int) -> list[bytes]:
    """Batches of one record each for the offsets from ``start`` up to ``end``."""
    return [batch(offset, **options) for offset in range(start, end)]


def produced(base_offset: int, producer_id: int, sequence: int, *, epoch: int = 0) -> bytes:
    """One record of an idempotent producer."""
    options = BatchOptions(
        base_offset=base_offset,
        leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return bytes(build_batch([NewRecord(value=b"v", timestamp_ms=base_offset)], options))


class OneBit(random.Random):
    """Flips always the same bit."""

    def __init__(self, bit: int) -> None:
        super().__init__(0)
        self.bit = bit

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        del start, stop, step
        return self.bit


class BitsInTurn(random.Random):
    """Flips each bit once."""

    def __init__(self, bits: Iterable[int]) -> None:
        super().__init__(0)
        self._bits = iter(bits)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        del start, stop, step
        return next(self._bits)


def log_on(disk: Disk, name: str = "orders-0", config: Config | None = None) -> PartitionLog:
    """A new log."""
    return PartitionLog.create(LogDirFiles(disk), name, config or Config(), now_ms=0)


def filled_log(disk: Disk, end: int, config: Config | None = None) -> PartitionLog:
    """A log with one record per batch up to ``end``."""
    log = log_on(disk, config=config)
    log.append(batches(0, end), now_ms=0)
    return log


def faulty(disk: Disk) -> FaultyDisk:
    """Faults in front of ``disk``, drawn from a fixed seed."""
    return FaultyDisk(disk, chance=random.Random(7))


def disk_rule(mode: DiskMode, **details: Any) -> FaultRule:
    """The rule of one fault, which met nothing yet; ``details`` are more fields of DiskFault."""
    return FaultRule(DiskFault(mode=mode, node="broker-1", **details))


class Failures:
    """Collects what ``on_failed`` was told."""

    def __init__(self) -> None:
        self.seen: list[LogDirFailed] = []

    def __call__(self, failure: LogDirFailed) -> None:
        self.seen.append(failure)


def inline_log_dir(
    disk: Disk | None = None,
    *,
    path: str | None = None,
    on_failed: Failures | None = None,
    queue_depth_max: int = 100,
) -> LogDir:
    """A log dir whose jobs run on the loop itself."""
    used, loop = disk or MemoryDisk(), asyncio.get_running_loop()
    return LogDir(
        path=path or used.root,
        disk=used,
        workers=DirWorkers(InlineDiskWorker(loop), InlineDiskWorker(loop)),
        deadline_ms=1000,
        queue_depth_max=queue_depth_max,
        on_failed=on_failed or Failures(),
    )


def offsets_read(log: PartitionLog, start: int, max_bytes: int = 10_000) -> list[int]:
    """All base offsets from ``start`` on, each read from where the last one ended."""
    found: list[int] = []
    offset = start
    while offset < log.log_end_offset:
        read = log.read(offset, max_bytes)
        for data in read.buffers:
            found += [header.base_offset for _, header in iterate_batches(data)]
        assert read.next_offset > offset
        offset = read.next_offset
    return found
