"""Looks at a running cluster: as a situation to plan for, or at the partitions of a plan.

It orders nothing. Brokers that do not answer are seen as their partitions' metadata tells them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.rebalance.core.plan_file import Wanted
from jbodlab.rebalance.core.situation import (
    UNKNOWN_PATH,
    LogDir,
    LogDirId,
    Partition,
    Replica,
    Situation,
)
from jbodlab.rebalance.core.steps import Host, Place, Seen
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.admin.log_dirs import LogDirView
from protocol.admin.partitions import numbers_by_topic
from protocol.admin.reassignments import ReassignmentView
from protocol.ids import TopicPartition


def look_at_cluster(
    admin: ClusterAdmin, rates: Mapping[TopicPartition, float] | None = None
) -> Situation:
    """Return all log dirs and partitions; ``rates`` are bytes written per second, when known.

    Raises:
        KafkaError: the controller's answer.
        ConnectionError: no broker answers.
    """
    under_way = admin.reassignments()
    cluster = admin.any_view()
    log_dirs = _log_dirs(admin, cluster.broker_ids, None)
    return situation_of(cluster, log_dirs, under_way, rates or {})


def situation_of(
    cluster: ClusterView,
    log_dirs: Sequence[LogDirView],
    under_way: Iterable[ReassignmentView],
    rates: Mapping[TopicPartition, float],
) -> Situation:
    """Put together what metadata, DescribeLogDirs and the reassignments under way tell."""
    found = _Found(
        places=_places(log_dirs),
        lost=_only_offline_dirs(log_dirs),
        under_way={each.tp: each for each in under_way},
    )
    racks = cluster.racks
    return Situation(
        log_dirs=tuple(
            LogDir(
                id=LogDirId(each.broker, each.path),
                rack=racks.get(each.broker, ""),
                is_online=each.is_online,
                is_cordoned=each.is_cordoned,
                total_bytes=each.total_bytes,
                usable_bytes=each.usable_bytes,
            )
            for each in log_dirs
        ),
        partitions=tuple(_partition(view, found, rates) for view in cluster.partitions),
    )


class _Found(NamedTuple):
    places: Mapping[Host, Place]
    lost: Mapping[int, str]
    """Of each broker the only log dir that its offline replicas can be in."""
    under_way: Mapping[TopicPartition, ReassignmentView]


def _partition(
    view: PartitionView, found: _Found, rates: Mapping[TopicPartition, float]
) -> Partition:
    tp = view.tp
    change = found.under_way.get(tp)
    adding, removing = (change.adding, change.removing) if change else ((), ())
    brokers = [broker for broker in view.replicas if broker not in adding]
    whole_bytes = max(
        (
            found.places[host].size_bytes
            for each in brokers
            if (host := Host(tp, each)) in found.places
        ),
        default=0,
    )
    becoming = [
        _replica_to_be(Host(tp, broker), found, whole_bytes)
        for broker in (change.replicas if change else brokers)
        if broker not in removing
    ]
    is_moving = any(each.future_path for each in _places_of(tp, brokers, found))
    return Partition(
        tp=tp,
        replicas=tuple(_replica(view, broker, found, whole_bytes) for broker in brokers),
        leader=view.leader,
        write_rate=rates.get(tp, 0.0),
        becoming=tuple(becoming) if change or is_moving else (),
    )


def _places_of(tp: TopicPartition, brokers: Iterable[int], found: _Found) -> Iterable[Place]:
    for broker in brokers:
        if place := found.places.get(Host(tp, broker)):
            yield place


def _replica(view: PartitionView, broker: int, found: _Found, whole_bytes: int) -> Replica:
    """A replica that nobody tells of is as large as the others, and in the broken log dir."""
    place = found.places.get(Host(view.tp, broker))
    path = place.path if place else found.lost.get(broker, UNKNOWN_PATH)
    return Replica(
        at=LogDirId(broker, path),
        size_bytes=place.size_bytes if place else whole_bytes,
        is_online=place is not None and broker not in view.offline_replicas,
    )


def _replica_to_be(host: Host, found: _Found, whole_bytes: int) -> Replica:
    """Return a replica as it is once it is whole and where it is being moved to."""
    place = found.places.get(host)
    if place is None:
        path = found.lost.get(host.broker, UNKNOWN_PATH)
        return Replica(at=LogDirId(host.broker, path), size_bytes=whole_bytes)
    size_bytes = max(place.size_bytes, whole_bytes)
    there_bytes = place.future_bytes if place.future_path else place.size_bytes
    return Replica(
        at=LogDirId(host.broker, place.future_path or place.path),
        size_bytes=size_bytes,
        coming_bytes=max(0, size_bytes - there_bytes),
    )


def _only_offline_dirs(log_dirs: Iterable[LogDirView]) -> dict[int, str]:
    """Return the log dir of each broker's offline replicas, where there is just one candidate."""
    offline: dict[int, list[str]] = {}
    for each in log_dirs:
        if not each.is_online:
            offline.setdefault(each.broker, []).append(each.path)
    return {broker: paths[0] for broker, paths in offline.items() if len(paths) == 1}


def look_at_plan(admin: ClusterAdmin, plan: Sequence[Wanted]) -> Seen:
    """Return how far the partitions of a plan are; those that no longer exist are left out.

    Raises:
        KafkaError: the controller's answer.
        ConnectionError: no broker answers.
    """
    named = numbers_by_topic(wanted.tp for wanted in plan)
    under_way = {each.tp: each for each in admin.reassignments()}
    cluster = admin.any_view(list(named))
    replicas: dict[TopicPartition, tuple[int, ...]] = {}
    for view in cluster.partitions:
        tp = view.tp
        added = under_way[tp].adding if tp in under_way else ()
        replicas[tp] = tuple(each for each in view.replicas if each not in added)
    return Seen(
        replicas=replicas,
        targets={tp: each.target for tp, each in under_way.items()},
        places=_places(_log_dirs(admin, cluster.broker_ids, named)),
    )


def _log_dirs(
    admin: ClusterAdmin, brokers: Iterable[int], named: Mapping[str, Sequence[int]] | None
) -> list[LogDirView]:
    views: list[LogDirView] = []
    for broker in brokers:
        try:
            views += admin.log_dirs(broker, named)
        except OSError:
            continue
    return views


class _Log(NamedTuple):
    path: str
    size_bytes: int


def _places(log_dirs: Iterable[LogDirView]) -> dict[Host, Place]:
    current: dict[Host, _Log] = {}
    future: dict[Host, _Log] = {}
    for log_dir in log_dirs:
        for replica in log_dir.replicas:
            host = Host(replica.tp, log_dir.broker)
            logs = future if replica.is_future else current
            logs[host] = _Log(log_dir.path, replica.size_bytes)
    nowhere = _Log("", 0)
    return {
        host: Place(
            path=log.path,
            size_bytes=log.size_bytes,
            future_path=future.get(host, nowhere).path,
            future_bytes=future.get(host, nowhere).size_bytes,
        )
        for host, log in current.items()
    }
