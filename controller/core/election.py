"""Who leads: the election strategies as functions of one partition. They change nothing.

Source: Election.scala, PartitionLeaderElectionAlgorithms.scala.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import NamedTuple

from controller.core.state import ClusterState, Partition
from protocol.ids import TopicPartition


class Strategy(Enum):
    """Why a leader is elected, which decides who may become it."""

    OFFLINE = auto()
    """The leader is gone; unclean only where the topic's config allows it."""
    OFFLINE_UNCLEAN = auto()
    """The same, with unclean elections allowed by an administrator."""
    REASSIGN = auto()
    """The leader is no target of a reassignment."""
    PREFERRED = auto()
    """The first replica of the assignment shall lead."""
    CONTROLLED_SHUTDOWN = auto()
    """The leader's broker is about to stop."""


class Elected(NamedTuple):
    """The outcome of a successful election."""

    partition: Partition
    """With new leader, Isr and a leader epoch one higher; the partition epoch is the caller's."""
    recipients: tuple[int, ...]
    """The brokers to tell by LeaderAndIsr."""
    is_unclean: bool


def elect(
    state: ClusterState, tp: TopicPartition, strategy: Strategy, *, is_unclean_allowed: bool
) -> Elected | None:
    """Elect a leader for ``tp``; None when no replica qualifies.

    Args:
        state: the cluster.
        tp: a partition with leadership.
        strategy: the rule.
        is_unclean_allowed: of the topic; only the offline strategies ask.
    """
    partition = state.partition(tp)
    match strategy:
        case Strategy.OFFLINE | Strategy.OFFLINE_UNCLEAN:
            return _elect_offline(state, tp, partition, is_unclean_allowed=is_unclean_allowed)
        case Strategy.REASSIGN:
            return _elect_among(state, tp, partition, partition.target_replicas)
        case Strategy.PREFERRED:
            return _elect_preferred(state, tp, partition)
        case Strategy.CONTROLLED_SHUTDOWN:
            return _elect_for_shutdown(state, tp, partition)


def needs_unclean(state: ClusterState, tp: TopicPartition) -> bool:
    """Tell whether no replica of the Isr is online, so that only an unclean election could help."""
    return not any(state.is_replica_online(tp, member) for member in state.partition(tp).isr)


def _elect_offline(
    state: ClusterState, tp: TopicPartition, partition: Partition, *, is_unclean_allowed: bool
) -> Elected | None:
    online = state.online_replicas(tp)
    leader = _first(online, partition.isr)
    if leader is not None:
        isr = tuple(member for member in partition.isr if member in online)
        return Elected(_led_by(partition, leader, isr), online, is_unclean=False)
    if is_unclean_allowed and online:
        elected = replace(_led_by(partition, online[0], (online[0],)), is_recovering=True)
        return Elected(elected, online, is_unclean=True)
    return None


def _elect_among(
    state: ClusterState, tp: TopicPartition, partition: Partition, candidates: tuple[int, ...]
) -> Elected | None:
    online = tuple(r for r in candidates if state.is_replica_online(tp, r))
    leader = _first(online, partition.isr)
    if leader is None:
        return None
    return Elected(_led_by(partition, leader, partition.isr), candidates, is_unclean=False)


def _elect_preferred(
    state: ClusterState, tp: TopicPartition, partition: Partition
) -> Elected | None:
    preferred = partition.replicas[0]
    if preferred not in partition.isr or not state.is_replica_online(tp, preferred):
        return None
    elected = _led_by(partition, preferred, partition.isr)
    return Elected(elected, partition.replicas, is_unclean=False)


def _elect_for_shutdown(
    state: ClusterState, tp: TopicPartition, partition: Partition
) -> Elected | None:
    leader = _first(state.online_replicas(tp), partition.isr)
    if leader is None:
        return None
    isr = tuple(member for member in partition.isr if not state.is_shutting_down(member))
    recipients = tuple(r for r in partition.replicas if state.is_replica_reachable(tp, r))
    return Elected(_led_by(partition, leader, isr), recipients, is_unclean=False)


def _led_by(partition: Partition, leader: int, isr: tuple[int, ...]) -> Partition:
    return replace(partition, leader=leader, isr=isr, leader_epoch=partition.leader_epoch + 1)


def _first(candidates: tuple[int, ...], isr: tuple[int, ...]) -> int | None:
    return next((candidate for candidate in candidates if candidate in isr), None)
