"""A fetch session as the fetching side keeps it: what to send in full, what to leave out.

The leader's side is `broker.core.fetch_session`. Source: FetchSessionHandler.java, KIP-227.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

from protocol.errors import ErrorCode

K = TypeVar("K")
INITIAL_EPOCH: Final = 0
EPOCH_MAX: Final = 2**31 - 1
_SESSION_LOST: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


class SessionRequest(NamedTuple, Generic[K]):
    """One Fetch request of the session."""

    session_id: int
    session_epoch: int
    send: list[K]
    """Partitions to name with their position."""
    forget: list[K]
    """Partitions the leader shall drop from the session."""


class FollowerSession(Generic[K]):
    """The session with one source broker. K names a partition."""

    __slots__ = ("_epoch", "_known", "_session_id")

    def __init__(self) -> None:
        self._session_id = 0
        self._epoch = INITIAL_EPOCH
        self._known: dict[K, None] = {}

    @property
    def is_incremental(self) -> bool:
        """Whether the next request names only what changed."""
        return self._epoch != INITIAL_EPOCH

    def next_request(
        self, wanted: Mapping[K, object], changed: Iterable[K], dropped: Iterable[K]
    ) -> SessionRequest[K]:
        """Plan a request.

        Args:
            wanted: all partitions to fetch.
            changed: those that are new or whose position moved since the last request.
            dropped: those that are no longer wanted since then; they may be wanted again.
        """
        if self._epoch == INITIAL_EPOCH:
            self._known = dict.fromkeys(wanted)
            return SessionRequest(self._session_id, INITIAL_EPOCH, list(wanted), [])
        send = [key for key in changed if key in wanted]
        forget = [key for key in dropped if key not in wanted and key in self._known]
        for key in forget:
            del self._known[key]
        self._known.update(dict.fromkeys(send))
        return SessionRequest(self._session_id, self._epoch, send, forget)

    def answered(self, error_code: int, session_id: int) -> bool:
        """Note a response; False when the session is lost: the next request goes in full."""
        if error_code != ErrorCode.NONE:
            if error_code in _SESSION_LOST:
                self.reset()
            return False
        if self._epoch == INITIAL_EPOCH:
            self._session_id = session_id
            self._epoch = 1 if session_id else INITIAL_EPOCH
        else:
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1
        return True

    def reset(self) -> None:
        """Begin anew: the connection was lost, or the leader forgot the session."""
        self._session_id = 0
        self._epoch = INITIAL_EPOCH
        self._known = {}
