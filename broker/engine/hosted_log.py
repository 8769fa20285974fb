"""One log of this broker and whoever may change it: its positions, its files, its queue.

A log may change under whoever waits for its disk: it is cut, emptied, moved to another log dir, or
ends with its replica. All of that happens here, so that nobody else has to know how: who waited
asks for the ``token`` of before, and who has to wait is told by a `Hold`. What is cut where is
decided elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from typing import Generic, NewType, TypeVar

from broker.core.log_positions import EpochsToWrite, LogPositions
from broker.core.producers import ProducerStates
from broker.storage.disk_queue import DiskQueue
from broker.storage.log_dir import LogDir
from broker.storage.partition_log import PartitionLog
from protocol.ids import ZERO_UUID
from protocol.ports import Buffer
from protocol.records.batch import BatchHeader

PositionsT_co = TypeVar("PositionsT_co", bound=LogPositions, covariant=True)
LogToken = NewType("LogToken", int)
"""Of one log as it was: see ``HostedLog.token``."""


class Hold:
    """Something during which others leave a log alone.

    Nobody sees one that is over and still holds: it is gone before those who wait are woken.
    """

    __slots__ = ("_ended",)

    def __init__(self) -> None:
        """Begin without holding anything."""
        self._ended: asyncio.Future[None] | None = None

    @property
    def ended(self) -> asyncio.Future[None] | None:
        """Its end, which is never done; None while nothing holds. Shield it: others wait, too."""
        return self._ended

    def begin(self) -> None:
        """Hold; what holds already goes on."""
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()

    def end(self) -> None:
        """Hold no more, and wake those who wait."""
        ended, self._ended = self._ended, None
        if ended is not None:
            ended.set_result(None)


class Place(Enum):
    """What a log is to its log dir."""

    CURRENT = auto()
    FUTURE = auto()
    """Copied by a move; its jobs go beside what clients wait for."""
    PROMOTING = auto()
    """The renames of a swap have begun: the thread beside is about to give the log away. What is
    submitted then must touch no file."""


class HostedLog(Generic[PositionsT_co]):
    """A current log or a future one; ``positions`` of a current one are its `Partition`."""

    __slots__ = (
        "_checkpoint",
        "_cut_job",
        "_generation",
        "cutting",
        "dir",
        "files",
        "place",
        "positions",
        "swapping",
        "topic_id",
    )

    def __init__(
        self,
        files: PartitionLog,
        log_dir: LogDir,
        positions: PositionsT_co,
        *,
        place: Place,
        checkpoint: Callable[[LogDir], None],
    ) -> None:
        """``checkpoint`` writes the log dir's RecoveryPoints at once: one of them fell."""
        self.files = files
        """For jobs of ``queue``; what the loop may read of it, `PartitionLog` says."""
        self.dir = log_dir
        self.positions = positions
        self.place = place
        self.topic_id: bytes = ZERO_UUID
        """As the log's directory has it; all zero while that is unknown."""
        self.swapping = Hold()
        """While a future log takes the place of this one."""
        self.cutting = Hold()
        """Until the producers were read again of a log that is being cut."""
        self._checkpoint = checkpoint
        self._cut_job: asyncio.Future[bool] | None = None
        self._generation = 0

    @property
    def log_dir(self) -> str:
        """The path of its log dir."""
        return self.dir.path

    @property
    def queue(self) -> DiskQueue:
        """Where its jobs go."""
        return self.dir.background_queue if self.place is Place.FUTURE else self.dir.queue

    @property
    def is_future(self) -> bool:
        """Whether another log is the current one."""
        return self.place is not Place.CURRENT

    @property
    def is_promoting(self) -> bool:
        """Whether the renames of its swap have begun, which nothing may interrupt."""
        return self.place is Place.PROMOTING

    # Who waited looks again.

    @property
    def token(self) -> LogToken:
        """What ``is_still`` compares: it changes when the log is cut, emptied, moved or ended."""
        return LogToken(self._generation)

    def is_still(self, token: LogToken) -> bool:
        """Tell whether all that was true of the log at ``token`` counts still."""
        return self._generation == token

    @property
    def unwritable(self) -> asyncio.Future[None] | None:
        """What to wait for before the log may be appended to, and then look again; else None."""
        return self.swapping.ended or self.cutting.ended

    # Changes: positions at once, files in line with each other.

    def append(
        self,
        records: Sequence[Buffer],
        end_offset: int,
        on_written: Callable[[bool], None],
        *,
        batches: Sequence[BatchHeader] = (),
        now_ms: int,
    ) -> asyncio.Future[int]:
        """Append whole batches up to ``end_offset``, in the order of calls.

        ``on_written`` is called once they are on disk: with False when the log was cut, emptied or
        ended meanwhile, so that they count no more. ``batches`` are those whose leader epochs are
        not known yet: a leader notes its own before. ``now_ms`` is wall-clock time.

        Raises:
            LogDirFailed: at once or in the future.
        """
        written = self.queue.submit_append(self.files, records, now_ms)
        begin_offset = self.positions.next_offset
        self.positions.assign_offsets(end_offset)
        if batches:
            self.write_epochs(self.positions.note_epochs(batches, begin_offset))
        written.add_done_callback(partial(self._on_written, self._generation, self.dir, on_written))
        return written

    def _on_written(
        self,
        generation: int,
        log_dir: LogDir,
        on_written: Callable[[bool], None],
        written: asyncio.Future[int],
    ) -> None:
        if written.cancelled():
            return  # Who waited for it has ended, and the engine with it.
        error = written.exception()
        if error is None:
            on_written(self._generation == generation)
        else:
            # A failed log dir ended the replica already; anything else would leave a gap.
            log_dir.fail("append", error)

    def write_epochs(self, entries: EpochsToWrite) -> None:
        """Write leader epochs, if there is news; nobody waits, a failure fails the log dir."""
        if entries is not None:
            job = partial(self.files.write_leader_epochs, entries)
            self.queue.submit_quietly("write leader epochs", job)

    def write_topic_id(self, topic_id: bytes) -> None:
        """Write the topic's id if the log's directory has not got it; nobody waits.

        A log that is being promoted has to wait: call it again then.
        """
        if topic_id not in {ZERO_UUID, self.topic_id} and not self.is_promoting:
            self.topic_id = topic_id
            job = partial(self.files.write_partition_metadata, topic_id)
            self.queue.submit_quietly("write topic id", job)

    def cut(
        self, offset: int, *, on_producers: Callable[[ProducerStates], None] | None = None
    ) -> asyncio.Future[bool]:
        """Cut the log to ``offset``; appends on their way count no more.

        The future tells whether its RecoveryPoint fell. ``on_producers`` takes the producers as of
        ``offset``, unless the log is cut again or emptied before they are read; until then it is
        not writable.

        Raises:
            LogDirFailed: at once or in the future.
        """
        self.end()
        files, entries = self.files, self.positions.truncated(offset)
        found: list[ProducerStates] = []

        def truncate() -> None:
            states = files.truncate_to(offset)
            if states is not None:
                found.append(states)
            if entries is not None:
                files.write_leader_epochs(entries)

        self._cut_job = cut = self._submit_cut("truncate", truncate)
        self.cutting.begin()
        cut.add_done_callback(partial(self._on_cut, found, on_producers))
        return cut

    def restart_at(self, offset: int, *, now_ms: int) -> asyncio.Future[bool]:
        """Empty the log; it goes on at ``offset``. As ``cut`` else; ``now_ms`` is wall-clock time.

        Raises:
            LogDirFailed: at once or in the future.
        """
        self.end()
        files, entries = self.files, self.positions.restarted_at(offset)

        def empty() -> None:
            files.truncate_fully_and_start_at(offset, now_ms=now_ms)
            files.write_leader_epochs(entries)

        self._cut_job = None
        self.cutting.end()
        return self._submit_cut("truncate fully", empty)

    def raise_log_start(self, offset: int) -> asyncio.Future[None] | None:
        """Move the log start offset up, as far as the log goes; None: it stays where it is.

        Files stay until retention removes them.

        Raises:
            LogDirFailed: at once or in the future.
        """
        raised = self.positions.raise_log_start(offset)
        if raised is None:
            return None
        files, writes_epochs = self.files, not self.is_promoting

        def move() -> None:
            files.raise_log_start_offset(raised.log_start_offset)
            if writes_epochs:  # Those of a promoted log are written when that is done.
                files.write_leader_epochs(raised.epochs)

        return self.queue.submit("raise log start", move)

    def become(self, promoted: HostedLog[LogPositions]) -> None:
        """Go on with the files of a promoted log, which ends where this one does."""
        self.end()
        self.files, self.dir = promoted.files, promoted.dir
        self.topic_id = promoted.topic_id

    def end(self) -> None:
        """Nothing that is written late counts any more."""
        self._generation += 1

    def _submit_cut(self, operation: str, job: Callable[[], None]) -> asyncio.Future[bool]:
        """Queue a job that cuts; a RecoveryPoint that falls is written at once.

        That is before anything that the log dir's own queue appends afterwards: after a crash
        nothing may be trusted that was not synced. Source: LogManager.scala truncateTo.
        """
        files, log_dir = self.files, self.dir

        def cut() -> bool:
            before = files.recovery_point
            job()
            return files.recovery_point < before

        done = self.queue.submit(operation, cut)
        done.add_done_callback(partial(self._write_recovery_point, log_dir))
        return done

    def _write_recovery_point(self, log_dir: LogDir, cut: asyncio.Future[bool]) -> None:
        if cut.cancelled() or (cut.exception() is None and cut.result()):
            self._checkpoint(log_dir)

    def _on_cut(
        self,
        found: list[ProducerStates],
        on_producers: Callable[[ProducerStates], None] | None,
        cut: asyncio.Future[bool],
    ) -> None:
        if self._cut_job is not cut:
            return
        is_cut = not cut.cancelled() and cut.exception() is None
        if is_cut and found and on_producers is not None:
            on_producers(found[0])
        self.cutting.end()
