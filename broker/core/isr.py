"""The in-sync replicas of a partition, as its leader sees them, and the high watermark they give.

Pure functions and values; the leader's ``Partition`` holds them, the controller has the last word
on every change (AlterPartition).
Source: Partition.scala, Replica.scala, KIP-497, KIP-966 (effective min.insync.replicas).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, NO_OFFSET, BrokerId
from protocol.messages.produce import ACKS_ALL

NEVER_MS: Final = -(1 << 62)
"""A loop time before any other: clocks of loops may begin at 0."""


@dataclass(slots=True)
class FollowerState:
    """What a leader knows about one follower, from its fetches."""

    log_end_offset: int = NO_OFFSET
    """-1 until it fetched from this leader epoch."""
    log_start_offset: int = NO_OFFSET
    last_caught_up_ms: int = NEVER_MS
    """Loop time at which it last had everything that the leader had then."""
    last_fetch_ms: int = NEVER_MS
    last_fetch_leader_end_offset: int = 0
    """The leader's end at that fetch."""
    broker_epoch: int = NO_EPOCH
    """Of the life of its broker that fetched last; -1 where it tells none (KIP-903)."""

    def on_leader_epoch(self, *, in_isr: bool, leader_end_offset: int, now_ms: int) -> None:
        """Start over because a leader epoch began: Isr members count as caught up now.

        Source: Replica.scala resetReplicaState.
        """
        self.log_end_offset = NO_OFFSET
        self.log_start_offset = NO_OFFSET
        self.last_caught_up_ms = now_ms if in_isr else NEVER_MS
        self.last_fetch_ms = now_ms if in_isr else NEVER_MS
        self.last_fetch_leader_end_offset = leader_end_offset
        self.broker_epoch = NO_EPOCH

    def is_later_life_than(self, broker_epoch: int) -> bool:
        """Tell whether a fetch is of a life of the broker that is over: it came late."""
        return NO_EPOCH != broker_epoch < self.broker_epoch

    def on_fetch(
        self,
        fetch_offset: int,
        log_start_offset: int,
        broker_epoch: int = NO_EPOCH,
        *,
        leader_end_offset: int,
        now_ms: int,
    ) -> None:
        """Note a fetch: the follower has everything before ``fetch_offset``.

        It caught up now if that is the leader's end, or at its previous fetch if that was the
        leader's end then. Source: Replica.scala updateFetchStateOrThrow.
        """
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_fetch_ms = now_ms
        self.last_fetch_leader_end_offset = max(leader_end_offset, 0)
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end_offset: int, *, now_ms: int, lag_time_max_ms: int) -> bool:
        """Tell whether it has everything or had so within ``replica.lag.time.max.ms``."""
        return (
            self.log_end_offset == leader_end_offset
            or now_ms - self.last_caught_up_ms <= lag_time_max_ms
        )


@dataclass(frozen=True, slots=True)
class IsrState:
    """The Isr the controller confirmed, and at most one change under way."""

    isr: tuple[BrokerId, ...]
    """Confirmed; in the controller's order."""
    partition_epoch: int
    proposed: tuple[BrokerId, ...] | None = None
    """Sent to the controller and not yet answered; nothing else may be proposed meanwhile."""

    @property
    def maximal(self) -> tuple[BrokerId, ...]:
        """The confirmed Isr and those about to join: the high watermark waits for all of them."""
        if self.proposed is None:
            return self.isr
        return self.isr + tuple(member for member in self.proposed if member not in self.isr)

    def shrink(self, out_of_sync: Sequence[BrokerId]) -> IsrState:
        """Propose an Isr without ``out_of_sync``; unchanged when it is the same or one is sent."""
        kept = tuple(member for member in self.isr if member not in out_of_sync)
        if self.proposed is not None or kept == self.isr:
            return self
        return replace(self, proposed=kept)

    def expand(self, broker_id: BrokerId) -> IsrState:
        """Propose to add one replica; the same state when it is in or one is sent."""
        if self.proposed is not None or broker_id in self.isr:
            return self
        return replace(self, proposed=(*self.isr, broker_id))


class IsrAnswer(Enum):
    """What the leader does after AlterPartition was answered."""

    COMMITTED = auto()
    """The state is the controller's new one."""
    ROLLED_BACK = auto()
    """Refused: the confirmed Isr stands, a later check may propose again."""
    WAIT = auto()
    """This leader is behind: the change stays under way until the next LeaderAndIsr."""
    RETRY = auto()
    """Send the same proposal again."""


_ROLL_BACK: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
_WAIT: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
    }
)


def on_alter_partition_error(state: IsrState, code: ErrorCode) -> tuple[IsrState, IsrAnswer]:
    """Decide after a per-partition error.

    Source: Partition.scala handleAlterPartitionError.
    """
    if code in _ROLL_BACK:
        return replace(state, proposed=None), IsrAnswer.ROLLED_BACK
    if code in _WAIT:
        return state, IsrAnswer.WAIT
    return state, IsrAnswer.RETRY


def on_alter_partition_success(
    state: IsrState, *, isr: Sequence[BrokerId], partition_epoch: int, is_newer_leader_epoch: bool
) -> tuple[IsrState, IsrAnswer]:
    """Decide after the controller told its state of the partition.

    ``is_newer_leader_epoch``: the answer's leader epoch is above ours, LeaderAndIsr is on its way.
    Source: Partition.scala handleAlterPartitionUpdate.
    """
    if is_newer_leader_epoch or partition_epoch < state.partition_epoch:
        return state, IsrAnswer.WAIT
    return IsrState(tuple(isr), partition_epoch), IsrAnswer.COMMITTED


def out_of_sync_replicas(
    isr: IsrState,
    followers: Mapping[BrokerId, FollowerState],
    *,
    leader_end_offset: int,
    now_ms: int,
    lag_time_max_ms: int,
) -> list[BrokerId]:
    """Return the Isr members that have lagged too long, in Isr order; never the leader itself.

    ``followers`` holds no entry for the leader. Empty while a change is under way.
    """
    if isr.proposed is not None:
        return []
    return [
        member
        for member in isr.isr
        if member in followers
        and not followers[member].is_caught_up(
            leader_end_offset, now_ms=now_ms, lag_time_max_ms=lag_time_max_ms
        )
    ]


def may_join_isr(
    follower: FollowerState, *, high_watermark: int, leader_epoch_start_offset: int
) -> bool:
    """Tell whether a follower has all committed records and records of this leader epoch.

    The caller adds: it is assigned, not in the Isr, and its broker is alive.
    Source: Partition.scala isFollowerInSync.
    """
    return follower.log_end_offset >= max(high_watermark, leader_epoch_start_offset)


def leader_high_watermark(
    current: int,
    isr: IsrState,
    followers: Mapping[BrokerId, FollowerState],
    *,
    leader_end_offset: int,
    joining: Iterable[BrokerId] = (),
) -> int:
    """Return the high watermark after a fetch or an append; never below ``current``.

    It is the smallest end offset of the maximal Isr and of ``joining``: caught-up replicas outside
    the Isr, for which it waits lest they never get in. A member not heard of yet keeps it still.
    Source: Partition.scala maybeIncrementLeaderHW.
    """
    lowest = leader_end_offset
    for member in (*isr.maximal, *joining):
        follower = followers.get(member)
        if follower is not None and follower.log_end_offset < lowest:
            lowest = follower.log_end_offset
    return max(current, lowest)


def follower_high_watermark(
    leader_high_watermark: int, *, log_start_offset: int, log_end_offset: int
) -> int:
    """Return a follower's (or future log's) high watermark: the source's, within its own log.

    It may fall when a new leader knows less. Source: UnifiedLog.scala updateHighWatermark.
    """
    return max(min(leader_high_watermark, log_end_offset), log_start_offset)


def effective_min_insync_replicas(min_insync_replicas: int, replica_count: int) -> int:
    """Return how many in-sync replicas acks=all needs: never more than there are replicas."""
    return min(min_insync_replicas, replica_count)


def may_append(isr: IsrState, *, acks: int, min_insync_replicas: int) -> ErrorCode:
    """Decide before an append: NOT_ENOUGH_REPLICAS when acks=all cannot be kept.

    ``min_insync_replicas`` is the effective one.
    """
    if acks == ACKS_ALL and len(isr.isr) < min_insync_replicas:
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return ErrorCode.NONE


def is_replicated(
    isr: IsrState, *, high_watermark: int, required_offset: int, min_insync_replicas: int
) -> ErrorCode | None:
    """Decide a waiting acks=all produce: None while it waits, else its code.

    Source: Partition.scala checkEnoughReplicasReachOffset.
    """
    if high_watermark < required_offset:
        return None
    if len(isr.maximal) < min_insync_replicas:
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return ErrorCode.NONE
