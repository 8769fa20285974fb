"""A simulated cluster, an administrator and a producer that remembers what it was promised.

Stories are told in its words. Each word comes to its end also when a disk breaks on the way; it
judges nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from broker.lifecycle.log_dir_returns import ReturnRequest
from protocol.cluster_file.spec import parse_cluster_spec
from protocol.configs.names import CORDONED_LOG_DIRS, MOVE_RATE
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.faults.model import DiskMode
from protocol.ids import TopicPartition
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.ports import Buffer
from protocol.records.build import NewRecord, build_batch
from simulation.core.history import History
from simulation.matrix.evidence import EvidenceKeeper
from simulation.matrix.operator import Operator
from simulation.matrix.partition_model import PartitionModel
from simulation.matrix.retrying import Retrying
from simulation.workload.admin import Admin
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.world.cluster import SimCluster
from simulation.world.journal_disk import JOURNAL_FILE
from simulation.world.loop import SimLoop
from simulation.world.node import BrokerNode

SUBJECT: Final = 1
"""The broker whose replicas the stories are about."""
BROKERS: Final = (1, 2, 3)
PATHS: Final = ("/b1/d1", "/b1/d2", "/b1/d3")
"""The subject's log dirs."""
ORDERS: Final = TopicPartition("orders", 0)
SECOND: Final = TopicPartition("second", 0)
THIRD: Final = TopicPartition("third", 0)
AFTER: Final = TopicPartition("after", 0)
"""Created when all is over."""
_PRODUCE_VERSION: Final = 9
_RECORD_BYTES: Final = 60
_KEYS: Final = 4
_COMPACT_BYTES_MIN: Final = 1_600
"""The controller's journal is compacted in the middle of stories."""
_TORN_LINE: Final = b'00000000 [7, 7, [["Topic'
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


class MatrixCluster:
    """A controller, three brokers with three log dirs each, and who works with them."""

    def __init__(self, loop: SimLoop, victims: str = f"broker-{SUBJECT}") -> None:
        """``victims``: the node that crashes, and those that are killed with it: ``a+b``."""
        self.loop = loop
        self.retrying = Retrying(loop)
        self.begin: Callable[[], None] = _nothing
        """Called by a story when its own part begins."""
        spec = parse_cluster_spec(_SPEC, base_dir=Path("/"), source="the matrix")
        self.sim = SimCluster(loop, spec)
        self.sim.controller.compact_bytes_min = _COMPACT_BYTES_MIN
        self.victim, *self.companions = (self.sim.node(name) for name in victims.split("+"))
        """Who crashes, and who is killed at the same moment."""
        self.subject: BrokerNode = self.sim.brokers[SUBJECT]
        """The broker whose replicas the stories are about."""
        self.client = ClusterClient(addresses_of(spec), "matrix", request_timeout_ms=3_000)
        history = History(lambda: loop.now_us)
        self.admin = Admin(self.client, history)
        self.evidence = EvidenceKeeper(self.sim, history)
        self.models: dict[TopicPartition, PartitionModel] = {}
        self.deleted: dict[bytes, str] = {}
        """The topics whose deletion was answered, by id: they never come back."""
        self.settings: dict[str, str | None] = {}
        """The subject's configs that were answered; None: taken off."""
        self.failed: dict[str, None] = {}
        """The log dirs whose disk failed, and which nobody brought back yet."""
        self.has_returned = False
        """Whether a log dir came back to a living broker: it sets aside what it has elsewhere."""
        self._operator = Operator(self.sim, self.retrying)
        self._is_slow = False
        self._count = 0

    # Topics.

    async def create(
        self, tp: TopicPartition = ORDERS, replicas: Sequence[int] = BROKERS, **configs: str
    ) -> bool:
        """Create a topic of one partition; False when it could not be."""
        given = {name.replace("_", "."): value for name, value in configs.items()}
        is_compacted = given.get("cleanup.policy") == "compact"
        model = self.models[tp] = PartitionModel(
            is_compacted=is_compacted,
            configs=given,
            replicas=(tuple(replicas),),
            shuns=self.settings.get(CORDONED_LOG_DIRS) or "",
        )
        was_unanswered = False
        async for _ in self.retrying.attempts():
            try:
                code = await self.admin.create_topic(
                    tp.topic, assignment=[list(replicas)], configs=given
                )
            except (OSError, Malformed):
                was_unanswered = True
                continue
            # Without a lost answer it is the old topic that is there, about to be deleted.
            is_there = code is ErrorCode.TOPIC_ALREADY_EXISTS and was_unanswered
            model.is_created = code is ErrorCode.NONE or is_there
            if model.is_created:
                break
        self.evidence.look()
        return model.is_created

    async def delete(self, tp: TopicPartition = ORDERS) -> bool:
        """Delete a topic; False when it could not be."""
        topic_id = await self._topic_id(tp.topic)
        self.evidence.look()
        self.models[tp].is_deleted = True
        codes = (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        is_deleted = await self.retrying.order(lambda: self.admin.delete_topic(tp.topic), codes)
        if is_deleted:
            self.models[tp].sent.clear()
            if topic_id is not None:
                self.deleted[topic_id] = tp.topic
        return is_deleted

    async def _topic_id(self, topic: str) -> bytes | None:
        async for _ in self.retrying.attempts():
            try:
                view = await self.client.view([topic])
            except (OSError, Malformed):
                continue
            if topic in view.topic_ids:
                return view.topic_ids[topic]
        return None

    # Records.

    async def produce(self, count: int, tp: TopicPartition = ORDERS) -> None:
        """Send ``count`` records with acks=all, each after the answer to the last."""
        for _ in range(count):
            await self._send(tp)

    async def _send(self, tp: TopicPartition) -> None:
        model = self.models[tp]
        value = f"{tp}/{self._count}/".encode().ljust(_RECORD_BYTES, b".")
        key = f"key-{self._count % _KEYS}".encode() if model.is_compacted else None
        batch = build_batch([NewRecord(value, key, timestamp_ms=self.subject.clock.now_ms())])
        self._count += 1
        model.sent[value] = None
        async for _ in self.retrying.attempts():
            offset = await self._try_send(tp, batch)
            if offset is not None:
                model.acknowledged[offset] = value
                if key is not None:
                    model.keys[offset] = key
                return

    async def _try_send(self, tp: TopicPartition, batch: Buffer) -> int | None:
        part = PartitionProduceData(index=tp.partition, records=batch)
        request = ProduceRequest(
            transactional_id=None,
            acks=ACKS_ALL,
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
        model = self.models[tp]
        end = max([*model.acknowledged, -1]) + 1
        model.kept_from = max(model.kept_from, end if offset < 0 else offset)
        await self.retrying.order(lambda: self.admin.delete_records(tp, offset))

    def let_go(self, keep: int, tp: TopicPartition = ORDERS) -> None:
        """Let retention take what lies before the last ``keep`` acknowledged records."""
        self.models[tp].keep_last = keep

    # Log dirs.

    def path_of(self, tp: TopicPartition = ORDERS) -> str:
        """Return the subject's log dir that holds a partition; the first one when none does."""
        for path, drive in self.subject.drives.items():
            if drive.disk.memory.exists(str(tp)):
                return path
        return PATHS[0]

    def other_path(self, number: int = 0, tp: TopicPartition = ORDERS) -> str:
        """Return a log dir of the subject that does not hold a partition."""
        return [path for path in PATHS if path != self.path_of(tp)][number]

    async def move(self, path: str, tp: TopicPartition = ORDERS) -> None:
        """Order the subject to keep a replica in another log dir; does not wait for the end."""

        async def ask() -> ErrorCode:
            return (await self.admin.move_replicas(SUBJECT, path, [tp]))[tp]

        codes = (
            ErrorCode.NONE,
            ErrorCode.KAFKA_STORAGE_ERROR,
            ErrorCode.REPLICA_NOT_AVAILABLE,
            ErrorCode.LOG_DIR_NOT_FOUND,
        )
        await self.retrying.order(ask, codes)

    async def slow_moves(self) -> None:
        """Have moves copy a little at a time."""
        self._is_slow = True
        await self._set(MOVE_RATE, "300")

    async def moves_end(self) -> None:
        """Let moves be quick, and wait until none is under way that can end."""
        await self.quicken()
        async for _ in self.retrying.attempts():
            if not self.future_logs():
                return

    def future_logs(self) -> list[str]:
        """Return the subject's future logs, but for those of moves from or to a failed disk."""
        failed: list[str] = []
        good: list[str] = []
        for drive in self.subject.drives.values():
            names = failed if drive.faults.rules else good
            names += drive.disk.memory.list_dir("")
        futures = [name for name in good if name.endswith("-future")]
        return [name for name in futures if name.partition(".")[0] not in failed]

    async def replace(self, path: str) -> None:
        """Put an empty disk in the place of a log dir."""
        await self._operator.ask(ReturnRequest(path, is_replaced=True, is_forced=True))

    async def cordon(self, path: str) -> None:
        """Keep new replicas away from a log dir; an empty path takes the cordon off."""
        await self._set(CORDONED_LOG_DIRS, path or None)

    async def fail(self, path: str) -> None:
        """Let a disk answer with errors, and wait until its broker gives the log dir up."""
        self.failed[path] = None
        self._operator.host(path).drives[path].faults.set_fault(DiskMode.EIO)
        await self.retrying.until(lambda: not self._operator.is_online(path))

    async def bring_back(self, path: str) -> None:
        """Repair a disk and restart its log dir while the broker lives, until it fails again."""
        faults = self._operator.host(path).drives[path].faults
        faults.clear()
        async for _ in self.retrying.attempts():
            if self._operator.is_online(path):
                self.failed.pop(path, None)
            if path not in self.failed or faults.rules:
                return
            self.has_returned = True
            await self._operator.ask(ReturnRequest(path))

    async def reassign(self, replicas: Sequence[int], tp: TopicPartition = ORDERS) -> None:
        """Give a partition other replicas; does not wait for the end."""

        async def ask() -> ErrorCode:
            return (await self.admin.reassign({tp: replicas}))[tp]

        model = self.models[tp]
        model.replicas = (*model.replicas, tuple(replicas))
        if await self.retrying.order(ask):
            model.replicas = (tuple(replicas),)

    async def reassigned(self, replicas: Sequence[int], tp: TopicPartition = ORDERS) -> None:
        """Wait until a partition has these replicas, all in sync."""
        async for _ in self.retrying.attempts():
            try:
                view = await self.client.view([tp.topic])
            except (OSError, Malformed):
                continue
            seen = view.by_partition.get(tp)
            if seen is not None and sorted(seen.isr) == sorted(seen.replicas) == sorted(replicas):
                return

    # Nodes.

    async def restart(self) -> None:
        """Stop the subject cleanly and start it again."""
        self.subject.ask_to_end()
        await self.retrying.until(lambda: not self.subject.is_running)
        if not self.subject.is_running:
            self.subject.start()
        await self.retrying.until(self.sim.is_up)

    def tear_journal(self) -> None:
        """Kill the controller in the middle of a line of its journal."""
        controller = self.sim.controller
        controller.kill()
        (drive,) = controller.drives.values()
        memory = drive.disk.memory
        memory.write_file(JOURNAL_FILE, memory.read_file(JOURNAL_FILE) + _TORN_LINE)

    async def start_controller(self) -> None:
        """Start the controller again."""
        self.sim.controller.start()
        await self.retrying.until(self.sim.is_up)

    async def repair(self) -> None:
        """End all that a story began to break or to slow, wherever it was left."""
        for node in self.sim.nodes.values():
            for drive in node.drives.values():
                drive.faults.clear()
            if not node.is_running:
                node.start()
        for path in list(self.failed):
            await self.bring_back(path)
        if self._is_slow:
            await self.quicken()

    async def rest(self, milliseconds: int) -> None:
        """Let time pass: checkpoints, retention and deletions come by themselves."""
        await asyncio.sleep(milliseconds / 1000)

    async def quicken(self) -> None:
        """Take the limit off that ``slow_moves`` set."""
        await self._set(MOVE_RATE, None)
        self._is_slow = False

    async def _set(self, name: str, value: str | None) -> None:
        """Set a config of the subject."""
        self.settings.pop(name, None)
        resource = ResourceType.BROKER
        if await self.retrying.order(
            lambda: self.admin.alter_configs(resource, str(SUBJECT), {name: value})
        ):
            self.settings[name] = value


def _nothing() -> None:
    return None
