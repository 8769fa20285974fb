"""Scene: a simulated cluster, an administrator and a producer that remembers what it was promised.

Stories are told in its words. Each word comes to its end also when a disk breaks on the way; it
judges nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from broker.lifecycle.log_dir_returns import ReturnRefusedError, Wish
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.ports import Buffer
from protocol.records.build import NewRecord, build_batch
from protocol.spec import parse_cluster_spec
from simulation.core.history import History
from simulation.matrix.promise import Promise
from simulation.workload.admin import Admin, ConfigResource
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.world.cluster import SimCluster
from simulation.world.loop import SimLoop
from simulation.world.node import BrokerNode

VICTIM: Final = 1
"""The broker that crashes."""
BROKERS: Final = (1, 2, 3)
PATHS: Final = ("/b1/d1", "/b1/d2", "/b1/d3")
"""The victim's log dirs."""
ORDERS: Final = TopicPartition("orders", 0)
SECOND: Final = TopicPartition("second", 0)
PATIENCE_S: Final = 20
MOVE_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_PRODUCE_VERSION: Final = 9
_LOOK_AGAIN_S: Final = 0.05
_RECORD_BYTES: Final = 60
_KEYS: Final = 4
_SPEC: Final = """
cluster_id: matrix
controller: {port: 9000, data_dir: /controller}
metrics: {interval_ms: 3600000}
configs:
  log.segment.bytes: 1024
  log.index.interval.bytes: 100
  log.index.size.max.bytes: 4096
  log.segment.delete.delay.ms: 200
  log.initial.task.delay.ms: 500
  log.flush.offset.checkpoint.interval.ms: 2000
  log.flush.start.offset.checkpoint.interval.ms: 2000
  log.retention.check.interval.ms: 1000
  log.cleaner.backoff.ms: 500
  log.cleaner.min.cleanable.ratio: 0.01
  min.insync.replicas: 2
brokers:
""" + "".join(
    f"  - {{id: {n}, port: {9000 + n}, "
    f"log_dirs: [{{path: /b{n}/d1}}, {{path: /b{n}/d2}}, {{path: /b{n}/d3}}]}}\n"
    for n in BROKERS
)


class Scene:
    """A controller, three brokers with three log dirs each, and who works with them."""

    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop
        self.begin: Callable[[], None] = _nothing
        """Called by a story when its own part begins."""
        spec = parse_cluster_spec(_SPEC, base_dir=Path("/"), source="the matrix")
        self.cluster = SimCluster(loop, spec)
        self.client = ClusterClient(addresses_of(spec), "matrix", request_timeout_ms=3_000)
        self.admin = Admin(self.client, History(lambda: loop.now_us))
        self.promises: dict[TopicPartition, Promise] = {}
        self._count = 0

    @property
    def victim(self) -> BrokerNode:
        """The broker that crashes."""
        return self.cluster.brokers[VICTIM]

    # Topics.

    async def create(
        self, tp: TopicPartition = ORDERS, replicas: Sequence[int] = BROKERS, **configs: str
    ) -> bool:
        """Create a topic of one partition; False when it could not be."""
        given = {name.replace("_", "."): value for name, value in configs.items()}
        is_compacted = given.get("cleanup.policy") == "compact"
        promise = self.promises[tp] = Promise(is_compacted=is_compacted)
        was_unanswered = False
        async for _ in self._attempts():
            try:
                code = await self.admin.create_topic(
                    tp.topic, assignment=[list(replicas)], configs=given
                )
            except (OSError, Malformed):
                was_unanswered = True
                continue
            # Without a lost answer it is the old topic that is there, about to be deleted.
            is_there = code is ErrorCode.TOPIC_ALREADY_EXISTS and was_unanswered
            promise.is_created = code is ErrorCode.NONE or is_there
            if promise.is_created:
                break
        return promise.is_created

    async def delete(self, tp: TopicPartition = ORDERS) -> bool:
        """Delete a topic; False when it could not be."""
        self.promises[tp].is_deleted = True
        codes = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        is_deleted = await self._order(lambda: self.admin.delete_topic(tp.topic), codes)
        if is_deleted:
            self.promises[tp].sent.clear()
        return is_deleted

    # Records.

    async def produce(self, count: int, tp: TopicPartition = ORDERS) -> None:
        """Send ``count`` records with acks=all, each after the answer to the last."""
        for _ in range(count):
            await self._send(tp)

    async def _send(self, tp: TopicPartition) -> None:
        promise = self.promises[tp]
        value = f"{tp}/{self._count}/".encode().ljust(_RECORD_BYTES, b".")
        key = f"key-{self._count % _KEYS}".encode() if promise.is_compacted else None
        batch = build_batch([NewRecord(value, key, timestamp_ms=self.victim.clock.now_ms())])
        self._count += 1
        promise.sent[value] = None
        async for _ in self._attempts():
            offset = await self._try_send(tp, batch)
            if offset is not None:
                promise.acknowledged[offset] = value
                if key is not None:
                    promise.keys[offset] = key
                return

    async def _try_send(self, tp: TopicPartition, batch: Buffer) -> int | None:
        part = PartitionProduceData(index=tp.partition, records=batch)
        request = ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=2_000,
            topic_data=[TopicProduceData(name=tp.topic, partition_data=[part])],
        )
        try:
            leader = self.client.leader(tp)
            if leader is None or leader.broker < 0:
                await self.client.view([tp.topic])
                return None
            answer = await self.client.ask(leader.broker, request, _PRODUCE_VERSION)
            (result,) = answer.responses[0].partition_responses
            if result.error_code == ErrorCode.NONE:
                return result.base_offset
            await self.client.view([tp.topic])
        except (OSError, KafkaError, Malformed):
            await self._look_anew(tp)
        return None

    async def _look_anew(self, tp: TopicPartition) -> None:
        try:
            await self.client.view([tp.topic])
        except (OSError, Malformed):
            return

    async def delete_records(self, offset: int, tp: TopicPartition = ORDERS) -> None:
        """Delete the records before ``offset``; -1: all of them."""
        promise = self.promises[tp]
        end = max([*promise.acknowledged, -1]) + 1
        promise.kept_from = max(promise.kept_from, end if offset < 0 else offset)
        await self._order(lambda: self.admin.delete_records(tp, offset))

    def let_go(self, keep: int, tp: TopicPartition = ORDERS) -> None:
        """Let retention take what lies before the last ``keep`` acknowledged records."""
        self.promises[tp].keep_last = keep

    # Log dirs.

    def path_of(self, tp: TopicPartition = ORDERS) -> str:
        """Return the victim's log dir that holds a partition; the first one when none does."""
        for path, drive in self.victim.drives.items():
            if drive.disk.memory.exists(str(tp)):
                return path
        return PATHS[0]

    def other_path(self, number: int = 0, tp: TopicPartition = ORDERS) -> str:
        """Return a log dir of the victim that does not hold a partition."""
        return [path for path in PATHS if path != self.path_of(tp)][number]

    async def move(self, path: str, tp: TopicPartition = ORDERS) -> None:
        """Order the victim to keep a replica in another log dir; does not wait for the end."""

        async def ask() -> ErrorCode:
            return (await self.admin.move_replicas(VICTIM, path, [tp]))[tp]

        codes = (
            ErrorCode.NONE,
            ErrorCode.KAFKA_STORAGE_ERROR,
            ErrorCode.REPLICA_NOT_AVAILABLE,
            ErrorCode.LOG_DIR_NOT_FOUND,
        )
        await self._order(ask, codes)

    async def slow_moves(self) -> None:
        """Have moves copy a little at a time."""
        await self._set_rate("300")

    async def moves_end(self) -> None:
        """Let moves be quick, and wait until none is under way."""
        await self._set_rate(None)
        async for _ in self._attempts():
            if not self.future_logs():
                return

    def future_logs(self) -> list[str]:
        """Return the future logs on the victim's disks."""
        return [
            name
            for drive in self.victim.drives.values()
            for name in drive.disk.memory.list_dir("")
            if name.endswith("-future")
        ]

    async def replace(self, path: str) -> None:
        """Put an empty disk in the place of a log dir."""
        async for _ in self._attempts():
            broker = self.victim.broker
            if broker is None or not broker.serving.done():
                continue
            try:
                wish = Wish(path, is_replaced=True)
                asked = self.victim.call(broker.surface.returns.ask, wish)
            except ReturnRefusedError:
                return
            await self._until(asked.ended.is_set)
            return

    async def reassign(self, replicas: Sequence[int], tp: TopicPartition = ORDERS) -> None:
        """Give a partition other replicas; does not wait for the end."""

        async def ask() -> ErrorCode:
            return (await self.admin.reassign({tp: replicas}))[tp]

        await self._order(ask)

    async def reassigned(self, replicas: Sequence[int], tp: TopicPartition = ORDERS) -> None:
        """Wait until a partition has these replicas, all in sync."""
        async for _ in self._attempts():
            try:
                view = await self.client.view([tp.topic])
            except (OSError, Malformed):
                continue
            seen = view.partitions.get(tp)
            if seen is not None and sorted(seen.isr) == sorted(seen.replicas) == sorted(replicas):
                return

    # The broker.

    async def restart(self) -> None:
        """Stop the victim cleanly and start it again."""
        self.victim.ask_to_end()
        await self._until(lambda: not self.victim.is_running)
        if not self.victim.is_running:
            self.victim.start()
        await self._until(self.cluster.is_up)

    async def rest(self, milliseconds: int) -> None:
        """Let time pass: checkpoints, retention and deletions come by themselves."""
        await asyncio.sleep(milliseconds / 1000)

    async def quicken(self) -> None:
        """Take the limit off that ``slow_moves`` set."""
        await self._set_rate(None)

    async def _set_rate(self, rate: str | None) -> None:
        await self._order(
            lambda: self.admin.alter_configs(ConfigResource.BROKER, str(VICTIM), {MOVE_RATE: rate})
        )

    async def _until(self, condition: Callable[[], bool]) -> None:
        async for _ in self._attempts():
            if condition():
                return

    async def _order(
        self,
        ask: Callable[[], Awaitable[ErrorCode]],
        codes: Sequence[ErrorCode] = (ErrorCode.NONE,),
    ) -> bool:
        """Give an order until it is answered with one of ``codes``; tell whether it is done."""
        async for _ in self._attempts():
            try:
                code = await ask()
            except (OSError, Malformed, KafkaError):
                continue
            if code in codes:
                return code not in (
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    ErrorCode.LOG_DIR_NOT_FOUND,
                    ErrorCode.REPLICA_NOT_AVAILABLE,
                )
        return False

    async def _attempts(self) -> AsyncIterator[int]:
        """Count attempts, a moment apart, as long as patience lasts."""
        deadline_s = self.loop.time() + PATIENCE_S
        number = 0
        while self.loop.time() < deadline_s:
            yield number
            number += 1
            await asyncio.sleep(_LOOK_AGAIN_S)


def _nothing() -> None:
    return None
