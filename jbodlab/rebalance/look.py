"""Looks at a running cluster: as a situation to plan for, or at the partitions of a plan.

It orders nothing. Brokers that do not answer are seen as their partitions' metadata tells them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jbodlab.admin import ClusterAdmin, ClusterView, LogDirView, PartitionView
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
from protocol.ids import TopicPartition


def look_at_cluster(
    admin: ClusterAdmin, rates: Mapping[TopicPartition, float] | None = None
) -> Situation:
    """Return all log dirs and partitions; ``rates`` are bytes written per second, when known.

    Raises:
        KafkaError: the controller's answer.
        ConnectionError: no broker answers.
    """
    changing = {TopicPartition(each.topic, each.partition) for each in admin.reassignments()}
    cluster = admin.any_view()
    log_dirs = _log_dirs(admin, cluster.broker_ids, None)
    return situation_of(cluster, log_dirs, changing, rates or {})


def situation_of(
    cluster: ClusterView,
    log_dirs: Sequence[LogDirView],
    changing: Iterable[TopicPartition],
    rates: Mapping[TopicPartition, float],
) -> Situation:
    """Put together what metadata and DescribeLogDirs tell."""
    places = _places(log_dirs)
    moving = {host.tp for host, place in places.items() if place.future_path}
    lost = _only_offline_dirs(log_dirs)
    tps = [TopicPartition(each.topic, each.partition) for each in cluster.partitions]
    is_changing = dict.fromkeys([*changing, *(tp for tp in tps if tp in moving)])
    return Situation(
        log_dirs=tuple(
            LogDir(
                id=LogDirId(each.broker, each.path),
                rack=cluster.racks.get(each.broker, ""),
                is_online=each.is_online,
                is_cordoned=each.is_cordoned,
                total_bytes=each.total_bytes,
                usable_bytes=each.usable_bytes,
            )
            for each in log_dirs
        ),
        partitions=tuple(
            Partition(
                tp=tp,
                replicas=tuple(_replicas(view, tp, places, lost)),
                leader=view.leader,
                write_rate=rates.get(tp, 0.0),
                is_changing=tp in is_changing,
            )
            for tp, view in zip(tps, cluster.partitions, strict=True)
        ),
    )


def _replicas(
    view: PartitionView,
    tp: TopicPartition,
    places: Mapping[Host, Place],
    lost: Mapping[int, str],
) -> Iterable[Replica]:
    """A replica that nobody tells of is as large as the others, and in the broken log dir."""
    found = [places.get(Host(tp, broker)) for broker in view.replicas]
    whole_bytes = max((place.size_bytes for place in found if place), default=0)
    for broker, place in zip(view.replicas, found, strict=True):
        path = place.path if place else lost.get(broker, UNKNOWN_PATH)
        yield Replica(
            at=LogDirId(broker, path),
            size_bytes=place.size_bytes if place else whole_bytes,
            is_online=place is not None and broker not in view.offline_replicas,
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
    named: dict[str, list[int]] = {}
    for wanted in plan:
        named.setdefault(wanted.tp.topic, []).append(wanted.tp.partition)
    under_way = {TopicPartition(each.topic, each.partition): each for each in admin.reassignments()}
    cluster = admin.any_view(list(named))
    replicas: dict[TopicPartition, tuple[int, ...]] = {}
    for view in cluster.partitions:
        tp = TopicPartition(view.topic, view.partition)
        added = under_way[tp].adding if tp in under_way else ()
        replicas[tp] = tuple(each for each in view.replicas if each not in added)
    return Seen(
        replicas=replicas,
        targets={
            tp: tuple(broker for broker in each.replicas if broker not in each.removing)
            for tp, each in under_way.items()
        },
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
            host = Host(TopicPartition(replica.topic, replica.partition), log_dir.broker)
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
