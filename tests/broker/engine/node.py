"""One broker of the lab: a real engine and dispatcher on disks of memory."""

# Node opens the engine for the tests, in one place.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from broker.client_gate import ClientGate
from broker.context import Context
from broker.coordinators.coordinators import ResourceConfigs, make_coordinators
from broker.coordinators.groups import CoordinatorRelay
from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.fetch_session import FetchSessions
from broker.core.hosted import ReturnedReplicas, ReturnRule
from broker.core.metadata_answer import MetadataAnswers
from broker.dispatcher import Dispatcher
from broker.engine.control.failures import Failures
from broker.engine.engine import Engine
from broker.engine.follow.follower import Following
from broker.engine.log.checkpoints import Checkpoints
from broker.engine.log.cleaning import Cleaning
from broker.engine.log.logs import Logs
from broker.engine.log.retention import Retention
from broker.engine.move.moves import Moves
from broker.engine.periodic import Periodic
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.types import (
    CoordinatorEvents,
    EnginePorts,
    FailedLogDir,
    FetchParams,
    FetchPart,
    ProducePart,
    RpcPort,
)
from broker.metrics import Metrics
from broker.record_turns import RecordTurns
from broker.storage.faults import FaultyDisk
from broker.storage.log_dir import DirWorkers, LogDir
from broker.storage.memory_disk import MemoryDisk
from broker.storage.recovery import LoadedLogDir
from broker.storage.startup import LoadOptions, Owner, load_log_dirs, open_log_dirs
from broker.storage.worker import InlineDiskWorker
from protocol.configs.parsing import BrokerConfig, TopicConfig, broker_config, topic_config
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from protocol.metrics.rows import MetricRow
from protocol.records.build import BatchOptions
from tests.broker.engine.messages import (
    BROKER_EPOCH,
    ORDERS,
    records,
)
from tests.broker.fake_configs import FakeGroupConfigs, FakeTopicConfigs
from tests.broker.fakes import FakeAutoTopics, FakeBrokerConfigs


class SwitchWorker(InlineDiskWorker):
    """A worker that can be made to hang or to be slow."""

    hangs = False
    delay_s = 0.0

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        if self.delay_s:
            loop = asyncio.get_running_loop()
            loop.call_later(self.delay_s, super().run, jobs, done)
        elif not self.hangs:
            super().run(jobs, done)


class WorkerBeside(InlineDiskWorker):
    """The second worker of a log dir, which hangs and is slow when the first one is."""

    def __init__(self, loop: asyncio.AbstractEventLoop, first: SwitchWorker) -> None:
        super().__init__(loop)
        self._first = first

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        if self._first.delay_s:
            loop = asyncio.get_running_loop()
            loop.call_later(self._first.delay_s, super().run, jobs, done)
        elif not self._first.hangs:
            super().run(jobs, done)


class LoopClock:
    """A time of day that goes with the loop."""

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(asyncio.get_running_loop().time() * 1000)


@dataclass
class Events:
    """Remembers what the engine told."""

    coordinators: CoordinatorEvents

    failed: list[FailedLogDir] = field(default_factory=list[FailedLogDir])
    last_failed: list[FailedLogDir] = field(default_factory=list[FailedLogDir])
    topics: list[str] = field(default_factory=list[str])
    moves_ended_count: int = 0
    isr_changes: list[tuple[TopicPartition, list[int], list[int]]] = field(
        default_factory=list[tuple[TopicPartition, list[int], list[int]]]
    )

    def log_dir_failed(self, failed: FailedLogDir) -> None:
        self.failed.append(failed)

    def last_log_dir_failed(self, failed: FailedLogDir) -> None:
        self.last_failed.append(failed)

    def topics_seen(self, topics: list[str]) -> None:
        self.topics.extend(topics)

    def moves_ended(self) -> None:
        self.moves_ended_count += 1

    def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
        self.coordinators.leads_internal(tp, leader_epoch)

    def leads_internal_no_more(self, tp: TopicPartition) -> None:
        self.coordinators.leads_internal_no_more(tp)

    def partitions_deleted(self, tps: Sequence[TopicPartition]) -> None:
        self.coordinators.partitions_deleted(tps)

    def isr_changed(self, tp: TopicPartition, old: list[int], new: list[int]) -> None:
        self.isr_changes.append((tp, old, new))


class LabPorts(NamedTuple):
    """What the lab is for a broker."""

    overrides: dict[str, str]
    connect: Callable[[int, int], RpcPort]
    new_seed: Callable[[], int]
    """Another one for each start: names must not come twice."""
    alter_partition: Callable[[AlterPartitionRequest], Awaitable[AlterPartitionResponse]]


class Node:
    """One broker."""

    def __init__(self, broker_id: int, disks: Sequence[MemoryDisk], ports: LabPorts) -> None:
        loop = asyncio.get_running_loop()
        self.id = broker_id
        self._chance = random.Random(ports.new_seed())
        self.memory = {disk.root: disk for disk in disks}
        self.disks = {
            disk.root: FaultyDisk(disk, chance=random.Random(broker_id)) for disk in disks
        }
        self.workers = {path: SwitchWorker(loop) for path in self.disks}
        self.record_turns = RecordTurns(InlineDiskWorker(loop))
        self.log_dirs = {path: self._log_dir(path, self.workers[path]) for path in self.disks}
        relay = CoordinatorRelay(lambda: self.groups, lambda: self.transactions.shards)
        self.events = Events(relay)
        self.producer_ids_given = 0
        self.rows: list[MetricRow] = []
        self.metrics = Metrics(broker_id)
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.config: BrokerConfig = broker_config(ports.overrides)
        self.is_reachable = True
        self.engine = Engine(
            broker_id=BrokerId(broker_id),
            log_dirs=list(self.log_dirs.values()),
            config=self.config,
            ports=EnginePorts(
                clock=LoopClock(),
                random=random.Random(ports.new_seed()),
                connect=lambda _host, port: ports.connect(broker_id, port),
                send_alter_partition=ports.alter_partition,
                broker_epoch=lambda: BROKER_EPOCH,
                topic_config=self.topic_config,
                emit=self.rows.append,
                events=self.events,
                record_turns=self.record_turns,
                counters=self.metrics.counters,
            ),
        )
        self.coordinators = make_coordinators(
            self.engine,
            self.config,
            record_turns=self.record_turns,
            configs=ResourceConfigs(self.topic_config),
            next_producer_id=self._next_producer_id,
            cluster_release=None,
        )
        self.groups = self.coordinators.groups
        self.transactions = self.coordinators.transactions
        self.verifier = self.coordinators.verifier
        self.broker_configs = FakeBrokerConfigs({})
        self.dispatcher = Dispatcher(self._context())

    async def _next_producer_id(self) -> int:
        self.producer_ids_given += 1
        return 1_000 * self.id + self.producer_ids_given

    def _log_dir(self, path: str, worker: SwitchWorker) -> LogDir:
        background_queue = WorkerBeside(asyncio.get_running_loop(), worker)
        return LogDir(
            path=path,
            disk=self.disks[path],
            workers=DirWorkers(worker, background_queue),
            deadline_ms=10_000,
            queue_depth_max=1_000,
            on_failed=lambda _failure: None,
        )

    def topic_config(self, topic: str) -> TopicConfig:
        return topic_config(self.topic_configs.get(topic, {}), self.config)

    def _context(self) -> Context:
        given: dict[str, Any] = {one.name: None for one in fields(Context)}
        gate = ClientGate()
        gate.open()
        given.update(
            broker_id=self.id,
            cluster_id="lab",
            broker_configs=self.broker_configs,
            metadata=self.engine.state.metadata,
            produces=self.engine.produces,
            fetches=self.engine.fetches,
            offsets=self.engine.offsets,
            record_deletions=self.engine.record_deletions,
            describe=self.engine.describe,
            moves=self.engine.moves,
            leadership=self.engine.leadership,
            stopping=self.engine.stopping,
            metadata_answers=MetadataAnswers(self.engine.state.metadata),
            groups=self.groups,
            transactions=self.transactions,
            topic_configs=FakeTopicConfigs(),
            group_configs=FakeGroupConfigs(),
            verifier=self.verifier,
            auto_topics=FakeAutoTopics(),
            fetch_sessions=FetchSessions(),
            client_gate=gate,
            client_quotas=ClientQuotas(broker_config({})),
            metrics=self.metrics,
            record_turns=self.record_turns,
            loop_ms=lambda: int(asyncio.get_running_loop().time() * 1000),
            wall_ms=LoopClock().now_ms,
            elapsed_us=lambda: int(asyncio.get_running_loop().time() * 1_000_000),
        )
        return Context(**given)

    def run(self, group: asyncio.TaskGroup) -> None:
        self.coordinators.run(group)
        self.engine.run(group)

    async def start(self, change: Callable[[dict[str, LoadedLogDir]], Any] = len) -> None:
        loaded = await self._load(list(self.log_dirs.values()))
        change(loaded)
        await self.engine.start(loaded)

    async def bring_back(
        self, path: str, rule: ReturnRule, *, is_empty: bool = False, fails_again: bool = False
    ) -> ReturnedReplicas:
        """Open a log dir anew while the engine runs, perhaps with another disk.

        One that ``fails_again`` does so between its loading and its return.
        """
        self.memory[path].kill()
        if is_empty:
            self.memory[path] = MemoryDisk(path)
        self.disks[path] = FaultyDisk(self.memory[path], chance=random.Random(self.id))
        self.workers[path] = SwitchWorker(asyncio.get_running_loop())
        self.log_dirs[path] = log_dir = self._log_dir(path, self.workers[path])
        loaded = await self._load([log_dir])
        if fails_again:
            log_dir.fail("look at root", OSError(5, "broken again"))
        return await self.engine.bring_back(log_dir, loaded[path], rule)

    async def _load(self, log_dirs: list[LogDir]) -> dict[str, LoadedLogDir]:
        owner = Owner(
            broker_id=self.id, cluster_id="lab", new_directory_id=lambda: self._chance.randbytes(16)
        )
        await open_log_dirs(log_dirs, owner)
        options = LoadOptions(
            configs=self.topic_config,
            now_ms=LoopClock().now_ms(),
            progress=lambda _path, _progress: None,
        )
        return await load_log_dirs(log_dirs, options)

    @property
    def state(self) -> EngineState:
        return self.engine.state

    @property
    def moves(self) -> Moves:
        return self.engine.moves

    @property
    def logs(self) -> Logs:
        return self.engine.logs

    @property
    def failures(self) -> Failures:
        return self.engine.failures

    @property
    def following(self) -> Following:
        return self.engine.following

    @property
    def checkpoints(self) -> Checkpoints:
        return self.engine.checkpoints

    @property
    def periodic(self) -> Periodic:
        return self.engine.periodic

    @property
    def retention(self) -> Retention:
        return self.periodic._retention

    @property
    def cleaning(self) -> Cleaning:
        return self.engine.cleaning

    def replica(self, tp: TopicPartition = ORDERS) -> Replica:
        replica = self.state.hosted.online_replica(tp)
        assert replica is not None, f"{tp} is not online on broker {self.id}"
        return replica

    @property
    def paths(self) -> list[str]:
        return list(self.log_dirs)

    # What tests ask of a broker.

    async def produce(
        self,
        values: Sequence[str] | str = "v",
        *,
        tp: TopicPartition = ORDERS,
        acks: int = -1,
        timeout_ms: int = 30_000,
        options: BatchOptions | None = None,
    ) -> Any:
        part = ProducePart(tp, records(values, options))
        (result,) = await self.engine.produces.produce([part], acks=acks, timeout_ms=timeout_ms)
        return result

    async def fetch(
        self,
        offset: int = 0,
        *,
        tp: TopicPartition = ORDERS,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        epoch: int = -1,
    ) -> Any:
        part = FetchPart(tp, bytes(16), offset, -1, epoch, -1, max_bytes)
        params = FetchParams(max_wait_ms=max_wait_ms, min_bytes=min_bytes, max_bytes=max_bytes)
        (result,) = await self.engine.fetches.fetch(params, [part])
        return result

    def set_move_limit(self, bytes_per_second: int) -> None:
        """Change how much moves between log dirs may copy; it holds at once."""
        limit = {"replica_alter_log_dirs_io_max_bytes_per_second": bytes_per_second}
        self.config = replace(self.config, **limit)
        self.engine.configure(self.config)

    async def log_end(self, tp: TopicPartition = ORDERS) -> int:
        answer = await self.engine.offsets.list_offsets(
            tp, -1, current_leader_epoch=-1, isolation_level=0, replica_id=99
        )
        return answer.offset if answer.error_code == ErrorCode.NONE else -1

    async def dir_of(self, tp: TopicPartition = ORDERS, *, is_future: bool = False) -> str | None:
        for described in self.engine.describe.log_dirs(None):
            for replica in described.replicas:
                if replica.tp == tp and replica.is_future is is_future:
                    return described.path
        return None

    def disk_bytes(self, tp: TopicPartition = ORDERS) -> bytes:
        """Everything in the current log's segments, in order."""
        for disk in self.memory.values():
            if disk.exists(str(tp)):
                names = [name for name in disk.list_dir(str(tp)) if name.endswith(".log")]
                return b"".join(disk.read_file(f"{tp}/{name}") for name in names)
        raise AssertionError(f"{tp} is on no disk of broker {self.id}")
