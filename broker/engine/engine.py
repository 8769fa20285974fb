"""The engine: runs the rules of the core on log dirs and peers. The only writer of broker state.

It speaks no wire protocol and knows no handler; each concern is a module of its own, put together
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from broker.core.hosted import OfflineReplica, ReturnedReplicas, ReturnRule
from broker.core.metadata_image import MetadataImage
from broker.core.producer_entry import ProducerEntry
from broker.core.rebuild_throttle import RebuildView
from broker.engine.control.arrivals import Arrivals
from broker.engine.control.failures import Failures
from broker.engine.control.leadership import Leadership
from broker.engine.control.stopping import Stopping
from broker.engine.follow.follower import Following
from broker.engine.log.checkpoints import Checkpoints
from broker.engine.log.cleaning import CleanerGauges, Cleaning
from broker.engine.log.deletions import Deletions
from broker.engine.log.logs import Logs
from broker.engine.log.retention import Retention
from broker.engine.move.moves import Moves
from broker.engine.periodic import Periodic
from broker.engine.replica import Replica
from broker.engine.serve.describe import Describe
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.isr_reporter import IsrReporter, ReporterPorts
from broker.engine.serve.offsets import Offsets
from broker.engine.serve.produce import BegunProduce, Produces
from broker.engine.serve.record_deletion import RecordDeletions
from broker.engine.state import EngineState
from broker.engine.supervise import supervised
from broker.engine.types import (
    DeletedRecords,
    EngineGauges,
    EnginePorts,
    EpochAnswer,
    FetchParams,
    FetchPart,
    FetchResult,
    ListedOffset,
    LogDirDescription,
    ProducePart,
    ProduceResult,
)
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from protocol.configs.parsing import BrokerConfig
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, BrokerId, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.metrics.rows import LogDirRow, ReplicaRow


class Engine:
    """All partitions of one broker.

    Order of calls: ``start`` once, ``run`` once, then anything; ``stop`` once at the end, when the
    task group of ``run`` has ended or still runs.
    """

    def __init__(
        self,
        *,
        broker_id: BrokerId,
        log_dirs: Sequence[LogDir],
        config: BrokerConfig,
        ports: EnginePorts,
    ) -> None:
        """Put the concerns together; ``on_failed`` of every log dir is the engine's from now on."""
        self._state = state = EngineState(
            broker_id=broker_id, log_dirs=log_dirs, config=config, ports=ports
        )
        self._checkpoints = Checkpoints(state)
        self._deletions = Deletions(state, self._checkpoints.log_gone)
        self._logs = Logs(
            state,
            on_truncated=self._on_truncated,
            checkpoint=self._checkpoints.write_at_once,
            before_new_log=self._checkpoints.before_new_log,
        )
        self._reporter = IsrReporter(
            ReporterPorts(
                broker_id=broker_id,
                broker_epoch=ports.broker_epoch,
                send=ports.send_alter_partition,
                isr_changed=ports.events.isr_changed,
                now_ms=state.now_ms,
                refused_count=ports.counters.failed_isr_updates,
            )
        )
        self._following = Following(state, self._logs)
        self._moves = Moves(state, self._logs, self._deletions)
        self._arrivals = Arrivals(state, self._deletions, self._moves)
        self._failures = Failures(state, self._following, self._moves)
        self._stopping = Stopping(state, self._following, self._moves, self._deletions)
        self._leadership = Leadership(
            state, self._logs, self._following, self._moves, self._failures, self._stopping
        )
        self._produces = Produces(state)
        self._fetches = Fetches(state, self._reporter)
        self._offsets = Offsets(state, self._fetches)
        self._record_deletions = RecordDeletions(state, self._logs, self._fetches)
        self._describe = Describe(state)
        retention = Retention(state, self._logs, self._deletions)
        self._periodic = Periodic(state, self._checkpoints, self._reporter, retention)
        self._cleaning = Cleaning(state, self._deletions, self._checkpoints)
        for log_dir in log_dirs:
            log_dir.on_failed = self._failures.on_log_dir_failed

    @property
    def metadata(self) -> MetadataImage:
        """What UpdateMetadata told; for Metadata answers and leader lookups."""
        return self._state.metadata

    @property
    def state(self) -> EngineState:
        """Everything as it is, for inspection: only the engine changes it."""
        return self._state

    # Life.

    async def start(self, loaded: Mapping[str, LoadedLogDir]) -> None:
        """Take over what was found on disk, by log dir path; a log dir not in it is offline."""
        for path, found in loaded.items():
            self._arrivals.take_over(self._state.dirs[path], found)
        self._arrivals.note_missing(loaded)
        await self._cleaning.start()
        looks = [self._checkpoints.look_at_usage(one) for one in self._state.dirs.values()]
        # A disk that cannot say is offline by then; the others' answers are in.
        await asyncio.gather(*[look for look in looks if look is not None], return_exceptions=True)

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Start replication, moves, checkpoints and Isr reports in ``task_group``."""
        self._state.group = task_group
        self._following.run(task_group)
        self._moves.run(task_group)
        self._periodic.run(task_group)
        self._cleaning.run(task_group)
        task_group.create_task(supervised("isr-reporter", self._reporter.run))

    async def bring_back(
        self, log_dir: LogDir, found: LoadedLogDir, rule: ReturnRule
    ) -> ReturnedReplicas:
        """Put a log dir that was opened and loaded in the place of the offline one of its path.

        Its replicas wait for the controller: register again afterwards. Source: KIP-18.

        Raises:
            LogDirFailed: it failed again since it was loaded, and stays offline.
        """
        log_dir.on_failed = self._failures.on_log_dir_failed
        await self._cleaning.log_dir_returned(log_dir)
        returned = await self._arrivals.bring_back(log_dir, found, rule)
        self._checkpoints.forget(log_dir.path)
        self._checkpoints.look_at_usage(log_dir)
        return returned

    async def release(
        self, tps: Sequence[TopicPartition], *, accepts_loss: bool = False
    ) -> ReturnedReplicas:
        """Let partitions come back that ``bring_back`` left out, or that are lost."""
        return await self._arrivals.release(tps, accepts_loss=accepts_loss)

    def last_copies(self, path: str) -> list[TopicPartition]:
        """Return what would be out of reach without the log dir ``path``."""
        return self._describe.last_copies(path)

    @property
    def is_moving(self) -> bool:
        """Whether a replica is on its way to another log dir."""
        return len(self._state.cleaning_pauses) > 0

    def offline_replicas(self) -> dict[TopicPartition, OfflineReplica]:
        """Return what is known of the Offline partitions."""
        return dict(self._state.hosted.iterate_offline())

    async def stop(self) -> None:
        """Stop cleanly: answer all that wait, flush, checkpoint and mark every good log dir."""
        self._following.stop()
        self._moves.stop()
        self._deletions.stop()
        self._periodic.stop()
        self._cleaning.stop()
        for _, replica in self._state.hosted.iterate_online():
            replica.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        await self._checkpoints.close()

    def _on_truncated(self, replica: Replica, offset: int) -> None:
        self._moves.on_truncated(replica, offset)
        self._state.cleaner_offsets.truncated(replica.log_dir, replica.tp, offset)

    # Clients and followers.

    async def produce(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> list[ProduceResult]:
        """Append and wait as ``acks`` asks; one result per part, in order."""
        return await self._produces.produce(parts, acks=acks, timeout_ms=timeout_ms)

    async def begin_produce(
        self, parts: Sequence[ProducePart], *, acks: int, timeout_ms: int
    ) -> BegunProduce:
        """Append; what ``acks`` asks for may be waited for while the next produce is begun."""
        return await self._produces.begin(parts, acks=acks, timeout_ms=timeout_ms)

    async def fetch(self, params: FetchParams, parts: Sequence[FetchPart]) -> list[FetchResult]:
        """Read and wait for ``min_bytes``; one result per part, in order."""
        return await self._fetches.fetch(params, parts)

    async def delete_records(
        self, parts: Sequence[tuple[TopicPartition, int]], *, timeout_ms: int
    ) -> list[DeletedRecords]:
        """Delete what lies before each offset; one result per part, in order."""
        return await self._record_deletions.delete(parts, timeout_ms=timeout_ms)

    async def list_offsets(
        self,
        tp: TopicPartition,
        timestamp: int,
        *,
        current_leader_epoch: int,
        isolation_level: int,
        replica_id: int,
    ) -> ListedOffset:
        """Find the offset for a timestamp or for one of Kafka's special timestamps."""
        return await self._offsets.list_offsets(
            tp,
            timestamp,
            current_leader_epoch=current_leader_epoch,
            isolation_level=isolation_level,
            replica_id=replica_id,
        )

    def offset_for_leader_epoch(
        self,
        tp: TopicPartition,
        *,
        current_leader_epoch: int,
        leader_epoch: int,
        replica_id: int,
    ) -> EpochAnswer:
        """Tell where a leader epoch ends."""
        return self._offsets.offset_for_leader_epoch(
            tp,
            current_leader_epoch=current_leader_epoch,
            leader_epoch=leader_epoch,
            replica_id=replica_id,
        )

    def describe_producers(self, tp: TopicPartition) -> Sequence[ProducerEntry]:
        """Return the producers of a partition, led or followed here.

        Raises:
            KafkaError: why it is not online here.
        """
        return self._describe.producers(tp)

    async def alter_replica_log_dirs(
        self, parts: Sequence[tuple[TopicPartition, str]]
    ) -> dict[TopicPartition, ErrorCode]:
        """Begin, change or cancel moves between log dirs.

        An order whose replicas are all where they should be ends moves as the last swap does.
        """
        was_moving = self.is_moving
        answers = await self._moves.alter(parts)
        if not was_moving and all(code is ErrorCode.NONE for code in answers.values()):
            self._state.tell_if_nothing_moves()
        return answers

    async def describe_log_dirs(
        self, topics: Mapping[str, Sequence[int]] | None
    ) -> list[LogDirDescription]:
        """Describe every configured log dir; ``topics`` filters the replicas."""
        return self._describe.log_dirs(topics)

    # The controller.

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Expects ``topic_states``; the answer has ``topics`` with topic names set too."""
        return await self._leadership.leader_and_isr(request)

    async def stop_replica(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Expects ``topic_states``."""
        return await self._stopping.stop_replica(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Expects ``topic_states``."""
        return self._leadership.update_metadata(request)

    def rebuild_throttle(self, path: str) -> RebuildView | None:
        """Return the limit under which replicas are made anew on ``path``; None: there is none."""
        return self._state.rebuilds.view(path)

    # The rest of the broker.

    def offline_directory_ids(self) -> list[bytes]:
        """Return the directory ids of the log dirs that failed, for heartbeats.

        A log dir that could never be read has none.
        """
        ids = [self._state.dirs[path].directory_id for path in self._state.log_dirs.offline]
        return [directory_id for directory_id in ids if directory_id != ZERO_UUID]

    def topic_configs_changed(self, topics: Sequence[str]) -> None:
        """Read ``ports.topic_config`` again for the hosted partitions of these topics."""
        wanted = frozenset(topics)
        for tp, replica in self._state.hosted.iterate_online():
            if tp.topic in wanted:
                replica.configure(self._state.ports.topic_config(tp.topic))

    def configure(self, config: BrokerConfig) -> None:
        """Take another configuration over at once: rates, cordons, the hosted topics' defaults.

        ``ports.topic_config`` must give the new defaults already.

        Raises:
            KafkaError: INVALID_CONFIG, ``cordoned.log.dirs`` names what is no log dir.
        """
        self._state.configure(config)
        for tp, replica in self._state.hosted.iterate_online():
            replica.configure(self._state.ports.topic_config(tp.topic))

    def gauges(self) -> EngineGauges:
        """Count partitions as Kafka's gauges do."""
        return self._describe.gauges(
            move_count=self._moves.active_count, failed_fetch_count=self._following.failed_count
        )

    def cleaner_gauges(self) -> dict[str, CleanerGauges]:
        """Tell how the cleaner of each log dir does, by path."""
        return self._cleaning.gauges()

    def log_dir_rows(self, at_ms: int) -> list[LogDirRow]:
        """Return one row per configured log dir; ``at_ms`` is wall-clock time."""
        return self._describe.log_dir_rows(at_ms)

    def replica_rows(self, at_ms: int) -> list[ReplicaRow]:
        """Return one row per online replica and per future log."""
        return self._describe.replica_rows(at_ms)
