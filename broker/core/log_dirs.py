"""Which log dirs of a broker work, and which one a new log goes to.

It knows paths and counts, not disks: ``broker.storage`` finds failures, the engine tells them here.
Source: LogManager.scala (createOrGet, nextLogDirs, handleLogDirFailure), KIP-112, KIP-1066.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple

from protocol.configs.types import ALL_LOG_DIRS
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.witness import Witness, unwitnessed


class LogDirFailed(Exception):  # noqa: N818 -- the name of an event, used in every room
    """A log dir is offline, until the process is started again or an operator brings it back.

    ``log_dir`` is its path, ``operation`` what was being done, ``cause`` the first OSError or
    TimeoutError. On the wire it is KAFKA_STORAGE_ERROR.
    """

    def __init__(self, log_dir: str, operation: str, cause: BaseException) -> None:
        super().__init__(log_dir, operation, cause)
        self.log_dir = log_dir
        self.operation = operation
        self.cause = cause

    def __str__(self) -> str:
        reason = str(self.cause) or type(self.cause).__name__
        return f"log dir {self.log_dir} is offline: {self.operation}: {reason}"


class LogDirState(Enum):
    """How a log dir stands to new logs."""

    ONLINE = auto()
    CORDONED = auto()
    """Online, and passed over while another one is not cordoned."""
    OFFLINE = auto()


class _Preference(NamedTuple):
    """Where the next log of a partition belongs."""

    path: str
    is_ordered: bool
    """By AlterReplicaLogDirs; else its former log, which is lost, was there."""


class LogDirStates:
    """The configured log dirs in their order, and the logs counted in each.

    Logs are counted by ``place``, ``count_log`` and ``uncount_log``: current and future ones, not
    those that wait for deletion.
    """

    __slots__ = (
        "_configured",
        "_cordoned",
        "_log_counts",
        "_online",
        "_preferred",
        "_unread",
        "_witness",
    )

    def __init__(
        self,
        configured: Sequence[str],
        *,
        offline: Iterable[str] = (),
        witness: Witness = unwitnessed,
    ) -> None:
        assert len(set(configured)) == len(configured), f"a log dir is listed twice: {configured}"
        failed = frozenset(offline)
        self._configured = tuple(configured)
        self._online = {path: None for path in configured if path not in failed}
        self._unread = {path: None for path in configured if path in failed}
        self._cordoned: frozenset[str] = frozenset()
        self._log_counts = dict.fromkeys(configured, 0)
        self._preferred: dict[TopicPartition, _Preference] = {}
        self._witness = witness

    @property
    def configured(self) -> tuple[str, ...]:
        """Every path of ``log.dirs``, in its order."""
        return self._configured

    @property
    def online_paths(self) -> tuple[str, ...]:
        """The working ones, in configured order."""
        return tuple(self._online)

    @property
    def offline_paths(self) -> tuple[str, ...]:
        """The failed ones, in configured order."""
        return tuple(path for path in self._configured if path not in self._online)

    @property
    def any_offline(self) -> bool:
        """Whether a log of this broker could be on a log dir that cannot be read."""
        return len(self._online) < len(self._configured)

    @property
    def any_unread(self) -> bool:
        """Whether nobody knows which logs one of the failed ones holds."""
        return bool(self._unread)

    def is_unread(self, path: str) -> bool:
        """Tell whether ``path`` is one of those."""
        return path in self._unread

    @property
    def all_offline(self) -> bool:
        """Whether the broker has to halt."""
        return not self._online

    def is_configured(self, path: str) -> bool:
        """Tell whether ``path`` is exactly an entry; no spelling but the configured one counts."""
        return path in self._log_counts

    def is_online(self, path: str) -> bool:
        """Tell whether ``path`` is configured and works."""
        return path in self._online

    def state_of(self, path: str) -> LogDirState:
        """Return how a configured log dir stands to new logs."""
        if path not in self._online:
            return LogDirState.OFFLINE
        return LogDirState.CORDONED if path in self._cordoned else LogDirState.ONLINE

    def is_cordoned(self, path: str) -> bool:
        """Tell whether new logs avoid ``path``."""
        return path in self._cordoned

    def fail(self, path: str, *, has_unnamed: bool = False) -> bool:
        """Take ``path`` offline; True only the first time. An unknown path changes nothing.

        Args:
            path: of the log dir.
            has_unnamed: whether it holds logs that no LeaderAndIsr has named.
        """
        if path not in self._online:
            return False
        if has_unnamed:
            self._unread[path] = None
        self._witness(self.state_of(path), LogDirState.OFFLINE)
        del self._online[path]
        return True

    def revive(self, path: str) -> None:
        """Take an offline ``path`` in again, with no log counted in it yet.

        Kafka brings a log dir back only with a new process; see KIP-18.
        """
        assert path in self.offline_paths, f"{path} is not offline"
        self._unread.pop(path, None)
        known = {*self._online, path}
        self._online = {one: None for one in self._configured if one in known}
        self._log_counts[path] = 0
        self._witness(LogDirState.OFFLINE, self.state_of(path))

    def cordon(self, paths: Sequence[str]) -> None:
        """Replace the cordoned set.

        Raises:
            KafkaError: INVALID_CONFIG, for an empty or unknown entry or ``*`` beside others.
        Source: KIP-1066.
        """
        if list(paths) == [ALL_LOG_DIRS]:
            self._set_cordoned(self._configured)
            return
        for path in paths:
            if not self.is_configured(path):
                raise KafkaError(
                    ErrorCode.INVALID_CONFIG,
                    f"cordoned.log.dirs: {path!r} is not present in log.dirs or log.dir",
                )
        self._set_cordoned(paths)

    def _set_cordoned(self, paths: Sequence[str]) -> None:
        before = {path: self.state_of(path) for path in self._configured}
        self._cordoned = frozenset(paths)
        for path, state in before.items():
            if self.state_of(path) is not state:
                self._witness(state, self.state_of(path))

    def log_count(self, path: str) -> int:
        """Return how many logs are counted in ``path``."""
        return self._log_counts[path]

    def count_log(self, path: str) -> None:
        """Count a log that was found on disk or created without ``place``."""
        self._log_counts[path] += 1

    def uncount_log(self, path: str) -> None:
        """Forget a log: deleted, or left behind by a move."""
        assert self._log_counts[path] > 0, f"no log is counted in {path}"
        self._log_counts[path] -= 1

    def preferred(self, tp: TopicPartition) -> str | None:
        """Return the log dir that AlterReplicaLogDirs named for a replica that is not here yet.

        Or the one that had its log, which is lost.
        """
        known = self._preferred.get(tp)
        return None if known is None else known.path

    def prefer(self, tp: TopicPartition, path: str, *, is_ordered: bool = True) -> None:
        """Remember where the next log of ``tp`` belongs; in memory only, the last call wins."""
        self._preferred[tp] = _Preference(path, is_ordered)

    def forget_preference(self, tp: TopicPartition) -> bool:
        """Drop the memory: only after a log was created because of it.

        Return whether that carries out an order.
        """
        known = self._preferred.pop(tp, None)
        return known is not None and known.is_ordered

    def place(self, tp: TopicPartition) -> str:
        """Choose the log dir for a new current log of ``tp`` and count the log there.

        A preferred log dir is the only candidate. Else the fewest logs win, the configured order
        breaks ties, cordoned ones are passed over while another is online. When creating the log
        fails, ``fail`` that log dir and call again for the next candidate (KAFKA-8526); when it
        succeeds, call ``forget_preference``.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, no candidate is online.
        Source: LogManager.scala getOrCreateLog.
        """
        path = self._choose(tp)
        self._log_counts[path] += 1
        return path

    def _choose(self, tp: TopicPartition) -> str:
        preferred = self.preferred(tp)
        if preferred is not None:
            if preferred not in self._online:
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR, f"{tp} belongs to {preferred}, which is offline"
                )
            return preferred
        if not self._online:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"no log dir is online for {tp}")
        return self._emptiest()

    def _emptiest(self) -> str:
        candidates = [path for path in self._online if path not in self._cordoned]
        if not candidates:
            return next(iter(self._online))
        return min(candidates, key=self._log_counts.__getitem__)
