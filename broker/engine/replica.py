"""One hosted replica at run time: its partition, its log on a log dir, its tail, who waits for it.

It keeps things together and wakes waiters; the rules are in `broker.core.partition`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from broker.core.append import AppendLimits
from broker.core.compaction import COMPACT, CompactionRules
from broker.core.delayed import FetchWaiters, ProduceWaiters
from broker.core.hosted import Role
from broker.core.log_start import low_watermark
from broker.core.partition import Partition
from broker.core.replication_quota import is_throttled_replica
from broker.core.tail import Tail
from broker.engine.future import FutureReplica
from broker.engine.hosted_log import HostedLog
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition


class Replica:
    """A current log that is online, and the partition it belongs to."""

    __slots__ = (
        "compaction",
        "consumers",
        "delete_delay_ms",
        "deleted",
        "followers",
        "future",
        "is_ended",
        "is_follower_throttled",
        "is_leader_throttled",
        "is_stopped",
        "kept_log_start",
        "limits",
        "log",
        "log_start_write",
        "partition",
        "replicated",
        "tail",
        "tell_log_start",
        "topic_id",
        "tp",
        "written",
    )

    def __init__(self, topic_id: bytes, log: HostedLog[Partition], tail: Tail) -> None:
        self.tp: TopicPartition = log.positions.tp
        self.topic_id = topic_id
        self.partition = log.positions
        self.log = log
        self.tail = tail
        self.limits = AppendLimits()
        self.compaction: CompactionRules | None = None
        """None: `cleanup.policy` has no `compact`."""
        self.delete_delay_ms = 0
        self.is_leader_throttled = False
        """Whether serving it to followers counts against the leader's quota."""
        self.is_follower_throttled = False
        """Whether fetching it counts against the follower's quota."""
        self.is_stopped = False
        """From a StopReplica that leaves the log to the next LeaderAndIsr."""
        self.is_ended = False
        """Gone from here: stopped for good, or on a failed log dir."""
        self.written = ProduceWaiters()
        """Wait for LogEndOffset: acks=1."""
        self.replicated = ProduceWaiters()
        """Wait for the HighWatermark: acks=all."""
        self.deleted = ProduceWaiters()
        """Wait for the low watermark: DeleteRecords."""
        self.consumers = FetchWaiters()
        """Wait for the HighWatermark."""
        self.followers = FetchWaiters()
        """Wait for LogEndOffset."""
        self.future: FutureReplica | None = None
        self.log_start_write: asyncio.Future[bool] | None = None
        """Under way: the checkpoint does not have the newest log start offset yet."""
        self.kept_log_start = 0
        """The log start offset that the checkpoint has; only while ``log_start_write`` is one."""
        self.tell_log_start: Callable[[], None] | None = None
        """Called when the checkpoint has a newer one: the leader of a follower hears of it."""

    @property
    def leader_epoch(self) -> int:
        """The last leader epoch accepted."""
        return self.partition.leader_epoch

    @property
    def role(self) -> Role:
        """Whether it leads or follows."""
        if self.leader_epoch == NO_EPOCH:
            return Role.NONE
        return Role.LEADER if self.partition.is_leader else Role.FOLLOWER

    @property
    def log_dir(self) -> str:
        """The path of the log dir with the current log."""
        return self.log.dir.path

    @property
    def future_log_dir(self) -> str | None:
        """The path of the log dir with the future log, if a move is under way."""
        return None if self.future is None else self.future.dir.path

    def configure(self, config: TopicConfig) -> None:
        """Take over a topic's configuration; the log takes it with its next append."""
        self.limits = AppendLimits(
            max_message_bytes=config.max_message_bytes,
            segment_bytes=config.segment_bytes,
            is_log_append_time=config.message_timestamp_type == "LogAppendTime",
            timestamp_before_max_ms=config.timestamp_before_max_ms,
            timestamp_after_max_ms=config.timestamp_after_max_ms,
            requires_keys=COMPACT in config.cleanup_policy,
        )
        is_compacted = COMPACT in config.cleanup_policy
        self.compaction = CompactionRules.of(config) if is_compacted else None
        self.partition.min_insync_replicas = config.min_insync_replicas
        self.delete_delay_ms = config.file_delete_delay_ms
        self.is_leader_throttled = self._is_in(config.leader_replication_throttled_replicas)
        self.is_follower_throttled = self._is_in(config.follower_replication_throttled_replicas)
        self.log.files.config = config
        if self.future is not None and self.future.log is not None:
            self.future.log.files.config = config

    def _is_in(self, throttled_replicas: Sequence[str]) -> bool:
        return is_throttled_replica(
            throttled_replicas,
            partition=self.tp.partition,
            broker_id=self.partition.broker_id,
        )

    def on_written(self) -> None:
        """LogEndOffset rose: wake what waits for it."""
        self.written.reached(self.partition.log_end_offset, ErrorCode.NONE)
        self.followers.wake()

    def on_high_watermark(self) -> None:
        """The HighWatermark rose: settle produces, wake consumers."""
        partition = self.partition
        if len(self.replicated):
            code = partition.replicated(partition.high_watermark)
            self.replicated.reached(partition.high_watermark, code or ErrorCode.NONE)
        self.consumers.wake()

    @property
    def low_watermark(self) -> int:
        """The smallest log start offset of all that count, as their leader knows it.

        Its own counts once the checkpoint has it.
        """
        future = self.future
        moved = None if future is None or future.log is None else future.log.files.log_start_offset
        lowest = low_watermark(self.partition, moved)
        return lowest if self.log_start_write is None else min(lowest, self.kept_log_start)

    def log_start_rose(self, before: int, written: asyncio.Future[bool]) -> None:
        """Note that it rose from ``before``, and when the checkpoint will have it."""
        if self.log_start_write is None:
            self.kept_log_start = before
        self.log_start_write = written
        written.add_done_callback(self._on_log_start_written)

    def _on_log_start_written(self, written: asyncio.Future[bool]) -> None:
        if written is self.log_start_write and written.result():
            self.log_start_write = None
            self.on_log_start()
            if self.tell_log_start is not None:
                self.tell_log_start()

    def on_log_start(self) -> None:
        """The smallest log start offset may have risen: settle what waits for it."""
        if len(self.deleted):
            self.deleted.reached(self.low_watermark, ErrorCode.NONE)

    def end(self, code: ErrorCode) -> None:
        """The replica is gone from here: nothing written late counts, nobody waits any more."""
        self.is_ended = True
        self.log.end()
        self.tail.clear()
        self.answer_waiters(code)

    def answer_waiters(self, code: ErrorCode) -> None:
        """End all waits: the role or the log is gone. Fetches look again and see for themselves."""
        self.written.fail(code)
        self.replicated.fail(code)
        self.deleted.fail(code)
        self.wake_fetches()

    def wake_fetches(self) -> None:
        """Role, epoch or log changed: whoever waits for data looks again."""
        self.consumers.wake()
        self.followers.wake()
