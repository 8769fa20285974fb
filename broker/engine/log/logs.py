"""What the engine does to logs: make them, put them online, cut them, and who hears of that.

What it does to files is in `hosted_log`. Which log is cut where is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from broker.core.leader_epochs import EpochEntry, LeaderEpochs, taken_over
from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.core.partition import Partition
from broker.engine.hosted_log import HostedLog, Place
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.files import LogDirFiles
from broker.storage.layout import current_dir_name, future_dir_name
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from broker.storage.recovery import LoadedLog
from protocol.ids import ZERO_UUID, TopicPartition

logger = logging.getLogger(__name__)


class Logs:
    """Creates and changes logs."""

    def __init__(
        self,
        state: EngineState,
        *,
        on_truncated: Callable[[Replica, int], None],
        checkpoint: Callable[[LogDir], None],
        before_new_log: Callable[[LogDir, TopicPartition], bool],
        write_log_starts: Callable[[LogDir], asyncio.Future[bool]],
    ) -> None:
        self._state = state
        self._on_truncated = on_truncated
        self._checkpoint = checkpoint
        self._before_new_log = before_new_log
        self.write_log_starts = write_log_starts
        """Writes those of a log dir down, at once; see ``LogStartWrites.ask``."""

    def create(
        self, tp: TopicPartition, topic_id: bytes, log_dir: LogDir
    ) -> asyncio.Future[PartitionLog]:
        """Create an empty current log.

        Raises:
            LogDirFailed: at once or in the future.
        """
        job = partial(
            PartitionLog.create,
            log_dir.queue.files,
            current_dir_name(tp),
            self._state.ports.topic_config(tp.topic),
            now_ms=self._state.wall_ms(),
            topic_id=None if topic_id == ZERO_UUID else topic_id,
        )
        self._before_new_log(log_dir, tp)
        return log_dir.queue.submit("create log", job)

    def create_future(self, replica: Replica, log_dir: LogDir) -> asyncio.Future[PartitionLog]:
        """Create an empty future log for a replica; it belongs to the thread beside.

        Raises:
            LogDirFailed: at once or in the future.
        """
        name = future_dir_name(replica.tp, self._state.unique())
        start, config = replica.partition.log_start_offset, replica.log.files.config
        topic_id = None if replica.topic_id == ZERO_UUID else replica.topic_id
        now_ms = self._state.wall_ms()

        def create(files: LogDirFiles) -> PartitionLog:
            log = PartitionLog.create(
                files, name, config, now_ms=now_ms, topic_id=topic_id, log_start_offset=start
            )
            log.hand_over(log_dir.background_queue.files)
            return log

        is_again = self._before_new_log(log_dir, replica.tp)
        queue = (
            log_dir.queue if is_again else log_dir.background_queue
        )  # The checkpoints are written by the first.
        return queue.submit("create future log", partial(create, queue.files))

    # Logs that are there.

    def current(
        self, files: PartitionLog, log_dir: LogDir, partition: Partition, topic_id: bytes
    ) -> HostedLog[Partition]:
        """Return the current log of ``partition``, whose directory has ``topic_id``."""
        checkpoint = self._checkpoint
        log = HostedLog(files, log_dir, partition, place=Place.CURRENT, checkpoint=checkpoint)
        log.topic_id = topic_id
        return log

    def future(
        self, files: PartitionLog, log_dir: LogDir, topic_id: bytes
    ) -> HostedLog[LogPositions]:
        """Return a future log without records that has just been created."""
        start = files.log_start_offset
        return self._future(files, log_dir, topic_id, LeaderEpochs(), high_watermark=start)

    def found_future(self, found: LoadedLog, log_dir: LogDir) -> HostedLog[LogPositions]:
        """Return a future log that was found on disk."""
        epochs, topic_id = LeaderEpochs(found.leader_epochs), found.topic_id or ZERO_UUID
        return self._future(
            found.log, log_dir, topic_id, epochs, high_watermark=found.high_watermark
        )

    def _future(
        self,
        files: PartitionLog,
        log_dir: LogDir,
        topic_id: bytes,
        epochs: LeaderEpochs,
        *,
        high_watermark: int,
    ) -> HostedLog[LogPositions]:
        positions = LogPositions()
        positions.take_over(
            log_start_offset=files.log_start_offset,
            log_end_offset=files.log_end_offset,
            high_watermark=high_watermark,
            epochs=epochs,
        )
        checkpoint = self._checkpoint
        log = HostedLog(files, log_dir, positions, place=Place.FUTURE, checkpoint=checkpoint)
        log.topic_id = topic_id
        return log

    def host_new(
        self, tp: TopicPartition, topic_id: bytes, files: PartitionLog, log_dir: LogDir
    ) -> Replica:
        """Put a created log online, without a role yet."""
        partition = Partition(tp, self._state.broker_id, self._state.metadata.is_alive)
        return self._host(self.current(files, log_dir, partition, topic_id), topic_id)

    def host_idle(self, idle: HostedLog[Partition], topic_id: bytes) -> Replica:
        """Put a log found on disk online, without a role yet."""
        if idle.topic_id == ZERO_UUID:
            idle.write_topic_id(topic_id)
        return self._host(idle, idle.topic_id if topic_id == ZERO_UUID else topic_id)

    def _host(self, log: HostedLog[Partition], topic_id: bytes) -> Replica:
        tail = self._state.tails.new_tail(log.positions.next_offset)
        replica = Replica(topic_id, log, tail)
        replica.configure(self._state.ports.topic_config(replica.tp.topic))
        self._state.hosted.put_online(replica.tp, replica)
        return replica

    def keep_promoted(self, replica: Replica, promoted: HostedLog[LogPositions]) -> bool:
        """Let a log that was promoted while its source failed wait for a LeaderAndIsr.

        It is whole, and would be found at the next start. False when another log of the replica is
        known by now, so that this one is nobody's.
        """
        tp, hosted = replica.tp, self._state.hosted
        if not hosted.is_offline(tp) or hosted.idle_replica(tp) is not None:
            return False
        partition = Partition(tp, self._state.broker_id, self._state.metadata.is_alive)
        start_offset = promoted.files.log_start_offset
        end_offset = promoted.positions.log_end_offset
        partition.load(
            log_start_offset=start_offset,
            log_end_offset=end_offset,
            high_watermark=replica.partition.high_watermark,
            epochs=taken_over(
                promoted.positions.epochs.entries,
                replica.partition.epochs,
                start_offset=start_offset,
                end_offset=end_offset,
            ),
            producers=replica.partition.producers.states,
        )
        idle = self.current(promoted.files, promoted.dir, partition, replica.topic_id)
        hosted.put_idle(tp, idle)
        hosted.release((tp,))
        logger.info("%s waits in %s, where it was being moved", tp, promoted.log_dir)
        return True

    def on_promoted(self, replica: Replica, written_epochs: list[EpochEntry]) -> None:
        """Bring a promoted log and what is known of its partition together.

        ``written_epochs`` stand in its directory. After a kill the future log may remember that
        records were deleted when the current one does not: each log dir writes its own checkpoint
        of log starts, and that of the other log dir counts no more.
        """
        partition = replica.partition
        partition.epochs = taken_over(
            written_epochs,
            partition.epochs,
            start_offset=partition.log_start_offset,
            end_offset=partition.next_offset,
        )
        self.raise_log_start(replica, replica.log.files.log_start_offset)
        if replica.log_start_write is not None:
            replica.log_start_rose(replica.kept_log_start, self.write_log_starts(replica.log.dir))
        entries = partition.epochs.entries
        replica.log.write_epochs(None if entries == written_epochs else entries)
        replica.log.write_topic_id(replica.topic_id)

    def assign_topic_id(self, replica: Replica, topic_id: bytes) -> None:
        """Write the id of a topic that had none, also beside the future log of a move."""
        replica.topic_id = topic_id
        replica.log.write_topic_id(topic_id)
        if replica.future is not None and replica.future.log is not None:
            replica.future.log.write_topic_id(topic_id)

    def truncate(self, replica: Replica, offset: int) -> asyncio.Future[bool]:
        """Cut the current log to ``offset``; appends on their way count no more.

        Raises:
            LogDirFailed: at once or in the future.
        """
        cut = replica.log.cut(offset, on_producers=replica.partition.producers.reload)
        self._on_cut(replica, offset)
        return cut

    def restart_at(self, replica: Replica, offset: int) -> asyncio.Future[bool]:
        """Empty the current log; it goes on at ``offset``.

        Raises:
            LogDirFailed: at once or in the future.
        """
        emptied = replica.log.restart_at(offset, now_ms=self._state.wall_ms())
        self._on_cut(replica, offset)
        return emptied

    def _on_cut(self, replica: Replica, offset: int) -> None:
        replica.tail.clear(offset)
        replica.wake_fetches()
        self._on_truncated(replica, offset)

    def raise_log_start(self, replica: Replica, offset: int) -> None:
        """Move the log start offset up to ``offset``, as far as the log goes; a move follows.

        It counts as the replica's, to those who wait for it, once the log dir's checkpoint has it:
        a process that is killed forgets no deletion that was answered.
        """
        before = replica.partition.log_start_offset
        try:
            raised = replica.log.raise_log_start(offset)
        except LogDirFailed:
            return  # The replica has ended.
        if raised is not None:
            replica.log_start_rose(before, self._write_log_start_of(replica))
            self.raise_future_log_start(replica)

    def _write_log_start_of(self, replica: Replica) -> asyncio.Future[bool]:
        """Have it written where its log is, and before that where a promoted one is.

        After a crash that one is the replica's, whether its swap has ended or not. Only what
        becomes of the first write is told: where a promotion fails the log stays.
        """
        written = self.write_log_starts(replica.log.dir)
        future = None if replica.future is None else replica.future.log
        if future is None or not future.is_promoting:
            return written
        both: asyncio.Future[bool] = self._state.loop.create_future()
        promoted = self.write_log_starts(future.dir)
        promoted.add_done_callback(
            lambda _: written.add_done_callback(lambda one: both.set_result(one.result()))
        )
        return both

    def raise_future_log_start(self, replica: Replica) -> None:
        """Have the future log start where the current one does, once it reaches that far."""
        start = replica.partition.log_start_offset
        future = None if replica.future is None else replica.future.log
        if future is None or start > future.positions.log_end_offset:
            return  # The mover empties it and begins at the current log's start.
        try:
            raised = future.raise_log_start(start)
        except LogDirFailed:
            return
        if raised is not None:
            raised.add_done_callback(partial(_future_raised, replica))


def _future_raised(replica: Replica, raised: asyncio.Future[None]) -> None:
    if not raised.cancelled() and raised.exception() is None:
        replica.on_log_start()
