"""What the engine does to current logs: create, truncate, restart, note leader epochs.

Each is a job in the log dir's own queue, so that it keeps its order with the appends around it.
Which log is cut where is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from broker.core.leader_epochs import EpochEntry
from broker.core.log_dirs import LogDirFailed
from broker.core.log_start import raise_log_start
from broker.core.partition import Partition
from broker.core.producers import ProducerStates
from broker.engine.future import FutureReplica
from broker.engine.replica import IdleReplica, Replica
from broker.engine.state import EngineState
from broker.storage.disk_queue import DiskQueue
from broker.storage.files import LogDirFiles
from broker.storage.layout import current_dir_name, future_dir_name
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
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
    ) -> None:
        self._state = state
        self._on_truncated = on_truncated
        self._checkpoint = checkpoint
        self._before_new_log = before_new_log

    def create(
        self, tp: TopicPartition, topic_id: bytes, log_dir: LogDir
    ) -> asyncio.Future[PartitionLog]:
        """Create an empty current log.

        Raises:
            LogDirFailed: at once or in the future.
        """
        job = partial(
            PartitionLog.create,
            log_dir.files,
            current_dir_name(tp),
            self._state.ports.topic_config(tp.topic),
            now_ms=self._state.wall_ms(),
            topic_id=None if topic_id == ZERO_UUID else topic_id,
        )
        self._before_new_log(log_dir, tp)
        return log_dir.submit("create log", job)

    def create_future(self, replica: Replica, log_dir: LogDir) -> asyncio.Future[PartitionLog]:
        """Create an empty future log for a replica; it belongs to the thread beside.

        Raises:
            LogDirFailed: at once or in the future.
        """
        name = future_dir_name(replica.tp, self._state.unique())
        start, config = replica.partition.log_start_offset, replica.log.config
        topic_id = None if replica.topic_id == ZERO_UUID else replica.topic_id
        now_ms = self._state.wall_ms()

        def create(files: LogDirFiles) -> PartitionLog:
            log = PartitionLog.create(
                files, name, config, now_ms=now_ms, topic_id=topic_id, log_start_offset=start
            )
            log.hand_over(log_dir.beside.files)
            return log

        is_again = self._before_new_log(log_dir, replica.tp)
        queue = log_dir if is_again else log_dir.beside  # The checkpoints are written by the first.
        return queue.submit("create future log", partial(create, queue.files))

    def host_new(
        self, tp: TopicPartition, topic_id: bytes, log: PartitionLog, log_dir: LogDir
    ) -> Replica:
        """Put a created log online, without a role yet."""
        partition = Partition(tp, self._state.broker_id, self._state.metadata.is_alive)
        return self._host(Replica(partition, topic_id, log, log_dir, self._state.tails.new_tail(0)))

    def host_idle(self, idle: IdleReplica, topic_id: bytes) -> Replica:
        """Put a log found on disk online, without a role yet."""
        if idle.topic_id == ZERO_UUID != topic_id:
            self._write_topic_id(idle.log, idle.dir, topic_id)
        tail = self._state.tails.new_tail(idle.partition.next_offset)
        known = idle.topic_id if topic_id == ZERO_UUID else topic_id
        return self._host(Replica(idle.partition, known, idle.log, idle.dir, tail))

    def keep_promoted(self, replica: Replica, future: FutureReplica) -> bool:
        """Let a log that was promoted while its source failed wait for a LeaderAndIsr.

        It is whole, and would be found at the next start. False when another log of the replica is
        known by now, so that this one is nobody's.
        """
        tp, hosted, log = replica.tp, self._state.hosted, future.log
        if log is None or not hosted.is_offline(tp) or hosted.idle(tp) is not None:
            return False
        partition = Partition(tp, self._state.broker_id, self._state.metadata.is_alive)
        partition.load(
            log_start_offset=log.log_start_offset,
            log_end_offset=future.log_end_offset,
            high_watermark=replica.partition.high_watermark,
            epochs=replica.partition.epochs,
            producers=replica.partition.producers.states,
        )
        hosted.put_idle(tp, IdleReplica(partition, replica.topic_id, log, future.dir))
        hosted.release((tp,))
        logger.info("%s waits in %s, where it was being moved", tp, future.dir.path)
        return True

    def on_promoted(self, replica: Replica, written_epochs: list[EpochEntry]) -> None:
        """Bring a promoted log and what is known of its partition together.

        ``written_epochs`` stand in its directory. After a kill the future log may remember that
        records were deleted when the current one does not: each log dir writes its own checkpoint
        of log starts.
        """
        self.raise_log_start(replica, replica.log.log_start_offset)
        if replica.partition.epochs.entries != written_epochs:
            self.write_epochs(replica)

    def _host(self, replica: Replica) -> Replica:
        replica.configure(self._state.ports.topic_config(replica.tp.topic))
        self._state.hosted.put_online(replica.tp, replica)
        return replica

    def assign_topic_id(self, replica: Replica, topic_id: bytes) -> None:
        """Write the id of a topic that had none, also beside the future log of a move."""
        replica.topic_id = topic_id
        self._write_topic_id(replica.log, replica.dir, topic_id)
        future = replica.future
        if future is not None and future.log is not None and not future.is_promoting:
            self._write_topic_id(future.log, future.queue, topic_id)

    def _write_topic_id(self, log: PartitionLog, log_dir: DiskQueue, topic_id: bytes) -> None:
        log_dir.submit_quietly("write topic id", lambda: log.write_partition_metadata(topic_id))

    def write_epochs(self, replica: Replica) -> None:
        """Write the leader epochs; nobody waits for it, a failure fails the log dir."""
        log, entries = replica.log, replica.partition.epochs.entries
        replica.dir.submit_quietly("write leader epochs", lambda: log.write_leader_epochs(entries))

    def forget_empty_epochs(self, replica: Replica) -> None:
        """Drop leader epochs that began at the end of the log and got no records.

        A leader notes its epoch before its first append; another leader knows nothing of it, and a
        follower that kept it would be sent to truncate for ever.
        Source: UnifiedLog.scala truncateTo.
        """
        partition = replica.partition
        if partition.epochs.truncate_from_end(partition.next_offset):
            self.write_epochs(replica)

    def truncate(self, replica: Replica, offset: int) -> asyncio.Future[bool]:
        """Cut the current log to ``offset``; appends on their way count no more.

        Raises:
            LogDirFailed: at once or in the future.
        """
        log = replica.log
        replica.generation += 1
        changed = replica.partition.truncated(offset)
        entries = replica.partition.epochs.entries if changed else None
        replica.tail.clear(offset)
        replica.wake_fetches()
        self._on_truncated(replica, offset)
        producers: list[ProducerStates] = []

        def cut() -> None:
            states = log.truncate_to(offset)
            if states is not None:
                producers.append(states)
            if entries is not None:
                log.write_leader_epochs(entries)

        done = self.cut(replica.dir, log, "truncate", cut)
        replica.cutting = self._state.loop.create_future()
        done.add_done_callback(partial(_reload_producers, replica, replica.cutting, producers))
        return done

    def restart_at(self, replica: Replica, offset: int) -> asyncio.Future[bool]:
        """Empty the current log; it goes on at ``offset``.

        Raises:
            LogDirFailed: at once or in the future.
        """
        log, now_ms = replica.log, self._state.wall_ms()
        replica.generation += 1
        replica.partition.restarted_at(offset)
        replica.tail.clear(offset)
        replica.wake_fetches()
        self._on_truncated(replica, offset)

        def empty() -> None:
            log.truncate_fully_and_start_at(offset, now_ms=now_ms)
            log.write_leader_epochs(())

        replica.cutting = None
        return self.cut(replica.dir, log, "truncate fully", empty)

    def cut(
        self,
        log_dir: LogDir,
        log: PartitionLog,
        operation: str,
        job: Callable[[], None],
        *,
        queue: DiskQueue | None = None,
    ) -> asyncio.Future[bool]:
        """Run a job that cuts a current or future log; True when its RecoveryPoint fell.

        That is then written before anything that is appended afterwards: after a crash nothing may
        be trusted that was not synced. ``queue`` is another one than the log dir's own, whose next
        job is behind that write. Source: LogManager.scala truncateTo.

        Raises:
            LogDirFailed: at once or in the future.
        """

        def cut() -> bool:
            before = log.recovery_point
            job()
            return log.recovery_point < before

        done = (queue or log_dir).submit(operation, cut)
        done.add_done_callback(partial(self._on_cut, log_dir))
        return done

    def _on_cut(self, log_dir: LogDir, done: asyncio.Future[bool]) -> None:
        if done.cancelled() or (done.exception() is None and done.result()):
            self._checkpoint(log_dir)

    def raise_log_start(self, replica: Replica, offset: int) -> None:
        """Move the log start offset up to ``offset``, as far as the log goes; a move follows.

        Files stay until retention removes them.
        """
        partition, log = replica.partition, replica.log
        if not raise_log_start(partition, offset):
            return
        start, entries = partition.log_start_offset, partition.epochs.entries

        def moved() -> None:
            log.raise_log_start_offset(start)
            log.write_leader_epochs(entries)

        replica.dir.submit_quietly("raise log start", moved)
        self.raise_future_log_start(replica)
        replica.on_log_start()

    def raise_future_log_start(self, replica: Replica) -> None:
        """Have the future log start where the current one does, once it reaches that far."""
        future, start = replica.future, replica.partition.log_start_offset
        if future is None or future.log is None or future.log.log_start_offset >= start:
            return
        if start > future.log_end_offset:
            return  # The mover empties it and begins at the current log's start.
        log = future.log
        future.epochs.truncate_from_start(start)
        entries, writes_epochs = future.epochs.entries, not future.is_promoting

        def moved() -> None:
            log.raise_log_start_offset(start)
            if writes_epochs:  # Those of the promoted log are written with the swap.
                log.write_leader_epochs(entries)

        try:
            raised = future.queue.submit("raise future log start", moved)
        except LogDirFailed:
            return
        raised.add_done_callback(partial(_future_raised, replica))


def _future_raised(replica: Replica, raised: asyncio.Future[None]) -> None:
    if not raised.cancelled() and raised.exception() is None:
        replica.on_log_start()


def _reload_producers(
    replica: Replica,
    cutting: asyncio.Future[None],
    producers: list[ProducerStates],
    cut: asyncio.Future[bool],
) -> None:
    """Take over the producers as of where the log was cut, unless it was cut again meanwhile."""
    if replica.cutting is cutting:
        replica.cutting = None
        if not cut.cancelled() and cut.exception() is None and producers:
            replica.partition.producers.reload(producers[0])
    cutting.set_result(None)
