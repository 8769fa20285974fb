"""Which partitions a broker hosts: Online, Offline or Absent, and what becomes of them.

The table holds the engine's partitions without knowing what they are; it does no IO. The decisions
on control requests are in ``broker.core.control_rules``.
Source: ReplicaManager.scala (HostedPartition, handleLogDirFailure), KAFKA-16157.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import Generic, NamedTuple, Protocol, TypeVar

from broker.core.replication_quota import UNLIMITED
from protocol.ids import NO_EPOCH, ZERO_UUID, TopicPartition
from protocol.witness import Witness, unwitnessed


class HostedState(Enum):
    """How a broker stands to one partition."""

    ABSENT = auto()
    """Not hosted; a log may lie on disk that no LeaderAndIsr has named yet."""
    ONLINE = auto()
    OFFLINE = auto()
    """Its log dir failed: everything about it is KAFKA_STORAGE_ERROR until that comes back."""


class Role(Enum):
    """What the last LeaderAndIsr made of a replica."""

    NONE = auto()
    """It has just been made."""
    LEADER = auto()
    FOLLOWER = auto()


def is_another_topic(topic_id: bytes, known_id: bytes) -> bool:
    """Tell whether both ids are known and not the same."""
    return ZERO_UUID not in (topic_id, known_id) and topic_id != known_id


class HostedPartition(Protocol):
    """What the rules need to know of an online partition."""

    @property
    def topic_id(self) -> bytes:
        """All zero while unknown."""
        ...

    @property
    def leader_epoch(self) -> int:
        """The last one accepted."""
        ...

    @property
    def log_dir(self) -> str:
        """The path of the log dir with the current log."""
        ...

    @property
    def future_log_dir(self) -> str | None:
        """The path of the log dir with the future log, if a move is under way."""
        ...

    @property
    def is_stopped(self) -> bool:
        """Whether StopReplica was the last that the controller said of it."""
        ...


class IdleLog(Protocol):
    """A current log found on disk that no LeaderAndIsr has named yet."""

    @property
    def topic_id(self) -> bytes:
        """All zero while unknown."""
        ...

    @property
    def log_dir(self) -> str:
        """The path of its log dir."""
        ...


class Loss(Enum):
    """Why it is known that no log of an Offline partition is left on this broker."""

    REBUILD = auto()
    """Its disk is an empty one now, or somebody took its log away: made anew as a follower of
    another member of the Isr only."""
    ACCEPTED = auto()
    """The same, and its operator lets it begin empty even where no other member has its records."""


class OfflineReplica(NamedTuple):
    """What stays known of a partition whose log dir failed."""

    topic_id: bytes
    log_dir: str | None
    """None when its log was never found: it may be on any failed log dir."""
    loss: Loss | None = None


class ReplicaView(NamedTuple):
    """One partition as the rules see it."""

    state: HostedState
    leader_epoch: int = NO_EPOCH
    topic_id: bytes = ZERO_UUID
    log_dir: str | None = None
    """Of the current log; None when there is none on an online log dir.

    An Offline partition has one when its log dir came back for another partition alone.
    """
    future_log_dir: str | None = None
    loss: Loss | None = None
    """Of an Offline one."""
    is_stopped: bool = False
    """Of an Online one: it stays without fetchers and movers until the next LeaderAndIsr."""
    failed_epoch: int = NO_EPOCH
    """Of one that is not Online: the last leader epoch accepted before its log dir failed."""


class ReturnRule(NamedTuple):
    """How a log dir is taken in again."""

    loss: Loss = Loss.REBUILD
    """What holds for the replicas that are not on it any more."""
    is_last: bool = True
    """No other log dir is offline, so that logs never found are lost as well."""
    is_unread: bool = True
    """It may hold logs that no LeaderAndIsr has named; else one of no known replica is nobody's."""
    only: TopicPartition | None = None
    """One partition alone comes back; None for all."""
    rate_bytes_per_second: int = UNLIMITED
    """How fast all lost replicas together are copied from their leaders."""

    def takes(self, tp: TopicPartition) -> bool:
        """Tell whether ``tp`` comes back now."""
        return self.only in (None, tp)


class ReturnedReplicas(NamedTuple):
    """What became of the partitions of a log dir that came back."""

    found: tuple[TopicPartition, ...]
    """Their logs wait for a LeaderAndIsr."""
    lost: tuple[TopicPartition, ...]
    """No log of them is left: they are to be made anew."""
    strays: tuple[TopicPartition, ...]
    """Hosted elsewhere or deleted by now, or of a topic made anew: what was found is nobody's."""
    belonging: tuple[TopicPartition, ...] = ()
    """The lost ones whose log was in this log dir, and is to be made anew in it.

    One that was never found may have been anywhere: it goes where new replicas go.
    """


class FailedReplicas(NamedTuple):
    """What a failed log dir took along."""

    current: tuple[TopicPartition, ...]
    """Now Offline: stop their fetchers and movers, end their waiting requests."""
    future: tuple[TopicPartition, ...]
    """Keep serving, but their move is over: drop the future log without touching the disk."""
    idle: tuple[TopicPartition, ...]
    """Logs that no LeaderAndIsr had named; forgotten."""


P = TypeVar("P", bound=HostedPartition)
L = TypeVar("L", bound=IdleLog)


class HostedPartitions(Generic[P, L]):
    """The table of one broker: P is an online partition, L a log that nobody asked for yet."""

    __slots__ = ("_deleted", "_failed_epochs", "_idle", "_offline", "_online", "_witness")

    def __init__(self, witness: Witness = unwitnessed) -> None:
        self._witness = witness
        self._online: dict[TopicPartition, P] = {}
        self._offline: dict[TopicPartition, OfflineReplica] = {}
        self._idle: dict[TopicPartition, L] = {}
        self._failed_epochs: dict[TopicPartition, int] = {}
        """Partition -> its last leader epoch before its log dir failed, until it is Online."""
        self._deleted: dict[TopicPartition, bytes] = {}
        """The topic ids of what was deleted while an older log of it may have lain out of reach."""

    @property
    def partition_count(self) -> int:
        """Hosted partitions, the offline ones included, as Kafka's PartitionCount."""
        return len(self._online) + len(self._offline)

    @property
    def offline_count(self) -> int:
        """Kafka's OfflineReplicaCount, which 3.8 and 3.9 report as 0."""
        return len(self._offline)

    def online_replica(self, tp: TopicPartition) -> P | None:
        """Return the partition if it is Online."""
        return self._online.get(tp)

    def state_of(self, tp: TopicPartition) -> HostedState:
        """Return how this broker stands to ``tp``."""
        if tp in self._online:
            return HostedState.ONLINE
        return HostedState.OFFLINE if tp in self._offline else HostedState.ABSENT

    def is_offline(self, tp: TopicPartition) -> bool:
        """Tell whether everything asked of ``tp`` is answered KAFKA_STORAGE_ERROR."""
        return tp in self._offline

    def offline_replica(self, tp: TopicPartition) -> OfflineReplica | None:
        """Return what is known of an Offline partition."""
        return self._offline.get(tp)

    def idle_replica(self, tp: TopicPartition) -> L | None:
        """Return the log of ``tp`` that waits for a LeaderAndIsr."""
        return self._idle.get(tp)

    def view(self, tp: TopicPartition) -> ReplicaView:
        """Return ``tp`` as the rules see it."""
        partition = self._online.get(tp)
        if partition is not None:
            return ReplicaView(
                HostedState.ONLINE,
                partition.leader_epoch,
                partition.topic_id,
                partition.log_dir,
                partition.future_log_dir,
                is_stopped=partition.is_stopped,
            )
        return self._not_online(tp)._replace(failed_epoch=self._failed_epochs.get(tp, NO_EPOCH))

    def _not_online(self, tp: TopicPartition) -> ReplicaView:
        offline, idle = self._offline.get(tp), self._idle.get(tp)
        if offline is not None:
            return ReplicaView(
                HostedState.OFFLINE,
                topic_id=offline.topic_id,
                log_dir=None if idle is None else idle.log_dir,
                loss=offline.loss,
            )
        if idle is not None:
            return ReplicaView(HostedState.ABSENT, topic_id=idle.topic_id, log_dir=idle.log_dir)
        return ReplicaView(HostedState.ABSENT)

    def iterate_online(self) -> Iterator[tuple[TopicPartition, P]]:
        """Give the online partitions, in the order they were hosted. Do not change the table."""
        return iter(self._online.items())

    def iterate_idle(self) -> Iterator[tuple[TopicPartition, L]]:
        """Give the logs that wait for a LeaderAndIsr."""
        return iter(self._idle.items())

    def iterate_offline(self) -> Iterator[tuple[TopicPartition, OfflineReplica]]:
        """Give the offline partitions."""
        return iter(self._offline.items())

    def put_online(self, tp: TopicPartition, partition: P) -> None:
        """Host ``tp``; its idle log and any Offline entry (of a deleted topic) are replaced."""
        self._witness(self.state_of(tp), HostedState.ONLINE)
        self._offline.pop(tp, None)
        self._idle.pop(tp, None)
        self._failed_epochs.pop(tp, None)
        self._online[tp] = partition

    def put_idle(self, tp: TopicPartition, log: L) -> None:
        """Remember a log found on disk at the start."""
        assert tp not in self._online, f"{tp} is hosted"
        self._idle[tp] = log

    def put_offline(self, tp: TopicPartition, topic_id: bytes, log_dir: str | None) -> P | None:
        """Make ``tp`` Offline; return the partition that was online, so that it can be ended."""
        self._witness(self.state_of(tp), HostedState.OFFLINE)
        self._idle.pop(tp, None)
        self._offline[tp] = OfflineReplica(topic_id, log_dir)
        ended = self._online.pop(tp, None)
        if ended is not None:
            self._failed_epochs[tp] = ended.leader_epoch
        return ended

    def put_lost(self, tp: TopicPartition, log_dir: str) -> None:
        """Make ``tp`` Offline, of which it is known that its log in ``log_dir`` is gone."""
        self.put_offline(tp, ZERO_UUID, log_dir)
        self._offline[tp] = OfflineReplica(ZERO_UUID, log_dir, Loss.REBUILD)

    def remove(self, tp: TopicPartition, *, any_unread: bool = False) -> P | None:
        """Forget an online partition or idle log: it is being deleted.

        An Offline entry stays, unless its log lies on a good log dir or nowhere any more. With
        ``any_unread`` an older log, nobody's then, may come back with a log dir never read.
        """
        before = self.state_of(tp)
        idle = self._idle.pop(tp, None)
        if idle is not None or self.is_lost(tp):
            self._offline.pop(tp, None)
        ended = self._online.pop(tp, None)
        if any_unread and (gone := ended or idle) is not None:
            self._deleted[tp] = gone.topic_id
        if not self.is_offline(tp):
            self._failed_epochs.pop(tp, None)
        self._witness(before, self.state_of(tp))
        return ended

    def affected_by(self, log_dir: str) -> FailedReplicas:
        """Return what lives in ``log_dir``, without changing anything."""
        return FailedReplicas(
            tuple(tp for tp, hosted in self._online.items() if hosted.log_dir == log_dir),
            tuple(
                tp
                for tp, hosted in self._online.items()
                if hosted.future_log_dir == log_dir and hosted.log_dir != log_dir
            ),
            tuple(tp for tp, idle in self._idle.items() if idle.log_dir == log_dir),
        )

    def on_log_dir_failed(self, log_dir: str) -> tuple[FailedReplicas, list[P]]:
        """Make what lives in ``log_dir`` Offline; return it with the partitions that were online.

        An idle log of the log dir is only forgotten: the LeaderAndIsr that names it finds a log dir
        offline and is refused.
        """
        failed = self.affected_by(log_dir)
        ended = {tp: self._online[tp] for tp in failed.current}
        for tp, partition in ended.items():
            self.put_offline(tp, partition.topic_id, log_dir)
        for tp in failed.idle:
            del self._idle[tp]
        for tp, offline in list(self._offline.items()):
            if offline.log_dir == log_dir:
                self._offline[tp] = OfflineReplica(offline.topic_id, log_dir)
        return failed, list(ended.values())

    def awaited(self, log_dir: str) -> tuple[TopicPartition, ...]:
        """Return the partitions that are lost and have not been made anew in ``log_dir`` yet."""
        return tuple(
            tp
            for tp, offline in self._offline.items()
            if offline.log_dir == log_dir and offline.loss is not None
        )

    def on_log_dir_returned(
        self, log_dir: str, found: Mapping[TopicPartition, L], rule: ReturnRule
    ) -> ReturnedReplicas:
        """Take in the logs that lie in ``log_dir`` now; what should be there and is not, is lost.

        Logs that the rule leaves out are known as idle and stay Offline until ``release``; one that
        is not there could never be released, and is lost all the same. Of a topic made anew
        meanwhile the old log is a stray, whether or not its new one is online: as an idle log it
        would be refused with INCONSISTENT_TOPIC_ID for ever. One of no replica nobody would delete.
        """
        strays = tuple(tp for tp, log in found.items() if self._is_stray(tp, log, rule))
        known = frozenset(strays)
        taken = tuple(tp for tp in found if tp not in known)
        for tp in taken:
            self._idle[tp] = found[tp]
            self._offline[tp] = OfflineReplica(found[tp].topic_id, log_dir)
        lost = tuple(
            tp
            for tp, offline in self._offline.items()
            if tp not in self._idle
            if offline.log_dir == log_dir or (rule.is_last and offline.log_dir is None)
        )
        belonging = tuple(tp for tp in lost if self._offline[tp].log_dir == log_dir)
        for tp in lost:
            loss = rule.loss if rule.takes(tp) else Loss.REBUILD
            self._offline[tp] = OfflineReplica(self._offline[tp].topic_id, log_dir, loss)
        released = self.release(tp for tp in taken if rule.takes(tp))
        if rule.is_last:
            self._deleted.clear()
        return ReturnedReplicas(released, lost, strays, belonging)

    def _is_stray(self, tp: TopicPartition, found: L, rule: ReturnRule) -> bool:
        """Tell whether a log that came back is nobody's any more."""
        if (offline := self._offline.get(tp)) is not None:
            return is_another_topic(offline.topic_id, found.topic_id)
        is_old = tp in self._online or tp in self._idle
        gone = self._deleted.get(tp)
        is_deleted = gone is not None and not is_another_topic(gone, found.topic_id)
        return not rule.is_unread or is_old or is_deleted

    def accept_loss(self, tps: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Let lost partitions begin empty even where no other member of the Isr has them."""
        lost = {tp: self._offline[tp] for tp in tps if self.is_lost(tp)}
        self._offline |= {tp: one._replace(loss=Loss.ACCEPTED) for tp, one in lost.items()}
        return tuple(lost)

    def is_lost(self, tp: TopicPartition) -> bool:
        """Tell whether ``tp`` is Offline and known to have no log here any more."""
        return (offline := self._offline.get(tp)) is not None and offline.loss is not None

    def release(self, tps: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Let Offline partitions whose logs are idle on a good log dir wait for a LeaderAndIsr."""
        released = tuple(tp for tp in tps if tp in self._offline and tp in self._idle)
        for tp in released:
            self._witness(HostedState.OFFLINE, HostedState.ABSENT)
            del self._offline[tp]
        return released
