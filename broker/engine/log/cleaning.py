"""The cleaners: one per log dir, each with its own disk, none waiting for another.

A cleaner works in short jobs of its log dir's queue and rests after each one as long as it took.
It takes a pass back as soon as its replica is gone, truncated or paused. The rules are in
`broker.core.compaction`, the passes in `broker.storage.cleaner`.

Source: LogCleaner.scala CleanerThread, LogCleanerManager.scala.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Final, NamedTuple

from broker.core.leader_epochs import LeaderEpochs
from broker.core.log_dirs import LogDirFailed
from broker.core.pacing import Pacer
from broker.engine.hosted_log import LogToken
from broker.engine.log.checkpoints import Checkpoints
from broker.engine.log.deletions import Deletions
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from broker.engine.supervise import supervised
from broker.storage.batch_scan import CorruptBatch
from broker.storage.cleanable import (
    Candidate,
    Filthiest,
    read_cleaner_offsets,
    survey,
    write_cleaner_offsets,
)
from broker.storage.cleaner import CleaningPass, DirtyPart, PassOptions, SegmentsChanged
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.errors import Malformed
from protocol.ids import TopicPartition

logger = logging.getLogger(__name__)

WRITE_S: Final = 5.0
"""Time between two looks for first dirty offsets that changed but by a pass."""
STEP_BYTES_MAX: Final = 1 << 20
STEP_BYTES_MIN: Final = 4 << 10
_NEVER_RUN: Final = -1


class CleanerGauges(NamedTuple):
    """How the cleaner of one log dir does."""

    uncleanable_count: int
    uncleanable_bytes: int
    dirty_percent_max: int
    """Of the log with the largest dirty share, as of the last look."""
    since_last_run_ms: int
    """-1 before the first look."""


class _Target(NamedTuple):
    """A log as it was when a cleaner looked at it."""

    replica: Replica
    token: LogToken
    files: PartitionLog
    log_dir: LogDir


class CleanerTools(NamedTuple):
    """What all cleaners of a broker share."""

    deletions: Deletions
    checkpoints: Checkpoints
    pacer: Pacer


class Cleaning:
    """The cleaners of a broker."""

    def __init__(self, state: EngineState, deletions: Deletions, checkpoints: Checkpoints) -> None:
        self._state = state
        tools = CleanerTools(deletions, checkpoints, Pacer())
        self._cleaners = {
            path: Cleaner(state, log_dir, tools) for path, log_dir in state.log_dirs.items()
        }
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Read how far each log was cleaned, before a log may change."""
        for cleaner in self._cleaners.values():
            await cleaner.load()

    async def log_dir_returned(self, log_dir: LogDir) -> None:
        """Go on with a log dir that was opened anew, before its logs may change."""
        await self._cleaners[log_dir.path].adopt(log_dir)

    def run(self, task_group: asyncio.TaskGroup) -> None:
        """Start the cleaners, unless ``log.cleaner.enable`` is false."""
        if not self._state.config.log_cleaner_enable:
            return
        self._tasks = [
            task_group.create_task(supervised(f"cleaner {path}", cleaner.run))
            for path, cleaner in self._cleaners.items()
        ]
        self._tasks.append(task_group.create_task(supervised("cleaner-offsets", self._write_often)))

    def stop(self) -> None:
        """End the cleaners; a pass that is cut leaves files that the next start removes."""
        for task in self._tasks:
            task.cancel()
        self.write_changed()

    def write_changed(self) -> None:
        """Have the first dirty offsets written where truncations, moves and deletions changed them.

        Nobody waits for it.
        """
        for cleaner in self._cleaners.values():
            cleaner.write_changed()

    def gauges(self) -> dict[str, CleanerGauges]:
        """Return the gauges by log dir path."""
        return {path: cleaner.gauges() for path, cleaner in self._cleaners.items()}

    async def _write_often(self) -> None:
        while True:
            await asyncio.sleep(WRITE_S)
            self.write_changed()


class Cleaner:
    """The cleaner of one log dir."""

    def __init__(self, state: EngineState, log_dir: LogDir, tools: CleanerTools) -> None:
        self._state = state
        self._log_dir = log_dir
        self._deletions, self._checkpoints, self._pacer = tools
        self._dirty_percent_max = 0
        self._last_run_ms = _NEVER_RUN

    async def adopt(self, log_dir: LogDir) -> None:
        """Clean what is on ``log_dir``, which came back in the place of the failed one."""
        self._log_dir = log_dir
        await self.load()

    async def load(self) -> None:
        """Read the log dir's file; nothing is known of a log dir that fails."""
        try:
            job = partial(read_cleaner_offsets, self._log_dir.disk)
            known = await self._log_dir.queue.submit("read cleaner offsets", job)
        except LogDirFailed:
            return
        self._state.cleaner_offsets.load(self._log_dir.path, known)

    async def run(self) -> None:
        """Clean the filthiest log, again and again; rest when none is due."""
        while True:
            if not await self._try_round():
                await asyncio.sleep(max(self._state.config.log_cleaner_backoff_ms, 1) / 1000)

    async def _try_round(self) -> bool:
        if not self._log_dir.is_online:
            return False
        try:
            return await self._round()
        except LogDirFailed:
            return False  # Others are told of it; this cleaner has nothing to do any more.

    async def _round(self) -> bool:
        """Look at all compacted logs of the log dir and clean one; False: there was none to."""
        self._last_run_ms, self._dirty_percent_max = self._state.now_ms(), 0
        targets = self._targets()
        if not targets:
            return False
        candidates = [self._candidate(target) for target in targets.values()]
        look = partial(survey, candidates, self._state.wall_ms())
        found = await self._log_dir.queue.submit("look for dirty logs", look)
        path, offsets = self._log_dir.path, self._state.cleaner_offsets
        self._dirty_percent_max = int(found.dirtiest_ratio * 100)
        for tp, offset in found.resets:
            offsets.put(path, tp, offset)
        for tp, damage in found.unreadable:
            self._give_up(tp, damage)
        self.write_changed()
        if found.filthiest is None:
            return False
        return await self._clean(targets[found.filthiest.candidate.tp], found.filthiest)

    def _targets(self) -> dict[TopicPartition, _Target]:
        """Return what may be cleaned now, as it is now."""
        targets = {
            tp: _Target(replica, replica.log.token, replica.log.files, self._log_dir)
            for tp, replica in self._state.hosted.iterate_online()
            if replica.compaction is not None and replica.log.dir is self._log_dir
        }
        return {tp: target for tp, target in targets.items() if self._stands(target)}

    def _candidate(self, target: _Target) -> Candidate:
        replica = target.replica
        assert replica.compaction is not None, f"{replica.tp} is not compacted"
        return Candidate(
            replica.tp,
            target.files,
            self._state.cleaner_offsets.get(target.log_dir.path, replica.tp),
            replica.partition.last_stable_offset,
            replica.compaction,
        )

    def _stands(self, target: _Target) -> bool:
        """Tell whether this cleaner may still work on ``target``."""
        replica, state = target.replica, self._state
        return (
            state.hosted.online_replica(replica.tp) is replica
            and replica.log.is_still(target.token)
            and target.log_dir is self._log_dir
            and replica.compaction is not None
            and not state.cleaning_pauses.is_paused(replica.tp)
            and not state.cleaner_offsets.is_uncleanable(target.log_dir.path, replica.tp)
        )

    # One pass.

    async def _clean(self, target: _Target, filthiest: Filthiest) -> bool:
        """Run a pass to its end; False when it was given up."""
        # The gaps that a pass makes must lie before the recovery point: behind it a gap is a loss.
        await self._checkpoints.make_durable(target.log_dir, target.files)
        epochs = LeaderEpochs(target.replica.partition.epochs.entries)
        begin = partial(self._pass_over, filthiest, epochs, self._state.wall_ms())
        cleaning = await target.log_dir.queue.submit("begin cleaning", begin)
        try:
            finished = await self._work(target, cleaning)
        except LogDirFailed:
            raise
        except SegmentsChanged:
            finished = False
        except Exception as error:  # noqa: BLE001 -- one log must not keep others dirty (KAFKA-7215)
            finished = False
            self._give_up(target.replica.tp, error)
        if not finished:
            await target.log_dir.queue.submit("discard cleaning", cleaning.discard)
            return False
        # Readers of the end would see records that are gone from the log.
        target.replica.tail.clear()
        self._finish(filthiest, cleaning)
        return True

    def _pass_over(self, filthiest: Filthiest, epochs: LeaderEpochs, now_ms: int) -> CleaningPass:
        candidate, dirtiness = filthiest
        config = self._state.config
        step_bytes = max(config.log_cleaner_io_buffer_size // 2, STEP_BYTES_MIN)
        options = PassOptions(
            now_ms=now_ms,
            map_bytes_max=config.log_cleaner_dedupe_buffer_size // len(self._state.log_dirs),
            load_factor=config.log_cleaner_io_buffer_load_factor,
            step_bytes=min(step_bytes, STEP_BYTES_MAX),
            epochs=epochs,
        )
        part = DirtyPart(dirtiness.first_dirty.offset, dirtiness.uncleanable_offset)
        return CleaningPass(candidate.log, part, candidate.rules, options)

    async def _work(self, target: _Target, cleaning: CleaningPass) -> bool:
        """Take the steps; False when the target does not stand any more."""
        while self._stands(target):
            if cleaning.is_done:
                return True
            started_s = self._state.loop.time()
            size_bytes = await target.log_dir.queue.submit("clean", cleaning.step)
            for aside in cleaning.take_set_aside():
                delay_ms = target.replica.delete_delay_ms
                self._deletions.schedule(target.log_dir.queue, aside.remove, delay_ms)
            await self._rest(size_bytes, started_s)
        return False

    async def _rest(self, size_bytes: int, started_s: float) -> None:
        """Leave the disk to others: as long as the step took, and as long as the rate asks for."""
        now_s = self._state.loop.time()
        rate = self._state.config.log_cleaner_io_max_bytes_per_second
        paced_ms = self._pacer.delay_ms(size_bytes, bytes_per_second=rate, now_ms=now_s * 1000)
        await asyncio.sleep(max(paced_ms / 1000, now_s - started_s))

    def _finish(self, filthiest: Filthiest, cleaning: CleaningPass) -> None:
        path, tp = self._log_dir.path, filthiest.candidate.tp
        self._state.cleaner_offsets.put(path, tp, cleaning.end_offset)
        self.write_changed()
        logger.info(
            "%s compacted in %s: first dirty offset %d -> %d, %d bytes read, %d written",
            tp,
            path,
            filthiest.dirtiness.first_dirty.offset,
            cleaning.end_offset,
            cleaning.read_bytes,
            cleaning.written_bytes,
        )

    def _give_up(self, tp: TopicPartition, error: Exception) -> None:
        """Leave a log alone from now on. Source: KAFKA-7215.

        Damaged bytes are the disk's fault; all else is a defect, told with its traceback.
        """
        path = self._log_dir.path
        self._state.cleaner_offsets.mark_uncleanable(path, tp)
        told = None if isinstance(error, CorruptBatch | Malformed) else error
        logger.error("%s: cleanable -> uncleanable in %s: %s", tp, path, error, exc_info=told)

    # What is told of it.

    def write_changed(self) -> None:
        """Write the log dir's file when it is out of date; nobody waits for it."""
        path, offsets = self._log_dir.path, self._state.cleaner_offsets
        if not self._log_dir.is_online or not offsets.take_changed(path):
            return
        present = {tp: at for tp, at in offsets.offsets_of(path).items() if self._is_here(tp)}
        job = partial(write_cleaner_offsets, self._log_dir.disk, present)
        self._log_dir.queue.submit("write cleaner offsets", job)

    def _is_here(self, tp: TopicPartition) -> bool:
        here = self._state.hosted.online_replica(tp) or self._state.hosted.idle_replica(tp)
        return here is not None and here.log_dir == self._log_dir.path

    def gauges(self) -> CleanerGauges:
        """Return how this cleaner does."""
        marked = self._state.cleaner_offsets.uncleanable(self._log_dir.path)
        replicas = [self._state.hosted.online_replica(tp) for tp in marked]
        last_ms = self._last_run_ms
        return CleanerGauges(
            uncleanable_count=len(marked),
            uncleanable_bytes=sum(one.log.files.size_bytes for one in replicas if one is not None),
            dirty_percent_max=self._dirty_percent_max,
            since_last_run_ms=(
                _NEVER_RUN if last_ms == _NEVER_RUN else self._state.now_ms() - last_ms
            ),
        )
