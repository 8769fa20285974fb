"""Incremental fetch sessions: which partitions a Fetch is about, and which its answer must hold.

It reads no log: the caller asks the engine about ``FetchContext.parts`` and gives the results back.
Source: FetchSession.scala (FetchManager, FetchSessionCache), KIP-227.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition

NO_SESSION_ID: Final = 0
FULL_EPOCH: Final = 0
"""A full fetch that asks for a session."""
FINAL_EPOCH: Final = -1
"""A full fetch that ends the session it names and wants none."""
EPOCH_MAX: Final = 2**31 - 1
SESSION_ID_MAX: Final = 2**31 - 1
SLOT_COUNT: Final = 1000
"""``max.incremental.fetch.session.cache.slots``"""
SESSION_PARTITIONS_MAX: Final = 10_000
"""Fetches of more are answered without a session: the whole of one is looked at in one step."""
EVICTION_MS: Final = 120_000
_UNKNOWN: Final = -1


class FetchedPart(Protocol):
    """One partition of a Fetch request."""

    @property
    def tp(self) -> TopicPartition:
        """Its name; with topic ids, the topic may be empty while no name is known."""
        ...

    @property
    def topic_id(self) -> bytes:
        """All zero when the request names topics."""
        ...

    @property
    def current_leader_epoch(self) -> int:
        """The one that the client knows; -1: it does not say."""
        ...


class PartAnswer(Protocol):
    """What decides whether a partition is news to the client."""

    @property
    def error_code(self) -> ErrorCode:
        """Errors are always told, and the partition again after them."""
        ...

    @property
    def high_watermark(self) -> int:
        """Told when it moved."""
        ...

    @property
    def log_start_offset(self) -> int:
        """Told when it moved."""
        ...

    @property
    def records_size_bytes(self) -> int:
        """Told when there are any."""
        ...

    @property
    def preferred_read_replica(self) -> int:
        """Told when it is one."""
        ...

    @property
    def diverging_epoch(self) -> object | None:
        """Told when it is set."""
        ...


class FetchRequestHead(NamedTuple):
    """What a Fetch request says about its session."""

    session_id: int
    session_epoch: int
    uses_topic_ids: bool
    """Version 13 or later."""
    is_follower: bool
    """Sessions of followers may push those of consumers out."""


SessionKey = tuple[str | bytes, int]
"""(topic id or, without one, topic name; partition)."""

P = TypeVar("P", bound=FetchedPart)
R = TypeVar("R", bound=PartAnswer)


def session_key(tp: TopicPartition, topic_id: bytes | memoryview) -> SessionKey:
    """Return the key of a partition in a session; the same for ``forgotten`` partitions."""
    key = bytes(topic_id)
    return (tp.topic if key == ZERO_UUID else key, tp.partition)


class _Cached(Generic[P]):
    """What the client of a session was last told about one partition."""

    __slots__ = ("high_watermark", "key", "log_start_offset", "part")

    def __init__(self, key: SessionKey, part: P) -> None:
        self.key = key
        self.part = part
        self.high_watermark = _UNKNOWN
        self.log_start_offset = _UNKNOWN

    def ask(self, part: P) -> None:
        """Note what the client asks for from now on.

        A follower drops what it was told under an earlier leader epoch, the high watermark too. In
        Kafka it does not hear that again before it moves.
        """
        if part.current_leader_epoch != self.part.current_leader_epoch:
            self.high_watermark = _UNKNOWN
        self.part = part

    def tell(self, answer: PartAnswer) -> bool:
        """Note an answer; whether the client has to hear it."""
        high_watermark = answer.high_watermark
        log_start_offset = answer.log_start_offset
        is_news = (
            high_watermark != self.high_watermark
            or log_start_offset != self.log_start_offset
            or answer.records_size_bytes > 0
            or answer.preferred_read_replica != _UNKNOWN
            or answer.diverging_epoch is not None
        )
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        if answer.error_code != ErrorCode.NONE:
            self.high_watermark = _UNKNOWN
            return True
        return is_news


class _Session(Generic[P]):
    """One client's partitions, in the order in which they are read."""

    __slots__ = (
        "_ordered",
        "created_ms",
        "epoch",
        "head",
        "last_used_ms",
        "rows",
        "session_id",
    )

    def __init__(self, session_id: int, head: FetchRequestHead, now_ms: int) -> None:
        self.session_id = session_id
        self.head = head
        self.epoch = 1
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.rows: dict[SessionKey, _Cached[P]] = {}
        self._ordered: list[_Cached[P]] | None = None

    def update(self, parts: Iterable[P], forgotten: Iterable[SessionKey]) -> None:
        """Add or replace what a request names, then drop what it forgets."""
        for part in parts:
            key = session_key(part.tp, part.topic_id)
            row = self.rows.get(key)
            if row is None:
                self.rows[key] = _Cached(key, part)
                self._ordered = None
            else:
                row.ask(part)
        for key in forgotten:
            self._ordered = None
            self.rows.pop(key, None)

    def ordered(self) -> list[_Cached[P]]:
        """Return the rows in reading order; the list does not change later."""
        if self._ordered is None:
            self._ordered = list(self.rows.values())
        return self._ordered

    def move_to_end(self, row: _Cached[P]) -> None:
        """Read a partition last next time: it had its share of the bytes."""
        if self.rows.pop(row.key, None) is not None:
            self.rows[row.key] = row
            self._ordered = None


class FetchContext(Generic[P]):
    """One Fetch request: read ``parts``, then call ``answer`` once."""

    __slots__ = ("_head", "_now_ms", "_rows", "_session", "_sessions", "parts")

    def __init__(
        self,
        sessions: FetchSessions[P],
        head: FetchRequestHead,
        parts: list[P],
        now_ms: int,
        session: _Session[P] | None = None,
    ) -> None:
        self._sessions = sessions
        self._head = head
        self._session = session
        self._rows = session.ordered() if session is not None else []
        self._now_ms = now_ms
        self.parts = parts if session is None else [row.part for row in self._rows]
        """Every partition the fetch is about, in reading order. Leave it until it is answered."""

    @property
    def is_incremental(self) -> bool:
        """Whether the answer leaves out what is no news."""
        return self._session is not None

    @property
    def session_id(self) -> int:
        """Of the session that the request names, for an answer that tells nothing of its parts."""
        return NO_SESSION_ID if self._session is None else self._session.session_id

    def answer(self, results: Sequence[R]) -> tuple[int, Iterable[tuple[P, R]]]:
        """Return the session id and the partitions of the answer, to be gone through once.

        ``results`` holds one result per part, in the order of ``parts``.
        """
        if self._session is not None:
            return self._session.session_id, self._news(self._session, results)
        if self._head.session_epoch == FINAL_EPOCH:
            return NO_SESSION_ID, zip(self.parts, results, strict=True)
        pairs = list(zip(self.parts, results, strict=True))
        return self._sessions.create(self._head, pairs, self._now_ms), pairs

    def _news(self, session: _Session[P], results: Sequence[R]) -> list[tuple[P, R]]:
        news: list[tuple[P, R]] = []
        for row, part, result in zip(self._rows, self.parts, results, strict=True):
            if not row.tell(result):
                continue
            news.append((part, result))
            if result.records_size_bytes > 0:
                session.move_to_end(row)
        return news


class FetchSessions(Generic[P]):
    """The sessions of one broker, a bounded number.

    ``first_session_id`` is to be drawn at random, so that a client of the process before this one
    does not meet a stranger's session under its old id.
    """

    __slots__ = ("_eviction_ms", "_next_id", "_sessions", "_slot_count", "evictions_count")

    def __init__(
        self,
        *,
        slot_count: int = SLOT_COUNT,
        eviction_ms: int = EVICTION_MS,
        first_session_id: int = 1,
    ) -> None:
        self._slot_count = slot_count
        self._eviction_ms = eviction_ms
        self._next_id = first_session_id
        self._sessions: dict[int, _Session[P]] = {}
        self.evictions_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """Partitions in all sessions, Kafka's NumIncrementalFetchPartitionsCached."""
        return sum(len(session.rows) for session in self._sessions.values())

    def open(
        self,
        head: FetchRequestHead,
        parts: list[P],
        *,
        forgotten: Iterable[SessionKey] = (),
        now_ms: int,
    ) -> FetchContext[P]:
        """Take a Fetch request; ``parts`` are the partitions it names, each once.

        Raises:
            KafkaError: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH or
                FETCH_SESSION_TOPIC_ID_ERROR, to be answered on top with session id 0.
        """
        if head.session_epoch in (FULL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(head.session_id, None)
            return FetchContext(self, head, parts, now_ms)
        session = self._checked(head)
        session.update(parts, forgotten)
        if len(session.rows) > SESSION_PARTITIONS_MAX:
            del self._sessions[session.session_id]
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
                f"session {head.session_id} has more than {SESSION_PARTITIONS_MAX} partitions",
            )
        if not session.rows:
            del self._sessions[session.session_id]
            ended = head._replace(session_epoch=FINAL_EPOCH)
            return FetchContext(self, ended, [], now_ms)
        session.epoch = _next_epoch(session.epoch)
        session.last_used_ms = now_ms
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        return FetchContext(self, head, [], now_ms, session)

    def create(
        self, head: FetchRequestHead, pairs: Sequence[tuple[P, PartAnswer]], now_ms: int
    ) -> int:
        """Make a session of a full fetch and its answer; return its id, 0 when there is no room."""
        if not self._make_room(head, len(pairs), now_ms):
            return NO_SESSION_ID
        session: _Session[P] = _Session(self._new_id(), head, now_ms)
        for part, result in pairs:
            row = _Cached(session_key(part.tp, part.topic_id), part)
            row.tell(result)
            session.rows[row.key] = row
        self._sessions[session.session_id] = session
        return session.session_id

    def _checked(self, head: FetchRequestHead) -> _Session[P]:
        session = self._sessions.get(head.session_id)
        if session is None:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"no fetch session {head.session_id}"
            )
        if session.epoch != head.session_epoch:
            raise KafkaError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
                f"session {head.session_id} expects epoch {session.epoch}, "
                f"the request has {head.session_epoch}",
            )
        if session.head.uses_topic_ids != head.uses_topic_ids:
            raise KafkaError(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
                f"session {head.session_id} was made with"
                f"{'' if session.head.uses_topic_ids else 'out'} topic ids",
            )
        return session

    def _make_room(self, head: FetchRequestHead, size: int, now_ms: int) -> bool:
        if len(self._sessions) < self._slot_count:
            return True
        victim = self._stale(now_ms) or self._weakest(head, size, now_ms)
        if victim is None:
            return False
        del self._sessions[victim.session_id]
        self.evictions_count += 1
        return True

    def _stale(self, now_ms: int) -> _Session[P] | None:
        """Return the session that was used least recently, if that is long ago."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is not None and now_ms - oldest.last_used_ms > self._eviction_ms:
            return oldest
        return None

    def _weakest(self, head: FetchRequestHead, size: int, now_ms: int) -> _Session[P] | None:
        """Return the least session that a new one of ``size`` partitions may push out.

        Followers push consumers out at once; among equals only old and smaller sessions go.
        """
        rank = (head.is_follower, size)
        candidates = [
            session
            for session in self._sessions.values()
            if (head.is_follower and not session.head.is_follower)
            or now_ms - session.created_ms > self._eviction_ms
        ]
        weakest = min(candidates, key=_rank, default=None)
        return weakest if weakest is not None and _rank(weakest) < rank else None

    def _new_id(self) -> int:
        while self._next_id in self._sessions:
            self._advance_id()
        session_id = self._next_id
        self._advance_id()
        return session_id

    def _advance_id(self) -> None:
        self._next_id = self._next_id % SESSION_ID_MAX + 1


def _rank(session: _Session[P]) -> tuple[bool, int]:
    return session.head.is_follower, len(session.rows)


def _next_epoch(epoch: int) -> int:
    return 1 if epoch == EPOCH_MAX else epoch + 1
