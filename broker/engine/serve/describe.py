"""Describes what is hosted: DescribeLogDirs, gauges and metric rows.

All from memory: a disk that hangs delays no description. Source: ReplicaManager.scala
describeLogDirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from broker.core.log_positions import LogPositions
from broker.core.producer_entry import ProducerEntry
from broker.engine.hosted_log import HostedLog
from broker.engine.replica import Replica
from broker.engine.state import EngineState, LogHere
from broker.engine.types import (
    EngineGauges,
    LogDirDescription,
    ReplicaDescription,
)
from broker.storage.log_dir import LogDir
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition, uuid_text
from protocol.metrics.latency import Timed, latency_row
from protocol.metrics.rows import LatencyRow, LatencyScope, LogDirRow, ReplicaRow
from protocol.ports import DiskUsage

UNKNOWN: Final = -1
_UNKNOWN_USAGE: Final = DiskUsage(UNKNOWN, UNKNOWN)


class _Hosted(NamedTuple):
    """What one log dir holds."""

    used_bytes: int
    replica_count: int
    future_count: int


class Describe:
    """Answers questions about the state."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def log_dirs(self, topics: Mapping[str, Sequence[int]] | None) -> list[LogDirDescription]:
        """Describe every configured log dir in its order; ``topics`` filters the replicas."""
        by_dir: dict[str, list[ReplicaDescription]] = {path: [] for path in self._state.log_dirs}
        # A request may name a million partitions, and the loop waits while they are compared.
        wanted = None if topics is None else {t: frozenset(named) for t, named in topics.items()}
        for path, replica in self._replicas():
            if wanted is None or replica.tp.partition in wanted.get(replica.tp.topic, ()):
                by_dir[path].append(replica)
        return [self._log_dir(path, replicas) for path, replicas in by_dir.items()]

    def producers(self, tp: TopicPartition) -> list[ProducerEntry]:
        """Return the producers of an online partition, by id.

        Raises:
            KafkaError: why it is not online here.
        """
        replica = self._state.hosted.online_replica(tp)
        if replica is None:
            raise KafkaError(self._state.absence(tp))
        return replica.partition.producers.states.snapshot_entries()

    def last_copies(self, path: str) -> list[TopicPartition]:
        """Return the replicas in ``path`` that lead and are alone in their Isr."""
        return [
            tp
            for tp, replica in self._state.hosted.iterate_online()
            if replica.log_dir == path and replica.partition.is_leader
            if len(replica.partition.isr.isr) == 1
        ]

    def _log_dir(self, path: str, replicas: list[ReplicaDescription]) -> LogDirDescription:
        state = self._state
        if not state.log_dir_states.is_online(path):
            return LogDirDescription(
                path, ErrorCode.KAFKA_STORAGE_ERROR, UNKNOWN, UNKNOWN, is_cordoned=False
            )
        usage = state.usage.get(path, _UNKNOWN_USAGE)
        return LogDirDescription(
            path,
            ErrorCode.NONE,
            usage.total_bytes,
            usage.usable_bytes,
            is_cordoned=state.log_dir_states.is_cordoned(path),
            replicas=replicas,
            awaited=state.hosted.awaited(path),
        )

    def _replicas(self) -> list[tuple[str, ReplicaDescription]]:
        return [
            (
                here.log.log_dir,
                ReplicaDescription(
                    here.tp, here.log.files.size_bytes, _lag(here), here.log.is_future
                ),
            )
            for here in self._state.iterate_logs()
        ]

    def gauges(self, *, move_count: int, failed_fetch_count: int) -> EngineGauges:
        """Count partitions as Kafka's gauges do."""
        leaders = [
            r.partition for _, r in self._state.hosted.iterate_online() if r.partition.is_leader
        ]
        now_ms = self._state.wall_ms()
        timeout_max_ms = self._state.config.transaction_max_timeout_ms
        futures = [r.future for _, r in self._state.hosted.iterate_online() if r.future is not None]
        return EngineGauges(
            partition_count=self._state.hosted.partition_count,
            leader_count=len(leaders),
            offline_replica_count=self._state.hosted.offline_count,
            under_replicated_count=sum(p.is_under_replicated for p in leaders),
            under_min_isr_count=sum(p.is_under_min_isr for p in leaders),
            offline_log_dir_count=len(self._state.log_dir_states.offline_paths),
            move_count=move_count,
            failed_fetch_count=failed_fetch_count,
            failed_move_count=sum(not future.move.is_active for future in futures),
            late_transaction_count=sum(
                p.producers.states.has_late_transaction(now_ms, timeout_max_ms) for p in leaders
            ),
            producer_id_count=sum(
                len(r.partition.producers.states) for _, r in self._state.hosted.iterate_online()
            ),
        )

    def log_dir_rows(self, at_ms: int, interval_ms: int) -> list[LogDirRow]:
        """Return one row per configured log dir, for the interval that ends at ``at_ms``."""
        hosted = self._count()
        return [
            self._log_dir_row(at_ms, interval_ms, log_dir, hosted[path])
            for path, log_dir in self._state.log_dirs.items()
        ]

    def _count(self) -> dict[str, _Hosted]:
        """Return what each log dir holds, by its path; asked often, and for thousands of logs."""
        used = dict.fromkeys(self._state.log_dirs, 0)
        current, future = used.copy(), used.copy()
        for _, log, _ in self._state.iterate_logs():
            path = log.dir.path
            used[path] += log.files.size_bytes
            counts = future if log.is_future else current
            counts[path] += 1
        return {path: _Hosted(used[path], current[path], future[path]) for path in used}

    def _log_dir_row(
        self, at_ms: int, interval_ms: int, log_dir: LogDir, hosted: _Hosted
    ) -> LogDirRow:
        state = self._state
        usage = state.usage.get(log_dir.path, _UNKNOWN_USAGE)
        directory_id = log_dir.directory_id
        return LogDirRow(
            at_ms=at_ms,
            interval_ms=interval_ms,
            broker_id=state.broker_id,
            broker_epoch=state.ports.broker_epoch(),
            log_dir=log_dir.path,
            directory_id="" if directory_id == ZERO_UUID else uuid_text(directory_id),
            online=state.log_dir_states.is_online(log_dir.path),
            used_bytes=hosted.used_bytes,
            total_bytes=usage.total_bytes,
            usable_bytes=usage.usable_bytes,
            replica_count=hosted.replica_count,
            future_count=hosted.future_count,
            queue_depth_count=log_dir.queue.queue_depth,
            append_count_total=log_dir.queue.appends_count,
            append_bytes_total=log_dir.queue.appended_bytes,
        )

    def latency_rows(self, at_ms: int, interval_ms: int) -> list[LatencyRow]:
        """Return what reads, appends and syncs took since the last call, by log dir."""
        broker_id, scope = self._state.broker_id, LatencyScope.LOG_DIR
        return [
            latency_row(
                Timed(broker_id, scope, path, operation),
                histogram,
                at_ms=at_ms,
                interval_ms=interval_ms,
            )
            for path, log_dir in self._state.log_dirs.items()
            for operation, histogram in log_dir.queue.latency.take()
        ]

    def replica_rows(self, at_ms: int, interval_ms: int) -> list[ReplicaRow]:
        """Return one row per online replica, and one per future log, as ``log_dir_rows``."""
        return [
            self._row(at_ms, interval_ms, here.log, here.replica, _lag(here))
            for here in self._state.iterate_logs()
            if here.replica is not None
        ]

    def _row(
        self, at_ms: int, interval_ms: int, log: HostedLog[LogPositions], replica: Replica, lag: int
    ) -> ReplicaRow:
        partition, positions = replica.partition, log.positions
        is_leader = partition.is_leader and not log.is_future
        return ReplicaRow(
            at_ms=at_ms,
            interval_ms=interval_ms,
            broker_id=self._state.broker_id,
            topic=replica.tp.topic,
            partition=replica.tp.partition,
            log_dir=log.log_dir,
            is_leader=is_leader,
            is_future=log.is_future,
            leader_epoch=partition.leader_epoch,
            log_start_offset=positions.log_start_offset,
            log_end_offset=positions.log_end_offset,
            high_watermark=positions.high_watermark,
            isr_count=len(partition.isr.isr) if is_leader else UNKNOWN,
            is_under_min_isr=is_leader and partition.is_under_min_isr,
            size_bytes=log.files.size_bytes,
            lag=lag,
        )


def _lag(here: LogHere) -> int:
    """Return what a future log has not copied yet, or what an Online one has not got committed."""
    if here.replica is None:
        return UNKNOWN
    partition, positions = here.replica.partition, here.log.positions
    if here.log.is_future:
        return partition.log_end_offset - positions.log_end_offset
    return max(positions.high_watermark - positions.log_end_offset, 0)
