"""Which throttles a plan needs, as Kafka's tool sets them: lists of replicas, rates of brokers.

Source: KIP-73, calculateLeaderThrottles and calculateFollowerThrottles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from jbodlab.rebalance.core.plan_file import ANY, Wanted
from jbodlab.rebalance.core.steps import Seen
from protocol.ids import TopicPartition

LEADERS: Final = "leader.replication.throttled.replicas"
FOLLOWERS: Final = "follower.replication.throttled.replicas"
LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
MOVE_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttles:
    """What is to be set before anything is ordered, and taken off at the end."""

    lists: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Topic, then key, then entries ``partition:broker``."""
    rates: Mapping[int, tuple[str, ...]]
    """Broker, then the keys whose value is the rate."""


def throttles_of(plan: Iterable[Wanted], seen: Seen) -> Throttles:
    """Return the throttles for what a plan still has to copy.

    Leaders are throttled for the replicas that a partition has, followers for those it gets; each
    broker that sends, receives or copies between its log dirs gets the rates that it needs.
    """
    lists: dict[str, dict[str, list[str]]] = {}
    rates: dict[int, dict[str, None]] = {}
    for wanted in plan:
        present = seen.replicas[wanted.tp]
        added = [broker for broker in wanted.brokers if broker not in present]
        if added:
            keys = lists.setdefault(wanted.tp.topic, {LEADERS: [], FOLLOWERS: []})
            keys[LEADERS] += _entries(wanted.tp, present)
            keys[FOLLOWERS] += _entries(wanted.tp, added)
            for broker in (*present, *added):
                rates.setdefault(broker, {}).update({LEADER_RATE: None, FOLLOWER_RATE: None})
        for broker, path in zip(wanted.brokers, wanted.log_dirs, strict=True):
            if path != ANY:
                rates.setdefault(broker, {})[MOVE_RATE] = None
    return Throttles(
        lists={
            topic: {key: tuple(entries) for key, entries in keys.items()}
            for topic, keys in lists.items()
        },
        rates={broker: tuple(keys) for broker, keys in rates.items()},
    )


def with_entries(text: str, entries: Iterable[str]) -> str:
    """Return a list with entries added; a list of all (``*``) stays as it is."""
    present = _split(text)
    if "*" in present:
        return text
    return ",".join(dict.fromkeys([*present, *entries]))


def without_entries(text: str, entries: Iterable[str]) -> str:
    """Return what is left of a list; "" when nothing is."""
    gone = set(entries)
    return ",".join(each for each in _split(text) if each not in gone)


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _entries(tp: TopicPartition, brokers: Iterable[int]) -> list[str]:
    return [f"{tp.partition}:{broker}" for broker in brokers]
