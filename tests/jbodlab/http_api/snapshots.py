"""Snapshots to begin with: two brokers of two log dirs each, one topic of one partition."""

from __future__ import annotations

from msgspec.structs import replace

from jbodlab.http_api.core.snapshot import (
    BrokerInfo,
    FaultInfo,
    LogDirInfo,
    PartitionInfo,
    ReplicaInfo,
    Snapshot,
)


def replica(size_bytes: int = 100, *, is_future: bool = False) -> ReplicaInfo:
    return ReplicaInfo(
        topic="orders",
        partition=0,
        size_bytes=size_bytes,
        offset_lag=0,
        is_future=is_future,
        is_leader=False,
        is_in_sync=not is_future,
    )


def log_dir(broker_id: int, number: int, *replicas: ReplicaInfo) -> LogDirInfo:
    return LogDirInfo(
        number=number,
        path=f"data/b{broker_id}/d{number}",
        is_online=True,
        cause="",
        is_cordoned=False,
        total_bytes=1000,
        usable_bytes=900,
        queue_depth=0,
        signs=(),
        faults=(),
        return_state="",
        replicas=replicas,
    )


def broker(broker_id: int) -> BrokerInfo:
    return BrokerInfo(
        id=broker_id,
        address=f"127.0.0.1:909{broker_id}",
        rack=None,
        state="running",
        pid=broker_id,
        troubles=(),
        log_dirs=(log_dir(broker_id, 1, replica()), log_dir(broker_id, 2)),
    )


def partition(leader: int = 1, isr: tuple[int, ...] = (1, 2), epoch: int = 3) -> PartitionInfo:
    return PartitionInfo(
        topic="orders",
        partition=0,
        leader=leader,
        leader_epoch=epoch,
        replicas=(1, 2),
        isr=isr,
        offline_replicas=(),
    )


def fault(fault_id: str = "fault-1", *, is_in_force: bool = True) -> FaultInfo:
    return FaultInfo(
        broker=1,
        id=fault_id,
        is_in_force=is_in_force,
        matches=0,
        hits=0,
        fault={"mode": "eio", "log_dir": "data/b1/d1"},
    )


WHOLE = Snapshot(
    cluster_id="lab",
    bootstrap_servers=("127.0.0.1:9091", "127.0.0.1:9092"),
    controller="running",
    brokers=(broker(1), broker(2)),
    partitions=(partition(),),
    faults=(),
)


def with_log_dirs(snapshot: Snapshot, *log_dirs: LogDirInfo) -> Snapshot:
    """Give broker 1 other log dirs."""
    first, *others = snapshot.brokers
    return replace(snapshot, brokers=(replace(first, log_dirs=log_dirs), *others))
