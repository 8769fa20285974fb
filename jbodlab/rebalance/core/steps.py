"""What to order next so that a plan comes true, from what the cluster shows at this moment.

It remembers nothing: a run that was cut anywhere goes on from what it finds, and the way back is a
plan like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jbodlab.rebalance.core.plan_file import ANY, Wanted
from jbodlab.rebalance.core.situation import LogDirId
from protocol.ids import TopicPartition


class Host(NamedTuple):
    """One replica of one partition."""

    tp: TopicPartition
    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a broker has a replica."""

    path: str
    size_bytes: int
    future_path: str = ""
    """Where it is being moved to; "" when it is not."""
    future_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the cluster shows of the partitions of a plan."""

    replicas: Mapping[TopicPartition, tuple[int, ...]]
    """Without those that are still being added."""
    targets: Mapping[TopicPartition, tuple[int, ...]]
    """Of the reassignments under way: the replicas they end with."""
    places: Mapping[Host, Place]


class DirMove(NamedTuple):
    """An order to one broker: have a replica in this log dir."""

    at: LogDirId
    tp: TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What to order now."""

    chosen: tuple[DirMove, ...] = ()
    """Log dirs for replicas that the reassignments will add; to be ordered before them."""
    reassign: Mapping[TopicPartition, tuple[int, ...]] = field(
        default_factory=dict[TopicPartition, tuple[int, ...]]
    )
    moves: tuple[DirMove, ...] = ()


def is_done(plan: Iterable[Wanted], seen: Seen) -> bool:
    """Tell whether everything is where the plan wants it and nothing is under way."""
    return all(_is_settled(wanted, seen) for wanted in plan)


def decide(plan: Sequence[Wanted], seen: Seen, at_once: int) -> Orders:
    """Return the next orders, so that about ``at_once`` partitions are under way.

    What has most left to copy begins first, so that nothing large is left alone at the end. A
    reassignment to elsewhere is turned round at once.
    """
    reassign = {wanted.tp: wanted.brokers for wanted in _to_reassign(plan, seen, at_once)}
    return Orders(
        chosen=tuple(
            order
            for wanted in plan
            if wanted.tp in reassign
            for order in _dir_moves(wanted)
            if Host(order.tp, order.at.broker) not in seen.places
        ),
        reassign=reassign,
        moves=tuple(_moves(plan, seen, at_once)),
    )


def under_way(plan: Iterable[Wanted], seen: Seen) -> Orders:
    """Return the orders that take back what is under way and leave what is complete.

    ``reassign`` names the partitions; their targets mean nothing.
    """
    wanted = list(plan)
    return Orders(
        reassign={each.tp: seen.targets[each.tp] for each in wanted if each.tp in seen.targets},
        moves=tuple(
            DirMove(LogDirId(host.broker, place.path), host.tp)
            for host, place in _hosted(wanted, seen)
            if place.future_path
        ),
    )


def remaining_bytes(plan: Iterable[Wanted], seen: Seen) -> dict[Host, int]:
    """Return what is still to be copied for each replica that is not where it shall be."""
    return {
        Host(wanted.tp, broker): _remaining(wanted, broker, path, seen)
        for wanted in plan
        for broker, path in zip(wanted.brokers, wanted.log_dirs, strict=True)
        if not _is_in_place(wanted, broker, path, seen)
    }


def _to_reassign(plan: Sequence[Wanted], seen: Seen, at_once: int) -> Iterator[Wanted]:
    room = at_once - sum(seen.targets.get(wanted.tp) == wanted.brokers for wanted in plan)
    for wanted in _largest_first(plan, seen):
        if wanted.tp in seen.targets:
            if seen.targets[wanted.tp] != wanted.brokers:
                yield wanted
        elif seen.replicas[wanted.tp] != wanted.brokers and room > 0:
            room -= 1
            yield wanted


def _largest_first(plan: Iterable[Wanted], seen: Seen) -> list[Wanted]:
    left_bytes: dict[TopicPartition, int] = {}
    for host, size_bytes in remaining_bytes(plan, seen).items():
        left_bytes[host.tp] = left_bytes.get(host.tp, 0) + size_bytes
    return sorted(plan, key=lambda wanted: -left_bytes.get(wanted.tp, 0))


def _moves(plan: Sequence[Wanted], seen: Seen, at_once: int) -> Iterator[DirMove]:
    """Return moves between the log dirs of brokers; each broker has ``at_once`` under way."""
    busy: dict[int, int] = {}
    for host, place in _hosted(plan, seen):
        busy[host.broker] = busy.get(host.broker, 0) + bool(place.future_path)
    for wanted in _largest_first(plan, seen):
        for order in _dir_moves(wanted):
            place = seen.places.get(Host(order.tp, order.at.broker))
            if place is None or (place.future_path or place.path) == order.at.path:
                continue
            is_turned = bool(place.future_path)
            if is_turned or busy.get(order.at.broker, 0) < at_once:
                busy[order.at.broker] = busy.get(order.at.broker, 0) + (not is_turned)
                yield order


def _dir_moves(wanted: Wanted) -> Iterator[DirMove]:
    for broker, path in zip(wanted.brokers, wanted.log_dirs, strict=True):
        if path != ANY:
            yield DirMove(LogDirId(broker, path), wanted.tp)


def _hosted(plan: Iterable[Wanted], seen: Seen) -> Iterator[tuple[Host, Place]]:
    for wanted in plan:
        for broker in wanted.brokers:
            host = Host(wanted.tp, broker)
            if host in seen.places:
                yield host, seen.places[host]


def _is_settled(wanted: Wanted, seen: Seen) -> bool:
    return (
        wanted.tp not in seen.targets
        and seen.replicas[wanted.tp] == wanted.brokers
        and all(
            _is_in_place(wanted, broker, path, seen)
            for broker, path in zip(wanted.brokers, wanted.log_dirs, strict=True)
        )
    )


def _is_in_place(wanted: Wanted, broker: int, path: str, seen: Seen) -> bool:
    if broker not in seen.replicas[wanted.tp]:
        return False
    place = seen.places.get(Host(wanted.tp, broker))
    return path == ANY or (place is not None and place.path == path and not place.future_path)


def _remaining(wanted: Wanted, broker: int, path: str, seen: Seen) -> int:
    place = seen.places.get(Host(wanted.tp, broker))
    if place is not None and broker in seen.replicas[wanted.tp]:
        copied = place.future_bytes if place.future_path == path else 0
        return max(0, place.size_bytes - copied)
    whole_bytes = max(
        (
            seen.places[host].size_bytes
            for each in seen.replicas[wanted.tp]
            if (host := Host(wanted.tp, each)) in seen.places
        ),
        default=0,
    )
    return max(0, whole_bytes - (place.size_bytes if place else 0))
