"""What a run might see of its cluster, for conditions to be judged in."""

from __future__ import annotations

from dataclasses import replace

from protocol.ids import TopicPartition
from simulation.core.observation import (
    Observation,
    ObservedLogDir,
    ObservedNode,
    ObservedOffsets,
    ObservedPartition,
    ObservedReplica,
    ObservedWorkload,
)

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)
SOME = ObservedReplica(size_bytes=10, offset_lag=0)
BEHIND = ObservedReplica(size_bytes=4, offset_lag=6)


def partition(**changes: object) -> ObservedPartition:
    """Build a partition that is led, with a replica that is offline."""
    seen = ObservedPartition(
        leader=2, leader_epoch=4, replicas=(1, 2, 3), isr=(3, 2), offline_replicas=(1,)
    )
    return replace(seen, **changes)


SEEN = Observation(
    now_ms=0,
    metadata={2: {ORDERS_0: partition(), ORDERS_1: partition(leader=-1)}},
    log_dirs={
        (1, "d1"): ObservedLogDir(error="KAFKA_STORAGE_ERROR"),
        (1, "d2"): ObservedLogDir(error="NONE", is_cordoned=True, replicas={ORDERS_0: SOME}),
        (2, "d1"): ObservedLogDir(error="NONE", futures={ORDERS_0: BEHIND}),
    },
    reassigning=(ORDERS_1,),
    offsets={ORDERS_0: ObservedOffsets(earliest=3, latest=100)},
    workloads={"load": ObservedWorkload(acknowledged=7, read=2, errors={"KAFKA_STORAGE_ERROR": 2})},
    nodes={
        "broker-2": ObservedNode(state="running"),
        "broker-1": ObservedNode(state="stopped", exit_code=1),
    },
    metrics={("broker-2", "offline_log_dir_count"): 1.0},
    fault_hits={"dead": 3},
    files={(1, "d2"): {"orders-0": "", "orders-0/a.log": "", "meta.properties": "broker.id=1"}},
)
