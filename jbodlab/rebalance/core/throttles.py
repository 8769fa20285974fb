"""Which throttles a plan needs, as Kafka's tool sets them: lists of replicas, rates of brokers.

Source: KIP-73, calculateLeaderThrottles and calculateFollowerThrottles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jbodlab.rebalance.core.plan_file import ANY, Wanted
from jbodlab.rebalance.core.steps import Host, Orders, Seen
from protocol.configs.names import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MOVE_RATE,
)
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttles:
    """What is to be set before anything is ordered, and taken off at the end."""

    lists: Mapping[str, Mapping[str, tuple[str, ...]]]
    """Topic, then key, then entries ``partition:broker``."""
    rates: Mapping[int, tuple[str, ...]]
    """Broker, then the keys whose value is the rate."""


def throttles_of(plan: Iterable[Wanted], seen: Seen) -> Throttles:
    """Return all throttles that what a plan still has to copy may need.

    Leaders are throttled for the replicas that a partition has, followers for those it gets; each
    broker that sends, receives or copies between its log dirs gets the rates that it needs.
    """
    drawn = _Drawn()
    for wanted in plan:
        drawn.reassign(wanted.tp, wanted.brokers, seen)
        for broker, path in zip(wanted.brokers, wanted.log_dirs, strict=True):
            if path != ANY:
                drawn.move(broker)
    return drawn.throttles()


def throttles_now(plan: Iterable[Wanted], seen: Seen, orders: Orders) -> Throttles:
    """Return the throttles for what is under way or about to be ordered, and no more.

    The cluster takes off what it was throttled with when that has ended, also after the death of
    the run; a throttle for something that was never begun would stay.
    """
    drawn = _Drawn()
    for wanted in plan:
        going = orders.reassign.get(wanted.tp) or seen.targets.get(wanted.tp)
        if going:
            drawn.reassign(wanted.tp, going, seen)
        for broker in wanted.brokers:
            place = seen.places.get(Host(wanted.tp, broker))
            if place is not None and place.future_path:
                drawn.move(broker)
    for order in orders.moves:
        drawn.move(order.at.broker)
    return drawn.throttles()


class _Drawn:
    """Throttles as they are gathered."""

    def __init__(self) -> None:
        self._lists: dict[str, dict[str, list[str]]] = {}
        self._rates: dict[int, dict[str, None]] = {}

    def reassign(self, tp: TopicPartition, brokers: Sequence[int], seen: Seen) -> None:
        """Throttle what ``brokers`` still have to get."""
        present = seen.replicas[tp]
        added = [broker for broker in brokers if broker not in present]
        if not added:
            return
        keys = self._lists.setdefault(tp.topic, {LEADER_REPLICAS: [], FOLLOWER_REPLICAS: []})
        keys[LEADER_REPLICAS] += _entries(tp, present)
        keys[FOLLOWER_REPLICAS] += _entries(tp, added)
        for broker in (*present, *added):
            self._rates.setdefault(broker, {}).update({LEADER_RATE: None, FOLLOWER_RATE: None})

    def move(self, broker: int) -> None:
        """Throttle moves between the log dirs of a broker."""
        self._rates.setdefault(broker, {})[MOVE_RATE] = None

    def throttles(self) -> Throttles:
        """Return what was gathered."""
        return Throttles(
            lists={
                topic: {key: tuple(entries) for key, entries in keys.items()}
                for topic, keys in self._lists.items()
            },
            rates={broker: tuple(keys) for broker, keys in self._rates.items()},
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
