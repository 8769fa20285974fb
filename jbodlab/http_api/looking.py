"""Looks at a cluster: asks every broker that can answer, and returns a snapshot.

Blocking; what changed is for ``core`` to tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.lab_values import NodeState
from jbodlab.asking.log_dir_signs import cause_of, signs_of
from jbodlab.errors import LabError
from jbodlab.http_api.core.snapshot import (
    BrokerInfo,
    FaultHits,
    FaultInfo,
    LogDirInfo,
    PartitionInfo,
    ReplicaInfo,
    Snapshot,
)
from jbodlab.processes.cluster import CONTROLLER, Cluster
from jbodlab.processes.node_status import node_state
from jbodlab.processes.nodes import status_troubles
from protocol.admin.cluster import ClusterView, PartitionView
from protocol.cluster_file.spec import BrokerSpec
from protocol.faults.model import broker_node
from protocol.ids import TopicPartition

_TIMEOUT_S: Final = 2
"""A broker that does not answer so soon is silent."""


@dataclass(frozen=True, slots=True)
class _Told:
    """What a broker told of itself; nothing when it did not."""

    status: Mapping[str, Any] | None = None
    log_dirs: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[Mapping[str, Any]] = ()
    cordoned: frozenset[str] = frozenset()


def look(cluster: Cluster) -> Snapshot:
    """Return the cluster as it is now; brokers are asked beside each other."""
    spec = cluster.spec
    states: dict[int, NodeState] = {
        each.id: node_state(cluster, broker_node(each.id)) for each in spec.brokers
    }
    awake = tuple(each for each in spec.brokers if states[each.id] == "running")
    with (
        ClusterAdmin(replace(spec, brokers=awake), timeout_ms=_TIMEOUT_S * 1000) as admin,
        ThreadPoolExecutor(max_workers=max(1, len(awake))) as threads,
    ):
        view = _view(admin)
        answers = threads.map(partial(_ask, admin), awake)
        told = {each.id: answer for each, answer in zip(awake, answers, strict=True)}
    partitions = {} if view is None else view.by_partition
    brokers = tuple(
        _broker(cluster, each, states[each.id], told.get(each.id, _Told()), partitions)
        for each in spec.brokers
    )
    return Snapshot(
        cluster_id=spec.cluster_id,
        bootstrap_servers=tuple(cluster.bootstrap_servers),
        controller=node_state(cluster, cluster.control_node or CONTROLLER),
        brokers=brokers,
        partitions=tuple(map(_partition, partitions.values())),
        are_partitions_known=view is not None,
        faults=tuple(_fault(cluster, each, one) for each in told for one in told[each].faults),
    )


def _view(admin: ClusterAdmin) -> ClusterView | None:
    try:
        return admin.any_view()
    except OSError:
        return None


def _ask(admin: ClusterAdmin, broker: BrokerSpec) -> _Told:
    client = ControlClient(broker.id, broker.control_port, timeout_s=_TIMEOUT_S)
    try:
        status, log_dirs, faults = client.status(), client.log_dirs(), client.faults()
    except LabError:
        return _Told()
    try:
        views = admin.log_dirs(broker.id)
    except OSError:
        views = []  # It loads: its control endpoint answers before clients are let in.
    cordoned = frozenset(each.path for each in views if each.is_cordoned)
    return _Told(status, log_dirs, faults, cordoned)


def _broker(
    cluster: Cluster,
    spec: BrokerSpec,
    state: NodeState,
    told: _Told,
    partitions: Mapping[TopicPartition, PartitionView],
) -> BrokerInfo:
    process = cluster.processes.get(broker_node(spec.id))
    is_silent = state == "running" and told.status is None
    return BrokerInfo(
        id=spec.id,
        address=f"{spec.advertised_host}:{spec.advertised_port}",
        rack=spec.rack,
        state="silent" if is_silent else state,
        pid=None if process is None or not process.is_running else process.pid,
        troubles=() if told.status is None else tuple(status_troubles(told.status)),
        log_dirs=tuple(
            _log_dir(cluster, spec.id, number, one, (told, partitions))
            for number, one in enumerate(told.log_dirs, 1)
        ),
    )


# Any: JSON.
def _log_dir(
    cluster: Cluster,
    broker_id: int,
    number: int,
    one: Mapping[str, Any],
    known: tuple[_Told, Mapping[TopicPartition, PartitionView]],
) -> LogDirInfo:
    told, partitions = known
    return LogDirInfo(
        number=number,
        path=cluster.short(one["path"]),
        is_online=one["online"],
        cause=cause_of(one["reason"]) if one["reason"] else "",
        is_cordoned=one["path"] in told.cordoned,
        total_bytes=one["total_bytes"],
        usable_bytes=one["usable_bytes"],
        queue_depth=one["queue_depth"],
        last_hop_ms=one["last_hop_ms"],
        signs=tuple(signs_of(one)),
        faults=tuple(FaultHits(mode=each["mode"], hits=each["hits"]) for each in one["faults"]),
        return_state="" if one["return"] is None else one["return"]["state"],
        replicas=tuple(_replica(broker_id, each, partitions) for each in one["replicas"]),
    )


def _replica(
    broker_id: int, one: Mapping[str, Any], partitions: Mapping[TopicPartition, PartitionView]
) -> ReplicaInfo:
    view = partitions.get(TopicPartition(one["topic"], one["partition"]))
    is_future = one["is_future"]
    return ReplicaInfo(
        topic=one["topic"],
        partition=one["partition"],
        size_bytes=one["size_bytes"],
        offset_lag=one["offset_lag"],
        is_future=is_future,
        is_leader=view is not None and not is_future and view.leader == broker_id,
        is_in_sync=view is not None and not is_future and broker_id in view.isr,
    )


def _partition(view: PartitionView) -> PartitionInfo:
    return PartitionInfo(
        topic=view.topic,
        partition=view.partition,
        leader=view.leader,
        leader_epoch=view.leader_epoch,
        replicas=view.replicas,
        isr=view.isr,
        offline_replicas=view.offline_replicas,
    )


def _fault(cluster: Cluster, broker_id: int, one: Mapping[str, Any]) -> FaultInfo:
    rule = dict(one["fault"])
    if "log_dir" in rule:
        rule["log_dir"] = cluster.short(rule["log_dir"])
    return FaultInfo(
        broker=broker_id,
        id=one["id"],
        is_in_force=one["is_in_force"],
        matches=one["matches"],
        hits=one["hits"],
        fault=rule,
    )
