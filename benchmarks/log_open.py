"""What it costs to open a log of a clean log dir: ``python -m benchmarks.log_open``.

A producer snapshot names one batch per producer, and the others are read back from the log; this is
what that adds, in processor time, for logs that differ in who wrote them. Disks are in memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from broker.storage.earlier_batches import recall_batches
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, OpenedLog, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from protocol.configs.topic import TopicConfig
from protocol.records.build import BatchOptions, NewRecord, build_batch

_NAME: Final = "t-0"
_ROUNDS: Final = 5
_BATCHES: Final = 20_000


class Shape(NamedTuple):
    """One log."""

    name: str
    producer_of: Callable[[int], int]
    """From a batch's number; -1 for none."""
    value_bytes: int


def _nobody(_number: int) -> int:
    return -1


def _one(_number: int) -> int:
    return 1


def _hundred(number: int) -> int:
    return number % 100


def _one_and_a_seldom_one(number: int) -> int:
    return 2 if number % (_BATCHES - 10) == 5 else 1


_SHAPES: Final = (
    Shape("no producer, 1 KiB", _nobody, 960),
    Shape("one producer, 1 KiB", _one, 960),
    Shape("one producer, 100 B", _one, 40),
    Shape("100 producers, 1 KiB", _hundred, 960),
    Shape("one that writes seldom, 1 KiB", _one_and_a_seldom_one, 960),
    Shape("one that writes seldom, 100 B", _one_and_a_seldom_one, 40),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def main(*, as_json: bool) -> None:
    """Open each log, and have its producers' batches read back once more."""
    rows = [(shape.name, *_measure(shape)) for shape in _SHAPES]
    if as_json:
        names = ("log", "open_ms", "recall_ms")
        click.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=1))
        return
    table = Table("log", "open, ms", "of that reading back, ms", title=f"{_BATCHES} batches each")
    for name, open_ms, recall_ms in rows:
        table.add_row(name, f"{open_ms:.2f}", f"{recall_ms:.2f}")
    Console().print(table)


def _measure(shape: Shape) -> tuple[float, float]:
    disk = MemoryDisk()
    _fill(disk, shape)
    opened = _open(disk)
    open_ms = min(_milliseconds(lambda: _open(disk)) for _ in range(_ROUNDS))
    recall_ms = min(_milliseconds(_recalling(opened)) for _ in range(_ROUNDS))
    return round(open_ms, 3), round(recall_ms, 3)


def _fill(disk: MemoryDisk, shape: Shape) -> None:
    log = PartitionLog.create(LogDirFiles(disk), _NAME, TopicConfig(), now_ms=0)
    sequences: dict[int, int] = {}
    for number in range(_BATCHES):
        producer = shape.producer_of(number)
        sequence = sequences.get(producer, 0)
        sequences[producer] = sequence + 1
        options = BatchOptions(
            base_offset=number,
            leader_epoch=0,
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=sequence if producer >= 0 else -1,
        )
        record = NewRecord(value=bytes(shape.value_bytes), timestamp_ms=number)
        log.append([build_batch([record], options)], now_ms=0)
    log.close()


def _open(disk: MemoryDisk) -> OpenedLog:
    directory = PartitionFiles(LogDirFiles(disk), _NAME)
    return open_log(directory, TopicConfig(), KnownOffsets(was_clean=True), now_ms=0)


def _recalling(opened: OpenedLog) -> Callable[[], None]:
    """Return what reads the batches back to states as a snapshot has them."""
    return lambda: recall_batches(
        opened.log.segments, opened.log.log_end_offset, opened.producers.for_snapshots()
    )


def _milliseconds(job: Callable[[], object]) -> float:
    before_s = time.thread_time()
    job()
    return (time.thread_time() - before_s) * 1000


if __name__ == "__main__":
    main()
