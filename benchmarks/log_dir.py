"""The disk layer alone: ``python -m benchmarks.log_dir [--dir PATH]`` prints one table.

Appends through a LogDir (queue, thread, group commit, indexes) beside plain pwritev calls to the
same file system in the same run, and the cost of making logs. No network, no replication.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from broker.core.log_dirs import LogDirFailed
from broker.storage.disk import FileDisk
from broker.storage.log_dir import DirWorkers, LogDir
from broker.storage.partition_log import PartitionLog
from broker.storage.shutdown import close_log_dir
from broker.storage.startup import LoadOptions, load_log_dirs
from broker.storage.worker import ThreadDiskWorker
from protocol.configs.parsing import broker_config, topic_config
from protocol.ids import TopicPartition
from protocol.records.batch import stamp
from protocol.records.build import NewRecord, build_batch

TOTAL_BYTES = 256 << 20
IN_FLIGHT_BYTES = 8 << 20
LOGS = 2000
CONFIG = topic_config({}, broker_config({}))
"""Kafka's defaults."""


def batch_of(size_bytes: int) -> bytearray:
    """Return one batch of about ``size_bytes``."""
    return build_batch([NewRecord(value=bytes(size_bytes - 75))])


def stamped(template: bytearray, offset: int) -> bytes:
    """Return the batch with its offset."""
    stamp(template, 0, base_offset=offset, leader_epoch=0)
    return bytes(template)


def raw_seconds(root: Path, size_bytes: int, count: int, per_call: int) -> float:
    """Write ``count`` buffers with ``per_call`` of them in each pwritev."""
    data = bytes(size_bytes)
    descriptor = os.open(root / "raw", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    started = time.perf_counter()
    for first in range(0, count, per_call):
        os.pwritev(descriptor, [data] * per_call, first * size_bytes)
    seconds = time.perf_counter() - started
    os.close(descriptor)
    os.remove(root / "raw")
    return seconds


class Bench:
    """One log dir on a scratch directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = FileDisk(str(root / "d1"))
        self.disk.prepare()
        loop = asyncio.get_running_loop()
        self.log_dir = LogDir(
            path=self.disk.root,
            disk=self.disk,
            workers=DirWorkers(ThreadDiskWorker("d1", loop), ThreadDiskWorker("beside", loop)),
            deadline_ms=30_000,
            queue_depth_max=1024,
            on_failed=_report,
        )
        self.next_name = 0

    async def new_log(self) -> PartitionLog:
        """Make a log."""
        self.next_name += 1
        name = f"bench-{self.next_name}"
        files = self.log_dir.queue.files
        return await self.log_dir.queue.submit(
            "create", lambda: PartitionLog.create(files, name, CONFIG, now_ms=0)
        )

    async def appends(self, size_bytes: int, count: int, in_flight: int) -> float:
        """Append ``count`` batches to one log, ``in_flight`` at a time; return seconds."""
        log = await self.new_log()
        template = batch_of(size_bytes)
        groups = [
            [stamped(template, offset) for offset in range(first, min(first + in_flight, count))]
            for first in range(0, count, in_flight)
        ]
        started = time.perf_counter()
        for group in groups:
            futures = [self.log_dir.queue.submit_append(log, [data], 0) for data in group]
            await futures[-1]
        seconds = time.perf_counter() - started
        await self.log_dir.queue.submit("delete", log.delete_files)
        return seconds

    async def submit_seconds(self, size_bytes: int, count: int) -> float:
        """Return what ``submit_append`` itself costs the loop, per append."""
        log = await self.new_log()
        template = batch_of(size_bytes)
        batches = [stamped(template, offset) for offset in range(count)]
        started = time.perf_counter()
        futures = [self.log_dir.queue.submit_append(log, [data], 0) for data in batches]
        seconds = time.perf_counter() - started
        await futures[-1]
        await self.log_dir.queue.submit("delete", log.delete_files)
        return seconds / count

    async def creations(self) -> dict[TopicPartition, PartitionLog]:
        """Make many logs with their first leader epoch, as a LeaderAndIsr with new topics does."""
        files, config = self.log_dir.queue.files, CONFIG

        def create(name: str) -> PartitionLog:
            log = PartitionLog.create(files, name, config, now_ms=0, topic_id=bytes(range(16)))
            log.write_leader_epochs([(0, 0)])
            return log

        names = {TopicPartition("many", number): f"many-{number}" for number in range(LOGS)}
        futures = {
            tp: self.log_dir.queue.submit("create", lambda name=name: create(name))
            for tp, name in names.items()
        }
        return {tp: await future for tp, future in futures.items()}

    async def close(self, logs: dict[TopicPartition, PartitionLog]) -> None:
        """Stop cleanly."""
        files = self.log_dir.queue.files
        await self.log_dir.queue.submit(
            "close", lambda: close_log_dir(files, logs, {}, broker_epoch=1), bounded=False
        )

    async def load(self) -> None:
        """Load everything again."""
        options = LoadOptions(lambda _: CONFIG, 0, lambda _path, _progress: None)
        await load_log_dirs([self.log_dir], options)


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """Return the seconds that ``work`` takes."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


async def throughput(bench: Bench, size_bytes: int) -> str:
    """Return one row: LogDir beside pwritev with as many buffers per call."""
    count, in_flight = TOTAL_BYTES // size_bytes, max(1, IN_FLIGHT_BYTES // size_bytes)
    ours: list[float] = []
    raw: list[float] = []
    for _ in range(3):  # Taken in turns, so that both see the same disk.
        raw.append(raw_seconds(bench.root, size_bytes, count, in_flight))
        ours.append(await bench.appends(size_bytes, count, in_flight))
    mib = TOTAL_BYTES / (1 << 20)
    return (
        f"append {size_bytes >> 10:5} KiB batches   LogDir {mib / min(ours):7.0f} MiB/s   "
        f"pwritev {mib / min(raw):7.0f} MiB/s   ratio {min(raw) / min(ours):.2f}"
    )


async def costs(bench: Bench) -> list[str]:
    """Return the rows of the cost per append and per log."""
    alone = await bench.appends(1024, 2000, 1) / 2000
    shared = await bench.appends(1024, 32_000, 32) / 32_000
    many = await bench.appends(1024, 51_200, 256) / 51_200
    submit = min([await bench.submit_seconds(1024, 1000) for _ in range(5)])
    logs: dict[TopicPartition, PartitionLog] = {}

    async def create() -> None:
        logs.update(await bench.creations())

    rows = [
        f"append of 1 KiB alone           {alone * 1e6:7.1f} us",
        f"append of 1 KiB, 32 in a hop    {shared * 1e6:7.1f} us",
        f"append of 1 KiB, 256 in a hop   {many * 1e6:7.1f} us",
        f"submit_append on the loop       {submit * 1e6:7.1f} us",
        f"create {LOGS} logs               {await timed(create) * 1e3:7.0f} ms",
        f"close {LOGS} new logs cleanly    {await timed(lambda: bench.close(logs)) * 1e3:7.0f} ms",
        f"load {LOGS} logs after that      {await timed(bench.load) * 1e3:7.0f} ms",
    ]
    return [*rows, f"open handles of {LOGS} idle logs  {bench.log_dir.queue.files.open_count:6}"]


async def run(root: Path) -> None:
    """Print the table."""
    bench = Bench(root)
    for size_bytes in (16 << 10, 1 << 20):
        print(await throughput(bench, size_bytes))
    for row in await costs(bench):
        print(row)


def _report(failure: LogDirFailed) -> None:
    print(failure)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", default="build", help="where the scratch directory is made")
    parent = Path(parser.parse_args().dir)
    parent.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run(root))
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
