"""The follower side: which broker each replica is fetched from, and what fetched batches do to it.

The loops are in `broker.engine.follow.fetcher` and `reconciler`; the rules of truncation in
`broker.core.leader_epochs`.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, NamedTuple

from broker.core.append import EpochRange, FollowerAppend, check_follower_append
from broker.core.leader_epochs import EpochEnd, decide_truncation
from broker.core.log_dirs import LogDirFailed
from broker.engine.follow.fetcher import Fetcher
from broker.engine.follow.followed import FetchedRecords, FetchPosition
from broker.engine.follow.follower_request import FetchSettings
from broker.engine.follow.follower_throttle import FollowerThrottle
from broker.engine.follow.reconciler import Reconciler
from broker.engine.log.logs import Logs
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.supervise import supervised
from broker.engine.types import RpcPort
from protocol.ids import NO_EPOCH, TopicIdPartition, TopicPartition


class FollowedLog:
    """A replica as its fetcher sees it. See `broker.engine.follow.followed.FollowedReplica`."""

    __slots__ = ("_gap_at", "_inside_batch", "_log", "_logs", "_state", "replica")

    def __init__(self, state: EngineState, logs: Logs, replica: Replica) -> None:
        self._state = state
        self._logs = logs
        self.replica = replica
        self._log = replica.log
        self._inside_batch: int | None = None
        """The leader's log start, while this log is empty and begins at the batch that holds it."""
        self._gap_at: int | None = None
        """Where the last answer left offsets out; they are asked for once more.

        A batch's base offset lies outside of its CRC. What one read made of it is gone the next
        time; what stays is what the leader has, by an earlier compaction or by damage.
        """

    @property
    def tp(self) -> TopicPartition:
        """The partition's name."""
        return self.replica.tp

    @property
    def topic_id(self) -> bytes:
        """The topic's id."""
        return self.replica.topic_id

    @property
    def is_throttled(self) -> bool:
        """Whether its topic names it as a throttled follower."""
        return self.replica.is_follower_throttled

    @property
    def log_start_write(self) -> asyncio.Future[bool] | None:
        """A write under way without which the newest log start offset may be forgotten."""
        write = self.replica.log_start_write
        return None if write is None or write.done() else write

    def position(self) -> FetchPosition:
        """Return where to fetch from.

        Of the batch that its log start lies in a leader serves nothing but that offset: asked for
        the batch's first one it would answer OFFSET_OUT_OF_RANGE, for ever.
        """
        partition = self.replica.partition
        offset = self._inside_batch
        if offset is None or partition.next_offset != partition.log_start_offset:
            offset = partition.next_offset
        return FetchPosition(offset, partition.log_start_offset, partition.epochs.latest)

    def settle(self) -> asyncio.Future[Any] | None:
        """Return a future while appends, a cut or a swap are under way."""
        log = self._log
        if log.unwritable is not None or log.positions.is_settled:
            return log.unwritable or self.log_start_write
        try:
            return log.queue.submit("settle", _nothing)
        except LogDirFailed:
            return None

    def append(self, fetched: FetchedRecords) -> asyncio.Future[Any] | None:
        """Begin to write fetched batches; dropped, and to be fetched again, while it cannot."""
        return self._log.unwritable or self._append(fetched)

    def _append(self, fetched: FetchedRecords) -> asyncio.Future[Any] | None:
        replica = self.replica
        partition = replica.partition
        # What lies before the leader's log start is as good as gone.
        is_empty = partition.next_offset in (partition.log_start_offset, fetched.log_start_offset)
        epoch = NO_EPOCH if is_empty else partition.epochs.epoch_at(partition.next_offset - 1)
        checked = check_follower_append(
            fetched.records,
            next_offset=partition.next_offset,
            epochs=EpochRange(epoch, partition.leader_epoch),
            log_is_empty=is_empty,
            doubts_gaps=replica.compaction is None,
            known_gap=self._gap_at,
        )
        if checked.batches or checked.gap_at is not None:
            self._gap_at = checked.gap_at
        if checked.restart_at is not None:
            self._inside_batch = partition.next_offset
            return self._logs.restart_at(replica, checked.restart_at)
        self._inside_batch = None
        if not checked.batches:
            self.note_high_watermark(fetched)
            return None
        return self._write(checked, fetched)

    def _write(self, checked: FollowerAppend, fetched: FetchedRecords) -> asyncio.Future[int]:
        partition, now_ms = self.replica.partition, self._state.wall_ms()
        records = memoryview(fetched.records)[: checked.size_bytes]
        written = self._log.append(
            (records,),
            checked.last_offset + 1,
            partial(self._on_written, checked, fetched),
            batches=checked.batches,
            now_ms=now_ms,
        )
        partition.producers.note_replicated(
            checked.batches, records, high_watermark=partition.high_watermark, now_ms=now_ms
        )
        return written

    def _on_written(
        self,
        checked: FollowerAppend,
        fetched: FetchedRecords,
        counts: bool,  # noqa: FBT001 -- a callback
    ) -> None:
        replica = self.replica
        self._state.ports.counters.replication_bytes_in.add(checked.size_bytes)
        if counts:
            rose = replica.partition.follower_appended(
                checked.last_offset + 1,
                fetched.high_watermark,
                now_ms=self._state.now_ms(),
                lag_time_max_ms=self._state.lag_time_max_ms,
            )
            self._logs.raise_log_start(replica, fetched.log_start_offset)
            replica.on_written()
            if rose:
                replica.on_high_watermark()

    def note_high_watermark(self, fetched: FetchedRecords) -> bool:
        """Take what an answer without records says; True when the log start offset rose."""
        before = self.replica.partition.log_start_offset
        rose = self.replica.partition.follow_high_watermark(fetched.high_watermark)
        self._logs.raise_log_start(self.replica, fetched.log_start_offset)
        if rose:
            self.replica.on_high_watermark()
        return self.replica.partition.log_start_offset > before

    def reconcile(self, answer: EpochEnd) -> tuple[asyncio.Future[Any] | None, bool]:
        """Truncate after the leader's answer on our latest epoch."""
        if self._log.unwritable is not None:
            return self._log.unwritable, False
        partition = self.replica.partition
        cut = decide_truncation(
            partition.epochs,
            partition.next_offset,
            fallback_offset=partition.high_watermark,
            answer=answer,
        )
        if cut.offset >= partition.next_offset:
            self._log.write_epochs(partition.forget_empty_epochs())
            return None, cut.finished
        return self._truncate(cut.offset), cut.finished

    def return_to_range(self, leader_start: int, leader_end: int) -> asyncio.Future[Any] | None:
        """Bring the log into the leader's range. Source: fetchOffsetAndTruncate."""
        self._inside_batch = None
        return self._log.unwritable or self._return_to_range(leader_start, leader_end)

    def _return_to_range(self, leader_start: int, leader_end: int) -> asyncio.Future[Any] | None:
        replica, next_offset = self.replica, self.replica.partition.next_offset
        if leader_end < next_offset:
            return self._truncate(leader_end)
        if leader_start > next_offset:
            return self._logs.restart_at(replica, leader_start)
        return None

    def _truncate(self, offset: int) -> asyncio.Future[Any]:
        """Cut the log; where compaction went further, it begins anew.

        Compaction has taken records that stay for newer ones of their keys that go, as after an
        unclean election. Kafka's follower goes on without either, and may lead so. The leader may
        know of nothing as far as this log begins.
        """
        replica = self.replica
        if self._state.cleaner_offsets.has_gone_beyond(replica.log_dir, replica.tp, offset):
            begin = min(replica.partition.log_start_offset, offset)
            return self._logs.restart_at(replica, begin)
        return self._logs.truncate(replica, offset)


class _Source(NamedTuple):
    fetcher: Fetcher
    reconciler: Reconciler
    tasks: tuple[asyncio.Task[None], asyncio.Task[None]]


class Following:
    """The fetchers of this broker, one per source broker."""

    def __init__(self, state: EngineState, logs: Logs) -> None:
        self._state = state
        self._logs = logs
        self._sources: dict[int, _Source] = {}
        self._source_of: dict[TopicPartition, tuple[int, FollowedLog]] = {}
        self._group: asyncio.TaskGroup | None = None

    @property
    def failed_count(self) -> int:
        """Partitions that are not fetched because of an error here."""
        return sum(source.fetcher.failed_count for source in self._sources.values())

    @property
    def source_ids(self) -> list[int]:
        """The brokers that something is fetched from."""
        return list(self._sources)

    @property
    def unsettled(self) -> dict[int, list[TopicIdPartition]]:
        """What is not, or not yet, fetched within a session, by the broker it is fetched from."""
        return {id_: source.fetcher.unsettled for id_, source in self._sources.items()}

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Run fetch loops in ``task_group``, as sources appear."""
        self._group = task_group

    def follow(self, replica: Replica) -> None:
        """Fetch a follower from its leader, as of its leader epoch; from nobody without one."""
        self.unfollow(replica)
        leader_id = replica.partition.leader_id
        if leader_id < 0 or leader_id == self._state.broker_id or self._group is None:
            return
        source = self._sources.get(leader_id) or self._begin(leader_id, self._group)
        followed = FollowedLog(self._state, self._logs, replica)
        self._source_of[replica.tp] = (leader_id, followed)
        source.fetcher.follow(followed, replica.leader_epoch)
        # Retention of its own may raise it, when nothing comes from the leader any more.
        replica.tell_log_start = partial(source.fetcher.tell_again, followed)

    def unfollow(self, replica: Replica) -> None:
        """Fetch a replica no more; one that is not fetched is no error."""
        known = self._source_of.pop(replica.tp, None)
        replica.tell_log_start = None
        if known is not None:
            self._sources[known[0]].fetcher.unfollow(known[1])

    def lose(self, replica: Replica) -> None:
        """Fetch a replica no more whose log is lost to this process; it may load it again."""
        known = self._source_of.get(replica.tp)
        if known is not None:
            self._sources[known[0]].fetcher.begin_anew()
        self.unfollow(replica)

    def prune(self) -> None:
        """End the loops of sources that nothing is fetched from any more."""
        for source_id, source in list(self._sources.items()):
            if len(source.fetcher) == 0:
                del self._sources[source_id]
                _end(source)

    def stop(self) -> None:
        """End all loops."""
        self._group = None
        self._source_of.clear()
        sources, self._sources = self._sources, {}
        for source in sources.values():
            _end(source)

    def _begin(self, source_id: int, group: asyncio.TaskGroup) -> _Source:
        config = self._state.config
        settings = FetchSettings(
            broker_id=self._state.broker_id,
            broker_epoch=self._state.ports.broker_epoch,
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            response_max_bytes=config.replica_fetch_response_max_bytes,
            partition_max_bytes=config.replica_fetch_max_bytes,
            backoff_ms=config.replica_fetch_backoff_ms,
            timeout_ms=config.replica_socket_timeout_ms,
        )
        throttle = FollowerThrottle(
            self._state.quotas.follower, self._state.rebuilds, self._state.now_ms
        )
        fetcher = Fetcher(source_id, settings, partial(self._connect, source_id), throttle)
        reconciler = Reconciler(fetcher)
        tasks = (
            group.create_task(supervised(f"fetcher-{source_id}", fetcher.run)),
            group.create_task(supervised(f"reconciler-{source_id}", reconciler.run)),
        )
        source = self._sources[source_id] = _Source(fetcher, reconciler, tasks)
        return source

    def _connect(self, source_id: int) -> RpcPort | None:
        address = self._state.address_of(source_id)
        return None if address is None else self._state.ports.connect(*address)


def _end(source: _Source) -> None:
    for task in source.tasks:
        task.cancel()
    source.fetcher.close()
    source.reconciler.close()


def _nothing() -> None:
    return None
