"""One online partition: its role, its offsets, its followers and its Isr.

It decides; it writes no file and sends nothing. The engine tells it what happened and acts on what
it returns. Times are milliseconds of the event loop's clock.
Source: Partition.scala, Replica.scala (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from broker.core.isr import (
    FollowerState,
    IsrAnswer,
    IsrState,
    effective_min_insync_replicas,
    follower_high_watermark,
    is_replicated,
    leader_high_watermark,
    may_append,
    may_join_isr,
    on_alter_partition_error,
    on_alter_partition_success,
    out_of_sync_replicas,
)
from broker.core.leader_epochs import EpochEntry, LeaderEpochs
from broker.core.log_positions import EpochsToWrite, LogPositions
from broker.core.producers import ProducerStates
from broker.core.replica_producers import ReplicaProducers
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, NO_LEADER, BrokerId, TopicPartition


class Leadership(Protocol):
    """What LeaderAndIsr says of one partition; the message's own class fits."""

    @property
    def controller_epoch(self) -> int: ...  # noqa: D102 -- Kafka's field names
    @property
    def leader(self) -> int: ...  # noqa: D102
    @property
    def leader_epoch(self) -> int: ...  # noqa: D102
    @property
    def isr(self) -> Sequence[int]: ...  # noqa: D102
    @property
    def partition_epoch(self) -> int: ...  # noqa: D102
    @property
    def replicas(self) -> Sequence[int]: ...  # noqa: D102
    @property
    def adding_replicas(self) -> Sequence[int]: ...  # noqa: D102
    @property
    def removing_replicas(self) -> Sequence[int]: ...  # noqa: D102


class Partition(LogPositions):
    """A replicated log as this broker sees it: its positions, role, followers and producers."""

    __slots__ = (
        "adding_replicas",
        "broker_id",
        "controller_epoch",
        "followers",
        "is_alive",
        "is_leader",
        "isr",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "min_insync_replicas",
        "producers",
        "proposed_lives",
        "removing_replicas",
        "replicas",
        "tp",
    )

    def __init__(
        self,
        tp: TopicPartition,
        broker_id: BrokerId,
        is_alive: Callable[[int], bool] = lambda _: True,
    ) -> None:
        super().__init__()
        self.tp = tp
        self.is_alive = is_alive
        """Whether the controller counts a broker as alive; only such a one may join the Isr."""
        self.broker_id = broker_id
        self.controller_epoch = 0
        self.is_leader = False
        self.leader_id: int = NO_LEADER
        self.leader_epoch: int = NO_EPOCH
        self.leader_epoch_start_offset = 0
        self.isr = IsrState((), NO_EPOCH)
        self.proposed_lives: dict[BrokerId, int] = {}
        """Follower in the proposed Isr -> its broker epoch when that was proposed."""
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.removing_replicas: tuple[int, ...] = ()
        self.followers: dict[BrokerId, FollowerState] = {}
        self.min_insync_replicas = 1
        self.producers = ReplicaProducers()

    def load(
        self,
        *,
        log_start_offset: int,
        log_end_offset: int,
        high_watermark: int,
        epochs: LeaderEpochs,
        producers: ProducerStates,
    ) -> None:
        """Take over a log found on disk; before any role is taken."""
        self.take_over(
            log_start_offset=log_start_offset,
            log_end_offset=log_end_offset,
            high_watermark=high_watermark,
            epochs=epochs,
        )
        self.producers = ReplicaProducers(producers, log_end_offset)

    # Roles.

    def become_leader(self, state: Leadership, *, now_ms: int) -> EpochsToWrite:
        """Lead from ``state.leader_epoch`` on; return what is to be written of it.

        Source: Partition.scala makeLeader.
        """
        is_new_epoch = state.leader_epoch > self.leader_epoch or not self.is_leader
        self._take_assignment(state)
        self.is_leader = True
        self.isr = IsrState(tuple(map(BrokerId, state.isr)), state.partition_epoch)
        changed = False
        if is_new_epoch:
            self.leader_epoch_start_offset = self.next_offset
            changed = self.epochs.assign(state.leader_epoch, self.next_offset)
        self._keep_assigned_followers(now_ms=now_ms, is_new_epoch=is_new_epoch)
        self._raise_high_watermark(now_ms, lag_time_max_ms=0)
        return self._to_write(changed=changed)

    def become_follower(self, state: Leadership) -> None:
        """Follow ``state.leader`` (which may be nobody). Source: Partition.scala makeFollower."""
        self._take_assignment(state)
        self.is_leader = False
        self.followers = {}
        self.isr = IsrState((), state.partition_epoch)

    def _take_assignment(self, state: Leadership) -> None:
        self.controller_epoch = state.controller_epoch
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.replicas = tuple(state.replicas)
        self.adding_replicas = tuple(state.adding_replicas)
        self.removing_replicas = tuple(state.removing_replicas)

    def _keep_assigned_followers(self, *, now_ms: int, is_new_epoch: bool) -> None:
        kept: dict[BrokerId, FollowerState] = {}
        for replica in map(BrokerId, self.replicas):
            if replica == self.broker_id:
                continue
            follower = self.followers.get(replica) or FollowerState()
            if is_new_epoch:
                follower.on_leader_epoch(
                    in_isr=replica in self.isr.isr,
                    leader_end_offset=self.log_end_offset,
                    now_ms=now_ms,
                )
            kept[replica] = follower
        self.followers = kept

    # Questions that a request asks first.

    def check_leader_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """Compare the epoch a client knows (-1: none) with ours. Source: KIP-320."""
        if current_leader_epoch in (NO_EPOCH, self.leader_epoch):
            return ErrorCode.NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    def check_leader(self, current_leader_epoch: int) -> ErrorCode:
        """Tell whether a request for the leader of ``current_leader_epoch`` is right here."""
        code = self.check_leader_epoch(current_leader_epoch)
        if code is ErrorCode.NONE and not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return code

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed reader ends."""
        return self.producers.last_stable_offset(self.high_watermark, self.log_start_offset)

    def check_append(self, acks: int) -> ErrorCode:
        """Tell whether a producer may append now."""
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return may_append(self.isr, acks=acks, min_insync_replicas=self.required_isr_count)

    @property
    def required_isr_count(self) -> int:
        """The effective ``min.insync.replicas``."""
        return effective_min_insync_replicas(self.min_insync_replicas, len(self.replicas))

    @property
    def is_under_min_isr(self) -> bool:
        """Whether the confirmed Isr is too small to commit anything."""
        return len(self.isr.isr) < self.required_isr_count

    @property
    def is_under_replicated(self) -> bool:
        """Whether this leader misses a replica in its Isr."""
        return self.is_leader and len(self.isr.isr) < len(self.replicas)

    def replicated(self, required_offset: int) -> ErrorCode | None:
        """Decide a produce that waits for all in-sync replicas; None while it waits."""
        return is_replicated(
            self.isr,
            high_watermark=self.high_watermark,
            required_offset=required_offset,
            min_insync_replicas=self.required_isr_count,
        )

    # What happened.

    def leader_appended(self, end_offset: int, *, now_ms: int, lag_time_max_ms: int) -> bool:
        """Note that the disk has all before ``end_offset``; True when the high watermark rose."""
        self.appended(end_offset)
        return self.is_leader and self._raise_high_watermark(now_ms, lag_time_max_ms)

    def follower_appended(
        self, end_offset: int, leader_high_watermark: int, *, now_ms: int, lag_time_max_ms: int
    ) -> bool:
        """Note that fetched batches are written, and what the leader had committed then.

        True when the high watermark rose. A leader may have been elected with them on their way.
        """
        if self.is_leader:
            return self.leader_appended(end_offset, now_ms=now_ms, lag_time_max_ms=lag_time_max_ms)
        self.appended(end_offset)
        return self.follow_high_watermark(leader_high_watermark)

    def follow_high_watermark(self, leader_high_watermark: int) -> bool:
        """Take the leader's high watermark as far as the own log goes; True when it rose."""
        if leader_high_watermark < 0:
            return False
        before = self.high_watermark
        self.high_watermark = follower_high_watermark(
            leader_high_watermark,
            log_start_offset=self.log_start_offset,
            log_end_offset=self.log_end_offset,
        )
        return self.high_watermark > before

    def follower_fetched(
        self,
        replica_id: BrokerId,
        *,
        fetch_offset: int,
        log_start_offset: int,
        broker_epoch: int = NO_EPOCH,
        now_ms: int,
        lag_time_max_ms: int,
    ) -> bool:
        """Note that a follower has all before ``fetch_offset``; True when the high watermark rose.

        The replica must be assigned (``followers``) and ``fetch_offset`` within this log.
        """
        follower = self.followers[replica_id]
        moved = follower.log_end_offset != fetch_offset
        follower.on_fetch(
            fetch_offset,
            log_start_offset,
            broker_epoch,
            leader_end_offset=self.log_end_offset,
            now_ms=now_ms,
        )
        behind = self.high_watermark < self.log_end_offset
        return (moved or behind) and self._raise_high_watermark(now_ms, lag_time_max_ms)

    def brokers_changed(self, *, now_ms: int, lag_time_max_ms: int) -> bool:
        """Note that brokers came or went: the high watermark waits for no dead one to join.

        True when it rose.
        """
        return self.is_leader and self._raise_high_watermark(now_ms, lag_time_max_ms)

    def truncated(self, offset: int) -> EpochsToWrite:
        """Note that all from ``offset`` on is cut off; the producers are to be read again."""
        self.producers.truncate_from_end(offset)
        return super().truncated(offset)

    def restarted_at(self, offset: int) -> list[EpochEntry]:
        """Note that the log was emptied and goes on at ``offset``, without producers."""
        self.producers.restart_at(offset)
        return super().restarted_at(offset)

    def _raise_high_watermark(self, now_ms: int, lag_time_max_ms: int) -> bool:
        if self.is_under_min_isr:
            return False
        before = self.high_watermark
        self.high_watermark = leader_high_watermark(
            before,
            self.isr,
            self.followers,
            leader_end_offset=self.log_end_offset,
            joining=self._joining(now_ms, lag_time_max_ms),
        )
        return self.high_watermark > before

    def _joining(self, now_ms: int, lag_time_max_ms: int) -> Iterable[BrokerId]:
        """Caught-up replicas of live brokers that are outside the Isr.

        Source: Partition.scala shouldWaitForReplicaToJoinIsr, isReplicaIsrEligible.
        """
        if len(self.isr.isr) > len(self.followers):
            return ()
        return [
            replica
            for replica, follower in self.followers.items()
            if replica not in self.isr.isr
            and follower.log_end_offset >= 0
            and self.is_alive(replica)
            and follower.is_caught_up(
                self.log_end_offset, now_ms=now_ms, lag_time_max_ms=lag_time_max_ms
            )
        ]

    # The Isr.

    def propose_join(self, replica_id: BrokerId) -> bool:
        """Propose ``replica_id`` for the Isr if it qualifies; True when there is news to send."""
        if replica_id in self.isr.isr or self.isr.proposed is not None or not self.is_leader:
            return False
        qualifies = self.is_alive(replica_id) and may_join_isr(
            self.followers[replica_id],
            high_watermark=self.high_watermark,
            leader_epoch_start_offset=self.leader_epoch_start_offset,
        )
        if qualifies:
            self.isr = self.isr.expand(replica_id)
            self._note_lives()
        return qualifies

    def propose_shrink(self, *, now_ms: int, lag_time_max_ms: int) -> bool:
        """Propose to drop members that lag too long; True when there is news to send."""
        if not self.is_leader:
            return False
        late = out_of_sync_replicas(
            self.isr,
            self.followers,
            leader_end_offset=self.log_end_offset,
            now_ms=now_ms,
            lag_time_max_ms=lag_time_max_ms,
        )
        before = self.isr
        self.isr = before.shrink(late)
        is_news = self.isr is not before
        if is_news:
            self._note_lives()
        return is_news

    def _note_lives(self) -> None:
        """Keep for which life of each member a change is proposed: a later one may have lost all.

        Source: KIP-903, Partition.scala addBrokerEpochToIsr.
        """
        self.proposed_lives = {
            member: self.followers[member].broker_epoch
            for member in self.isr.proposed or ()
            if member in self.followers
        }

    def isr_accepted(
        self,
        *,
        isr: Sequence[int],
        leader_epoch: int,
        partition_epoch: int,
        now_ms: int,
        lag_time_max_ms: int,
    ) -> tuple[IsrAnswer, bool]:
        """Take the controller's answer; the bool is True when the high watermark rose by it."""
        members = tuple(map(BrokerId, isr))
        self.isr, answer = on_alter_partition_success(
            self.isr,
            isr=members,
            partition_epoch=partition_epoch,
            is_newer_leader_epoch=leader_epoch > self.leader_epoch,
        )
        is_committed = answer is IsrAnswer.COMMITTED
        return answer, is_committed and self._raise_high_watermark(now_ms, lag_time_max_ms)

    def isr_refused(self, code: ErrorCode) -> IsrAnswer:
        """Take the controller's error for the change under way."""
        self.isr, answer = on_alter_partition_error(self.isr, code)
        return answer
