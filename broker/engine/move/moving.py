"""One move at work: truncates, fills and promotes the future log of a replica.

Every step looks again after each wait whether the move still stands. The rules are in
`broker.core.future_log`. Source: ReplicaAlterLogDirsThread.scala, Partition.scala
maybeReplaceCurrentWithFutureReplica.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final, NamedTuple

from broker.core.batch_order import BatchOrder, check_copied
from broker.core.future_log import (
    CopyErrorAction,
    Move,
    MoveEvent,
    MoveState,
    can_swap,
    decide_copy_error,
)
from broker.core.leader_epochs import EpochEntry, decide_truncation
from broker.core.log_dirs import LogDirFailed
from broker.core.log_positions import LogPositions
from broker.core.replication_quota import ReplicationQuota
from broker.engine.future import FutureReplica
from broker.engine.hosted_log import HostedLog, Place
from broker.engine.log.deletions import Deletions
from broker.engine.log.logs import Logs
from broker.engine.move.move_source import MoveSource
from broker.engine.move.move_turns import MoveTurns
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.storage.log_dir import LogDir
from broker.storage.log_reader import LogRead
from broker.storage.swap import Swap
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.records.entries import read_stored_header

COPY_BYTES: Final = 8 * 1024 * 1024
"""What one step copies at most, in reads of ``replica.fetch.max.bytes``, when nothing throttles."""
CLOSE_BYTES: Final = 4 * 1024 * 1024
"""A gap of up to this is closed while appends wait: some milliseconds."""
SYNC_BYTES: Final = 256 * 1024 * 1024
"""The promoted log has to be durable: synced in parts, so that no part takes its disk for long."""
SWAP_COPIES_MAX: Final = 8
"""Copies under the pause before the swap is given up for now."""


class MoveTools(NamedTuple):
    """What all moves of a broker share."""

    logs: Logs
    deletions: Deletions
    throttle: ReplicationQuota
    report: Callable[[Replica, FutureReplica], None]
    turns: MoveTurns


class MovingLog:
    """A move of one replica. See `broker.engine.move.mover.MovingReplica`."""

    def __init__(
        self,
        state: EngineState,
        tools: MoveTools,
        replica: Replica,
        future: FutureReplica,
    ) -> None:
        self._state = state
        self._tools = tools
        self._replica = replica
        self._future = future
        self._unsynced_bytes = 0

    @property
    def tp(self) -> TopicPartition:
        """The partition's name."""
        return self._replica.tp

    @property
    def move(self) -> Move:
        """Where the move stands."""
        return self._future.move

    def report(self) -> None:
        """Write a progress row."""
        self._tools.report(self._replica, self._future)

    def fail(self) -> None:
        """End the move, if it is still under way, and write a progress row."""
        if self.move.is_active:
            self.move.on(MoveEvent.ERROR)
            self._state.ports.counters.moves_failed.add()
        self.report()

    @property
    def _log(self) -> HostedLog[LogPositions]:
        log = self._future.log
        assert log is not None, f"{self.tp}: the future log is moved before it exists"
        return log

    def _stands(self, state: MoveState) -> bool:
        """Tell whether the move is still this one, in this state, of a replica that is online."""
        return (
            self.move.state is state
            and self._replica.future is self._future
            and self._state.hosted.online_replica(self.tp) is self._replica
        )

    # Truncating.

    async def truncate(self) -> None:
        """Cut the future log to a prefix of the current one, by leader epochs.

        The current one may be cut again meanwhile: then the last answer counts for nothing. It may
        have been made anew, too, and its leader may have lost what was committed: nothing stays
        that it has not got now. Kafka asks as a follower does, and keeps what was committed.
        """
        current, future = self._replica.log, self._log.positions
        finished = False
        while not finished:
            token = current.token
            partition = current.positions
            asked = min(future.epochs.latest, partition.epochs.latest)
            answer = partition.epochs.end_offset_for(asked, partition.log_end_offset)
            cut = decide_truncation(
                future.epochs,
                future.log_end_offset,
                fallback_offset=self.move.fallback_offset,
                answer=answer,
            )
            await self._cut(min(cut.offset, partition.log_end_offset))
            finished = cut.finished and current.is_still(token)
            if not self._stands(MoveState.TRUNCATING):
                return
        self.move.on(MoveEvent.TRUNCATED)

    async def _cut(self, offset: int) -> None:
        log = self._log
        if offset >= log.positions.log_end_offset:
            # An epoch without records would be asked about for ever.
            log.write_epochs(log.positions.forget_empty_epochs())
        else:
            await self._settle(log.cut(offset))

    async def _settle(self, cut: asyncio.Future[bool]) -> None:
        """Wait for a cut; a RecoveryPoint that falls is written before the copy goes on."""
        if await cut:
            await self._log.dir.queue.submit("settle", _nothing)

    async def _restart_at(self, offset: int) -> None:
        await self._settle(self._log.restart_at(offset, now_ms=self._state.wall_ms()))
        self._replica.on_log_start()

    # Copying.

    async def copy(self) -> None:
        """Copy up to ``COPY_BYTES``; while one part is written the next one is read."""
        async with self._turn():
            if self._stands(MoveState.COPYING):
                await self._copy_step()

    def _turn(self) -> AbstractAsyncContextManager[None]:
        return self._tools.turns.of(self._replica.log_dir, self._log.log_dir)

    async def _copy_step(self) -> None:
        self._unsynced_bytes += await self._copy(MoveState.COPYING)
        if self._unsynced_bytes >= SYNC_BYTES:
            await self._sync()

    async def _sync(self) -> None:
        self._unsynced_bytes = 0
        await self._log.queue.submit("sync future", self._log.files.flush)

    @property
    def _step_bytes(self) -> int:
        """What one step copies at most: under a limit one read, at most a burst."""
        is_limited = self._tools.throttle.is_limited
        return self._read_bytes if is_limited else max(COPY_BYTES, self._read_bytes)

    @property
    def _read_bytes(self) -> int:
        fetch_bytes = self._state.config.replica_fetch_max_bytes
        return min(fetch_bytes, self._tools.throttle.burst_bytes)

    async def _copy(self, state: MoveState) -> int:
        if not await self._in_range():
            return 0
        source = MoveSource(self._replica, self._read_bytes, self._step_bytes)
        offset, copied = self._log.positions.log_end_offset, 0
        written: asyncio.Future[int] | None = None
        try:
            while copied + self._read_bytes <= self._step_bytes and self._stands(state):
                read = await source.read(offset)
                if written is not None:
                    await written
                if read.size_bytes == 0 or not self._stands(state):
                    break
                written = self._write(read, await self._begin_at(read, offset))
                offset, copied = read.next_offset, copied + read.size_bytes
        finally:
            if written is not None:
                await written
        return copied

    async def _begin_at(self, read: LogRead, offset: int) -> int:
        """Return where the future log goes on: when it starts inside a batch, where that begins.

        Its log start is raised again afterwards; what it may have lies below that, and goes.
        Source: KAFKA-6975, Partition.scala appendRecordsToFollowerOrFutureReplica.
        """
        if self._log.files.log_start_offset != offset:
            return offset
        base_offset = read_stored_header(read.buffers[0]).base_offset
        if base_offset < offset:
            await self._restart_at(base_offset)
        return min(base_offset, offset)

    async def _in_range(self) -> bool:
        """Bring the future log into the current log's range; False: copy in the next step."""
        partition, offset = self._replica.partition, self._log.positions.log_end_offset
        if partition.log_start_offset <= offset <= partition.log_end_offset:
            self._tools.logs.raise_future_log_start(self._replica)
            return True
        action = decide_copy_error(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            fetch_offset=offset,
            current_end_offset=partition.log_end_offset,
            epoch_is_newer_now=False,
        )
        if action is CopyErrorAction.TRUNCATE_TO_CURRENT_END:
            await self._cut(partition.log_end_offset)
        else:
            await self._restart_at(partition.log_start_offset)
        return False

    def _write(self, read: LogRead, offset: int) -> asyncio.Future[int]:
        partition = self._replica.partition
        order = BatchOrder(offset, partition.log_end_offset, partition.epochs)
        batches = [header for buffer in read.buffers for header in check_copied(buffer, order)]
        offset = batches[-1].next_offset
        if offset > read.next_offset:
            # A disk that reads elsewhere gives whole batches, too (seed 1065289).
            reason = f"batches up to {offset}, expected up to {read.next_offset}"
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, reason)
        on_written = partial(self._on_written, offset, sum(map(len, read.buffers)))
        return self._log.append(
            read.buffers, offset, on_written, batches=batches, now_ms=self._state.wall_ms()
        )

    def _on_written(
        self,
        end_offset: int,
        size_bytes: int,
        counts: bool,  # noqa: FBT001 -- a callback
    ) -> None:
        if counts:
            positions = self._log.positions
            positions.appended(end_offset)
            committed = min(self._replica.partition.high_watermark, positions.log_end_offset)
            positions.high_watermark = max(positions.log_start_offset, committed)
        self._future.copied_bytes += size_bytes
        self._state.ports.counters.move_bytes.add(size_bytes)
        self._tools.throttle.record(size_bytes, self._state.now_ms())

    def is_close(self) -> bool:
        """Tell whether the swap can copy what is missing, so that it ends also under load."""
        end_offset = self._log.positions.log_end_offset
        missing = self._replica.partition.log_end_offset - end_offset
        missing_bytes = self._replica.log.files.size_bytes - self._log.files.size_bytes
        return missing == 0 or missing_bytes <= min(CLOSE_BYTES, self._step_bytes)

    # Swapping.

    async def swap(self) -> None:
        """Stop appends, copy the rest, let the logs change places; or go on copying.

        In two turns: an append between them waits for one of them at most.
        """
        async with self._turn():
            if self._stands(MoveState.COPYING):
                self._log.write_topic_id(self._replica.topic_id)
                await self._sync()
        async with self._turn():
            if self._stands(MoveState.COPYING):
                await self._swap()
        if self.move.state is MoveState.SWAPPED:
            self.report()

    async def _swap(self) -> None:
        swapping = self._replica.log.swapping
        self.move.on(MoveEvent.CAUGHT_UP)
        swapping.begin()
        try:
            if await self._close_gap():
                await self._promote()
        finally:
            if self._stands(MoveState.SWAPPING):
                self.move.on(MoveEvent.FELL_BEHIND)
            swapping.end()

    async def _close_gap(self) -> bool:
        """Copy what came in before the pause; True when the future log has everything."""
        replica = self._replica
        if not replica.partition.is_settled:
            await replica.log.dir.queue.submit("settle", _nothing)
        kept_log_start = 0
        for _ in range(SWAP_COPIES_MAX):
            if not self._stands(MoveState.SWAPPING):
                return False
            if replica.partition.is_settled and can_swap(
                current_end_offset=replica.partition.log_end_offset,
                future_end_offset=self._log.positions.log_end_offset,
            ):
                # It may have risen while the last records were copied.
                self._tools.logs.raise_future_log_start(replica)
                if replica.partition.log_start_offset == kept_log_start:
                    return True
                kept_log_start = replica.partition.log_start_offset
                await asyncio.shield(self._tools.logs.write_log_starts(self._log.dir))
            else:
                await self._copy(MoveState.SWAPPING)
        return False

    async def _promote(self) -> None:
        replica, promoted = self._replica, self._log
        source, source_log = replica.log.dir, replica.log.files
        background_queue = promoted.queue
        swap = Swap(
            self.tp,
            source=source_log,
            source_root=source.disk.root,
            future=promoted.files,
            background_files=background_queue.files,
            unique=self._state.unique(),
        )
        promoted.place, written_epochs = Place.PROMOTING, promoted.positions.epochs.entries
        await background_queue.submit(
            "swap: promote", partial(swap.promote, promoted.dir.queue.files)
        )
        if self._state.hosted.online_replica(self.tp) is not replica:
            self._on_source_gone(source, promoted)
            return
        self._point_to_promoted(source, written_epochs)
        try:
            await source.queue.submit(
                "swap: release", partial(swap.release, source.background_queue.files)
            )
            await source.background_queue.submit("swap: retire", swap.retire)
        except LogDirFailed:
            # The promoted log is whole; its note tells the next start what to do.
            self._state.unretired[self.tp] = source.path
            return
        self._tools.deletions.renamed(
            self.tp, source_log, source.background_queue, replica.delete_delay_ms
        )
        await background_queue.submit("swap: finish", swap.finish)

    def _on_source_gone(self, source: LogDir, promoted: HostedLog[LogPositions]) -> None:
        """Keep what was promoted while the source failed; the source may even be back."""
        counters = self._state.ports.counters
        if self._tools.logs.keep_promoted(self._replica, promoted):
            self._state.unretired[self.tp] = source.path
            counters.moves_done.add()
        else:
            counters.moves_failed.add()
            self._tools.deletions.set_aside(self.tp, promoted, self._replica.delete_delay_ms)

    def _point_to_promoted(self, source: LogDir, written_epochs: list[EpochEntry]) -> None:
        replica, promoted = self._replica, self._log
        replica.log.become(promoted)
        replica.future = None
        self._state.log_dir_states.uncount_log(source.path)
        self._state.cleaner_offsets.move(self.tp, source.path, promoted.log_dir)
        self._tools.logs.on_promoted(replica, written_epochs)
        self._state.ports.counters.moves_done.add()
        if self.move.on(MoveEvent.SWAP_DONE):
            self._state.move_ended(self.tp)


def _nothing() -> None:
    return None
