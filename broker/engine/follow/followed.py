"""What a fetcher keeps of each partition it follows, and what it needs of the engine.

The rules of truncation are in `broker.core.leader_epochs`; nothing is sent or written here.
"""

from __future__ import annotations

import asyncio
import sys
from enum import Enum, auto
from typing import Any, Final, NamedTuple, Protocol

from broker.core.leader_epochs import EpochEnd
from protocol.ids import TopicIdPartition, TopicPartition
from protocol.ports import Buffer

FIRST_RETRY_MS: Final = 20
"""First wait after a refused partition; doubled up to ``replica.fetch.backoff.ms``.

A new leader often learns of its role some milliseconds after its followers do.
"""
ALL_BYTES: Final = sys.maxsize
"""More than any limit of a request."""


class FetchPosition(NamedTuple):
    """Where a follower's log goes on."""

    fetch_offset: int
    log_start_offset: int
    last_fetched_epoch: int


class FetchedRecords(NamedTuple):
    """What a leader answered for one partition."""

    records: Buffer
    high_watermark: int
    log_start_offset: int


class FollowedReplica(Protocol):
    """A replica as its fetcher uses it; the engine implements it.

    A returned future ends when the replica can be asked again; it carries no result, and an error
    in it means that the replica is lost.
    """

    @property
    def tp(self) -> TopicPartition: ...  # noqa: D102
    @property
    def topic_id(self) -> bytes: ...  # noqa: D102
    @property
    def is_throttled(self) -> bool:
        """Whether its bytes count against the follower's quota; may change at any time."""
        ...

    @property
    def log_start_write(self) -> asyncio.Future[bool] | None:
        """A write under way without which the newest log start offset may be forgotten."""
        ...

    def position(self) -> FetchPosition:
        """Return where to fetch from; only while no returned future is pending."""
        ...

    def settle(self) -> asyncio.Future[Any] | None:
        """Return a future if appends, a cut or a swap are under way, else None."""
        ...

    def append(self, fetched: FetchedRecords) -> asyncio.Future[Any] | None:
        """Begin to write fetched records; None when there was nothing to write.

        Raises:
            KafkaError: the records do not fit the log.
            LogDirFailed: its log dir is offline.
        """
        ...

    def note_high_watermark(self, fetched: FetchedRecords) -> bool:
        """Take what an answer without records says; True when the log start offset rose."""
        ...

    def reconcile(self, answer: EpochEnd) -> tuple[asyncio.Future[Any] | None, bool]:
        """Truncate after the leader's answer on our latest epoch; False: ask again afterwards.

        Raises:
            LogDirFailed: its log dir is offline.
        """
        ...

    def return_to_range(self, leader_start: int, leader_end: int) -> asyncio.Future[Any] | None:
        """Bring a log that the leader cannot serve back into the leader's range.

        Raises:
            LogDirFailed: its log dir is offline.
        """
        ...


class FollowState(Enum):
    """Where a followed partition stands."""

    RECONCILING = auto()
    """The leader must be asked where our latest epoch ends."""
    OUT_OF_RANGE = auto()
    """The leader must be asked for its range."""
    ASKED = auto()
    """One of those questions is on its way."""
    READY = auto()
    """Part of the next fetch."""
    BUSY = auto()
    """Its disk works; left out of fetches meanwhile."""
    DELAYED = auto()
    """Refused by the leader; waits before it is asked for again."""
    THROTTLED = auto()
    """The follower's quota is used up; left out of fetches until it has room."""
    FAILED = auto()
    """Set aside until the next LeaderAndIsr."""


class Followed:
    """One partition of a fetcher."""

    __slots__ = (
        "diverged_at",
        "is_in_sync",
        "leader_epoch",
        "replica",
        "retry_ms",
        "share_bytes",
        "state",
        "turn",
    )

    def __init__(self, replica: FollowedReplica, leader_epoch: int) -> None:
        self.replica = replica
        self.leader_epoch = leader_epoch
        self.state = FollowState.RECONCILING
        self.retry_ms = FIRST_RETRY_MS
        self.diverged_at: EpochEnd | None = None
        """What its leader told last of where the two logs part."""
        self.is_in_sync = False
        """Whether it had all that was committed, when it was last fetched under a throttle."""
        self.share_bytes = ALL_BYTES
        """What a fetch may ask of it under the throttles, until the state changes; the fetcher's
        own limit may be less."""
        self.turn = 0
        """Counts changes of state, so that late timers and futures are recognised."""

    @property
    def key(self) -> TopicIdPartition:
        """Topic id and partition, as a Fetch response names it."""
        return self.replica.topic_id, self.replica.tp.partition

    def enter(self, state: FollowState) -> int:
        """Change the state; return the new turn."""
        self.state = state
        self.share_bytes = ALL_BYTES
        self.turn += 1
        return self.turn
