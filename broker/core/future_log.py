"""Moves of a replica to another log dir: what AlterReplicaLogDirs starts, and the states of a move.

It decides and remembers; ``broker.engine.move.mover`` copies, ``broker.storage.swap`` renames.
Source: ReplicaManager.scala alterReplicaLogDirs, ReplicaAlterLogDirsThread.scala, KIP-113.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from broker.core.hosted import HostedState, ReplicaView
from broker.core.log_dirs import LogDirStates
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.witness import Witness, unwitnessed

DIRECTORY_NAME_LENGTH_MAX: Final = 255
_FUTURE_SUFFIX_LENGTH: Final = len(".") + 32 + len("-future")


class MoveDecision(NamedTuple):
    """What the engine does for one partition of AlterReplicaLogDirs, in the order of the fields."""

    error: ErrorCode
    abandon_future: bool = False
    """End the move under way: stop its mover, release its pause, delete its future log. Also when
    ``error`` is set."""
    remember: bool = False
    """``LogDirStates.prefer`` the path."""
    start: bool = False
    """Create the future log, pause cleaning, add it to the mover; then ``forget_preference``. When
    the log cannot be created: KAFKA_STORAGE_ERROR, and the preference stays."""


def decide_move(
    tp: TopicPartition, path: str, *, replica: ReplicaView, is_known: bool, log_dirs: LogDirStates
) -> MoveDecision:
    """Decide one partition of AlterReplicaLogDirs.

    ``is_known``: the metadata image has the partition. Asking for the log dir a replica is in
    cancels its move. Errors 3 and 9 still remember the log dir for the replica to come. Of a
    partition named twice in a request only the last path is to be decided.
    """
    error = _refusal(tp, path, replica, log_dirs)
    if error is not ErrorCode.NONE:
        return MoveDecision(error)
    future = replica.future_log_dir
    abandon = future is not None and future != path
    if future == path and replica.log_dir != path:
        return MoveDecision(ErrorCode.NONE)
    remember = path != replica.log_dir
    if replica.state is not HostedState.ONLINE or replica.log_dir is None:
        error = (
            ErrorCode.REPLICA_NOT_AVAILABLE if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
        return MoveDecision(error, abandon, remember)
    if not remember:
        return MoveDecision(ErrorCode.NONE, abandon)
    if log_dirs.any_offline:
        return MoveDecision(ErrorCode.KAFKA_STORAGE_ERROR, abandon, remember)
    return MoveDecision(ErrorCode.NONE, abandon, remember, start=True)


def _refusal(
    tp: TopicPartition, path: str, replica: ReplicaView, log_dirs: LogDirStates
) -> ErrorCode:
    """Return the errors that leave everything as it was."""
    if len(str(tp)) + _FUTURE_SUFFIX_LENGTH > DIRECTORY_NAME_LENGTH_MAX:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not log_dirs.is_configured(path):
        return ErrorCode.LOG_DIR_NOT_FOUND
    if not log_dirs.is_online(path):
        return ErrorCode.KAFKA_STORAGE_ERROR
    if log_dirs.is_cordoned(path):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if replica.state is HostedState.OFFLINE:
        return ErrorCode.KAFKA_STORAGE_ERROR
    return ErrorCode.NONE


class MoveState(Enum):
    """Where a move stands."""

    TRUNCATING = auto()
    """The future log is being made a prefix of the current one; nothing is copied."""
    COPYING = auto()
    SWAPPING = auto()
    """Caught up: appends to the partition wait while the logs change places."""
    FAILED = auto()
    """Stopped by an error; a new leader epoch starts it again, the same request does not."""
    SWAPPED = auto()
    CANCELLED = auto()
    """Over without a swap: another request, deletion, or a failed log dir."""


class MoveEvent(Enum):
    """What happens to a move."""

    TRUNCATED = auto()
    """The future log is a prefix of the current one."""
    CURRENT_TRUNCATED = auto()
    """The current log was cut: the future log may now be ahead of it."""
    EPOCH_CHANGED = auto()
    """A LeaderAndIsr with a new leader epoch was accepted."""
    CAUGHT_UP = auto()
    """Both logs end at the same offset."""
    FELL_BEHIND = auto()
    """The test under the barrier failed: a record came between."""
    SWAP_DONE = auto()
    ERROR = auto()
    """A copy cannot go on: fenced epoch, unexpected offset, unexpected exception."""
    CANCEL = auto()
    """Cancelled, sent elsewhere, deleted, stopped, or one of its log dirs failed."""


class UndeclaredMove(AssertionError):  # noqa: N818 -- reads as what happened
    """An event that the table of moves does not have in that state: a bug here."""


MOVE_TABLE: Final[dict[tuple[MoveState, MoveEvent], MoveState]] = {
    (MoveState.TRUNCATING, MoveEvent.TRUNCATED): MoveState.COPYING,
    (MoveState.TRUNCATING, MoveEvent.CURRENT_TRUNCATED): MoveState.TRUNCATING,
    (MoveState.TRUNCATING, MoveEvent.EPOCH_CHANGED): MoveState.TRUNCATING,
    (MoveState.TRUNCATING, MoveEvent.CANCEL): MoveState.CANCELLED,
    (MoveState.COPYING, MoveEvent.CURRENT_TRUNCATED): MoveState.TRUNCATING,
    (MoveState.COPYING, MoveEvent.EPOCH_CHANGED): MoveState.TRUNCATING,
    (MoveState.COPYING, MoveEvent.CAUGHT_UP): MoveState.SWAPPING,
    (MoveState.COPYING, MoveEvent.ERROR): MoveState.FAILED,
    (MoveState.COPYING, MoveEvent.CANCEL): MoveState.CANCELLED,
    (MoveState.SWAPPING, MoveEvent.FELL_BEHIND): MoveState.COPYING,
    (MoveState.SWAPPING, MoveEvent.EPOCH_CHANGED): MoveState.TRUNCATING,
    (MoveState.SWAPPING, MoveEvent.SWAP_DONE): MoveState.SWAPPED,
    (MoveState.SWAPPING, MoveEvent.CANCEL): MoveState.CANCELLED,
    (MoveState.FAILED, MoveEvent.CURRENT_TRUNCATED): MoveState.FAILED,
    (MoveState.FAILED, MoveEvent.EPOCH_CHANGED): MoveState.TRUNCATING,
    (MoveState.FAILED, MoveEvent.CANCEL): MoveState.CANCELLED,
}
"""Every move of a move; after SWAPPED or CANCELLED nothing may follow. Once the renames of a swap
have begun they are not interrupted: the engine holds back other events until SWAP_DONE. An error
before that ends SWAPPING first (FELL_BEHIND); a failed move has nobody who could meet another, and
one that is being checked again forgives what its last copy met. Whoever would cut the current log
waits for the end of SWAPPING, as appends do."""


class Move:
    """One replica on its way from ``source_dir`` to ``target_dir``."""

    __slots__ = (
        "_holds_pause",
        "fallback_offset",
        "leader_epoch",
        "source_dir",
        "state",
        "target_dir",
        "tp",
        "witness",
    )

    def __init__(
        self,
        tp: TopicPartition,
        *,
        source_dir: str,
        target_dir: str,
        leader_epoch: int,
        fallback_offset: int,
    ) -> None:
        assert source_dir != target_dir, f"{tp} moves from {source_dir} to itself"
        self.tp = tp
        self.source_dir = source_dir
        self.target_dir = target_dir
        self.leader_epoch = leader_epoch
        """Of the partition when the move was (re)started; its copies carry it."""
        self.fallback_offset = fallback_offset
        """The future log's high watermark: where to truncate when epochs say nothing."""
        self.state = MoveState.TRUNCATING
        self._holds_pause = True
        self.witness: Witness = unwitnessed

    @property
    def is_active(self) -> bool:
        """Whether a mover works on it."""
        return self.state in _ACTIVE

    @property
    def is_over(self) -> bool:
        """Whether it has left the table of moves."""
        return self.state in _OVER

    def on(self, event: MoveEvent) -> bool:
        """Take one event; True when the cleaning pause that the move holds is to be released now.

        The caller pauses cleaning once when it makes the Move. Every way out releases that exactly
        once (KAFKA-15082, 16114, 19458).

        Raises:
            UndeclaredMove: the table has no such move.
        """
        self.witness(self.state, event)
        try:
            self.state = MOVE_TABLE[self.state, event]
        except KeyError:
            raise UndeclaredMove(f"{self.tp}: {event.name} while {self.state.name}") from None
        releases = self._holds_pause and self.is_over
        if releases:
            self._holds_pause = False
        return releases

    def on_leader_epoch(self, leader_epoch: int, *, fallback_offset: int) -> None:
        """Go on under a newer leader epoch, after checking the future log again (KAFKA-9654).

        An equal epoch changes nothing: a failed move stays failed.
        """
        if leader_epoch == self.leader_epoch:
            return
        self.leader_epoch = leader_epoch
        self.fallback_offset = fallback_offset
        self.on(MoveEvent.EPOCH_CHANGED)

    def on_current_truncated(self, offset: int) -> None:
        """Note that the current log was cut to ``offset``: the future log is checked again."""
        self.fallback_offset = min(self.fallback_offset, offset)
        self.on(MoveEvent.CURRENT_TRUNCATED)


_ACTIVE: Final = frozenset({MoveState.TRUNCATING, MoveState.COPYING, MoveState.SWAPPING})
_OVER: Final = frozenset({MoveState.SWAPPED, MoveState.CANCELLED})


def can_swap(*, current_end_offset: int, future_end_offset: int) -> bool:
    """Tell whether the logs may change places: they end alike; segments need not (KAFKA-8002).

    Ask twice: to begin SWAPPING, and again once appends to the partition wait.
    """
    return current_end_offset == future_end_offset


class CopyErrorAction(Enum):
    """What a mover does after its read of the current log failed."""

    RETRY = auto()
    """Again after the back-off."""
    TRUNCATE_TO_CURRENT_END = auto()
    """The future log is ahead: cut it to the end of the current one."""
    RESTART_AT_CURRENT_START = auto()
    """The future log ends before the current one starts: empty it and start there."""
    FAIL = auto()


def decide_copy_error(
    code: ErrorCode, *, fetch_offset: int, current_end_offset: int, epoch_is_newer_now: bool
) -> CopyErrorAction:
    """Decide after an error of the local read.

    ``epoch_is_newer_now``: the move got a newer leader epoch since that read.
    Source: AbstractFetcherThread.scala processFetchRequest.
    """
    if code == ErrorCode.OFFSET_OUT_OF_RANGE:
        if current_end_offset < fetch_offset:
            return CopyErrorAction.TRUNCATE_TO_CURRENT_END
        return CopyErrorAction.RESTART_AT_CURRENT_START
    if code in _RETRIED or (code == ErrorCode.FENCED_LEADER_EPOCH and epoch_is_newer_now):
        return CopyErrorAction.RETRY
    return CopyErrorAction.FAIL


_RETRIED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)


class CleaningPauses:
    """Counts who wants cleaning and retention of a partition to stand still."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[TopicPartition, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def pause(self, tp: TopicPartition) -> int:
        """Add one pause; return how many there are now."""
        count = self._counts.get(tp, 0) + 1
        self._counts[tp] = count
        return count

    def resume(self, tp: TopicPartition) -> int:
        """Take one pause back; return how many are left."""
        count = self._counts.get(tp, 0)
        assert count > 0, f"cleaning of {tp} is not paused"
        if count == 1:
            del self._counts[tp]
        else:
            self._counts[tp] = count - 1
        return count - 1

    def is_paused(self, tp: TopicPartition) -> bool:
        """Tell whether cleaner and retention leave the partition alone."""
        return tp in self._counts

    def count(self, tp: TopicPartition) -> int:
        """Return how many pauses there are."""
        return self._counts.get(tp, 0)


def mover_index(tp: TopicPartition, mover_count: int) -> int:
    """Return which mover copies a partition, as Kafka numbers its ReplicaAlterLogDirsThreads.

    Source: AbstractFetcherManager.scala getFetcherId.
    """
    code = 0
    for character in tp.topic:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    code = (31 * code + tp.partition) & 0xFFFFFFFF
    if code == 0x80000000:
        return 0
    if code > 0x80000000:
        code = 0x100000000 - code
    return code % mover_count
