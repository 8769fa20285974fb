"""One broker whose every change of a disk is a moment at which a crash could come.

A story runs once, undisturbed; each moment keeps what the disks hold and what was promised by
then. Nothing is judged here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from broker.core.log_dirs import LogDirFailed
from broker.engine.replica import Replica
from broker.engine.types import ProducePart
from broker.storage.memory_disk import MemoryDisk
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, Led
from tests.broker.engine.node import Node

Cut: TypeAlias = Callable[[Replica, int], "asyncio.Future[bool]"]
PATHS: Final = ("/d1", "/d2", "/d3")
OVERRIDES: Final = {
    "log.segment.bytes": "1024",
    "log.index.interval.bytes": "100",
    "log.index.size.max.bytes": "4096",
    "log.segment.delete.delay.ms": "200",
    "log.flush.offset.checkpoint.interval.ms": "60000",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.retention.check.interval.ms": "3600000",
}
KEYS: Final = 4
"""Most records of a compacted topic take turns with this many keys; some have one of their own."""
_FIRST_MS: Final = 1_700_000_000_000
_DEADLINE_S: Final = 60


@dataclass(slots=True)
class Promise:
    """What must be found, and what may be found, of one partition."""

    acknowledged: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """By offset: there after the process was killed."""
    durable_end: int = 0
    """What was acknowledged before this offset is there after a power cut, too."""
    written: dict[int, list[bytes]] = field(default_factory=dict[int, list[bytes]])
    """By offset: everything that was ever on its way there."""
    is_deleted: bool = False
    """Whether its deletion was begun; then it may be there or not."""
    is_cut: bool = False
    """Whether its log is being cut right now: what is durable of it is not known then."""
    start: int = 0
    """What lay before this offset was deleted for good: it must not come back."""
    kept_from: int = 0
    """Retention or a deletion of records may have taken what lies before this offset."""
    configs: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def is_compacted(self) -> bool:
        """Whether a later record of its key may stand for a record."""
        return self.configs.get("cleanup.policy") == "compact"

    def copy(self) -> Promise:
        """Return what is promised now."""
        written = {offset: list(values) for offset, values in self.written.items()}
        return replace(self, acknowledged=dict(self.acknowledged), written=written)

    def keep_from(self, offset: int) -> None:
        """Let what lies before ``offset`` go, now or later."""
        self.kept_from = max(self.kept_from, offset)

    def fall_to(self, offset: int) -> None:
        """Promise nothing from ``offset`` on any more."""
        self.acknowledged = {at: v for at, v in self.acknowledged.items() if at < offset}
        self.durable_end = min(self.durable_end, offset)


@dataclass(frozen=True, slots=True)
class Moment:
    """What a crash right before one change of a disk would meet."""

    number: int
    before: str
    disks: tuple[MemoryDisk, ...]
    promises: dict[TopicPartition, Promise]


class World:
    """A broker with three log dirs, its controller, and a producer that remembers."""

    def __init__(self, lab: Lab, *, is_watched: bool) -> None:
        self.lab = lab
        self.disks = [MemoryDisk(path) for path in PATHS]
        self.promises: dict[TopicPartition, Promise] = {}
        self.moments: list[Moment] = []
        self.topic_configs: dict[str, dict[str, str]] = {}
        self._count = 0
        self._producer_id = 1
        if is_watched:
            for disk in self.disks:
                disk.before_change = lambda operation, name, root=disk.root: self.note(
                    f"{operation} {root}/{name}"
                )

    @property
    def node(self) -> Node:
        return self.lab[1]

    def note(self, before: str) -> None:
        """Keep this moment."""
        self._raise_durable_ends()
        disks = tuple(disk.copy() for disk in self.disks)
        promises = {tp: promise.copy() for tp, promise in self.promises.items()}
        self.moments.append(Moment(len(self.moments), before, disks, promises))

    def _raise_durable_ends(self) -> None:
        if 1 not in self.lab.nodes:
            return
        for tp, promise in self.promises.items():
            replica = self.node.state.hosted.online_replica(tp)
            if replica is not None and not promise.is_cut:
                promise.durable_end = max(promise.durable_end, replica.log.files.recovery_point)

    # The life of the broker.

    async def start(self) -> None:
        """Start the broker on what its disks hold."""
        self.lab.nodes.pop(1, None)
        for disk in self.disks:
            disk.kill()
        node = Node(1, self.disks, self.lab.ports())
        node.topic_configs = self.topic_configs
        await node.start()
        self.lab.nodes[1] = node
        node.engine.run(self.lab.group)
        self.lab.tell_metadata()

    async def stop(self) -> None:
        """Stop the broker cleanly."""
        await self.node.engine.stop()

    async def kill(self) -> None:
        """End the process; the disks stay as they are."""
        await self.lab.kill(self.node)

    async def lead_all(self) -> None:
        """Become the leader of everything."""
        for tp in list(self.lab.led):
            await self.lab.elect(tp, 1, [1])

    # What stories do.

    async def create(self, tp: TopicPartition = ORDERS, **configs: str) -> None:
        """Create a partition led by this broker; it stays away when its log dir is broken."""
        given = {name.replace("_", "."): value for name, value in configs.items()}
        self.topic_configs[tp.topic] = given
        self.promises[tp] = Promise(configs=given)
        self.lab.led[tp] = Led([1], 1, [1])
        self.lab.tell_metadata()
        await self.lab.tell(tp, is_new=True)

    async def produce(self, count: int, tp: TopicPartition = ORDERS, *, size: int = 40) -> None:
        """Send ``count`` batches of one record, idempotent, each after the answer to the last."""
        for _ in range(count):
            await self._send(tp, size)

    async def produce_keyed(
        self, count: int, tp: TopicPartition = ORDERS, *, is_tombstone: bool = False
    ) -> None:
        """Send ``count`` records to a compacted topic, the keys in turn, perhaps tombstones."""
        for _ in range(count):
            await self._send(tp, 0 if is_tombstone else 60, is_keyed=True)

    async def _send(self, tp: TopicPartition, size: int, *, is_keyed: bool = False) -> None:
        """Send one record; one without a size is a tombstone."""
        replica = self.node.state.hosted.online_replica(tp)
        if replica is None:
            return
        offset = replica.partition.next_offset
        value = f"{tp}/{offset}/{self._count}/".encode().ljust(size, b".") if size else b""
        self._count += 1
        self.promises[tp].written.setdefault(offset, []).append(value)
        key = key_of(offset) if is_keyed else None
        part = ProducePart(tp, self._batch_of(value or None, key, offset))
        (result,) = await self.node.engine.produces.produce([part], acks=-1, timeout_ms=1000)
        if result.error_code == ErrorCode.NONE:
            assert result.base_offset == offset
            self.promises[tp].acknowledged[offset] = value

    def _batch_of(self, value: bytes | None, key: bytes | None, sequence: int) -> memoryview:
        options = BatchOptions(
            producer_id=self._producer_id, producer_epoch=0, base_sequence=sequence
        )
        record = NewRecord(value, key, timestamp_ms=_FIRST_MS + self._count * 10)
        return memoryview(build_batch([record], options))

    async def truncate(self, offset: int, tp: TopicPartition = ORDERS) -> None:
        """Cut a log, as a follower does."""
        await self._cut(offset, tp, self.node.logs.truncate)

    async def restart_at(self, offset: int, tp: TopicPartition = ORDERS) -> None:
        """Empty a log, which goes on at ``offset``, as a follower does that was away for long."""
        promise = self.promises[tp]
        promise.fall_to(0)
        promise.start = promise.kept_from = 0
        await self._cut(offset, tp, self.node.logs.restart_at)

    async def _cut(self, offset: int, tp: TopicPartition, cut: Cut) -> None:
        promise, replica = self.promises[tp], self.node.state.hosted.online_replica(tp)
        if replica is None:
            return
        promise.fall_to(offset)
        promise.is_cut = True
        self._producer_id += 1
        with suppress(LogDirFailed):
            await cut(replica, offset)
        promise.is_cut = False

    async def flush(self, tp: TopicPartition = ORDERS) -> None:
        """Make a log durable."""
        replica = self.node.state.hosted.online_replica(tp)
        if replica is not None:
            with suppress(LogDirFailed):
                await replica.log.dir.queue.submit("flush", replica.log.files.flush)

    async def checkpoint(self) -> None:
        """Write all checkpoints, and wait until they are written."""
        self.node.checkpoints.write_offsets()
        self.node.checkpoints.write_high_watermarks()
        await self.settle()

    async def write_log_starts(self) -> None:
        """Write the log start offsets; what was deleted by then is gone for good."""
        starts = {
            tp: replica.partition.log_start_offset
            for tp, replica in self.node.state.hosted.iterate_online()
        }
        self.node.checkpoints.write_log_starts()
        await self.settle()
        for tp, start in starts.items():
            if self.node.state.hosted.online_replica(tp) is not None:
                self.promises[tp].start = max(self.promises[tp].start, start)

    async def delete_records(self, offset: int, tp: TopicPartition = ORDERS) -> None:
        """Delete the records before ``offset``; -1: all of them."""
        promise, replica = self.promises[tp], self.node.state.hosted.online_replica(tp)
        if replica is not None:
            promise.keep_from(replica.partition.high_watermark if offset < 0 else offset)
            await self.node.engine.record_deletions.delete([(tp, offset)], timeout_ms=1000)

    async def retain(self, keep: int, tp: TopicPartition = ORDERS) -> None:
        """Let retention look; the last ``keep`` records must be more than it may take."""
        replica = self.node.state.hosted.online_replica(tp)
        if replica is not None:
            self.promises[tp].keep_from(replica.partition.high_watermark - keep)
            self.node.retention.check()
            await self.settle()

    async def compact(self, tp: TopicPartition = ORDERS) -> None:
        """Wait until all but the active segment of a log is compacted, or it is offline."""
        async with asyncio.timeout(_DEADLINE_S):
            while not self._is_compacted(tp):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await self.settle()

    def _is_compacted(self, tp: TopicPartition) -> bool:
        replica = self.node.state.hosted.online_replica(tp)
        if replica is None:
            return True
        cleaned = self.node.state.cleaner_offsets.get(replica.log_dir, tp)
        return cleaned == replica.log.files.segment_base_offsets[-1]

    async def settle(self) -> None:
        """Wait until no log dir has work left."""
        for log_dir in self.node.log_dirs.values():
            with suppress(LogDirFailed):
                await log_dir.queue.submit("settle", _nothing)

    async def move(self, path: str, tp: TopicPartition = ORDERS) -> ErrorCode:
        """Ask for a move between log dirs; does not wait for its end."""
        return (await self.node.engine.moves.alter([(tp, path)]))[tp]

    async def move_slowly(self, path: str, tp: TopicPartition = ORDERS) -> ErrorCode:
        """Ask for a move and wait until a part of it is copied; it does not end by itself."""
        self.node.set_move_limit(500)
        code = await self.move(path, tp)
        await asyncio.sleep(2)
        return code

    async def move_ends(self, tp: TopicPartition = ORDERS) -> None:
        """Wait until a replica has no future log, or is offline."""
        self.node.set_move_limit(1 << 40)
        async with asyncio.timeout(_DEADLINE_S):
            while (  # noqa: ASYNC110
                replica := self.node.state.hosted.online_replica(tp)
            ) and replica.future is not None:
                await asyncio.sleep(0.01)
        await self.settle()

    async def delete(self, tp: TopicPartition = ORDERS) -> bool:
        """Delete a replica, whose files go later; False when the broker could not."""
        self.promises[tp].is_deleted = True
        self.promises[tp].fall_to(0)
        code = await self.lab.stop_replica(1, tp, delete=True)
        if code == ErrorCode.NONE:
            self.lab.led.pop(tp)
        return code == ErrorCode.NONE

    async def wait_for_deletions(self) -> None:
        """Wait until the files of deleted and moved logs are gone."""
        await asyncio.sleep(1)
        await self.settle()

    def path_of(self, tp: TopicPartition = ORDERS) -> str:
        """Return the log dir of a partition; the first one when it is offline."""
        replica = self.node.state.hosted.online_replica(tp)
        return PATHS[0] if replica is None else replica.log_dir

    def other_path(self, number: int = 0, tp: TopicPartition = ORDERS) -> str:
        """Return a log dir that does not hold a partition."""
        return [path for path in PATHS if path != self.path_of(tp)][number]


@asynccontextmanager
async def new_world(*, is_watched: bool) -> AsyncGenerator[World]:
    """A world whose broker is not started yet."""
    lab = Lab(dict(OVERRIDES))
    async with asyncio.TaskGroup() as group:
        lab.group = group
        try:
            yield World(lab, is_watched=is_watched)
        finally:
            lab.end()


def key_of(offset: int) -> bytes:
    """Return the key of the record at an offset of a compacted topic: most are overwritten."""
    return f"key-{offset if offset % 7 == 0 else -(offset % KEYS)}".encode()


def _nothing() -> None:
    return None
