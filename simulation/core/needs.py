"""What must be asked of a cluster before a condition can be judged, or a step can begin."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, cast

from simulation.core import conditions
from simulation.core.references import partition_of_log_dir, role_and_partition


class Need(Enum):
    """One kind of question."""

    METADATA = "metadata"
    LOG_DIRS = "log dirs"
    REASSIGNMENTS = "reassignments"
    OFFSETS = "offsets"
    METRICS = "metrics"
    FAULT_HITS = "fault hits"
    FILES = "files"


_BY_CLASS: Final[dict[type, tuple[Need, ...]]] = {
    conditions.Led: (Need.METADATA,),
    conditions.Leader: (Need.METADATA,),
    conditions.LeaderEpoch: (Need.METADATA,),
    conditions.Isr: (Need.METADATA,),
    conditions.FullIsr: (Need.METADATA,),
    conditions.InIsr: (Need.METADATA,),
    conditions.OfflineReplicas: (Need.METADATA,),
    conditions.Replicas: (Need.METADATA,),
    conditions.TopicExists: (Need.METADATA,),
    conditions.Reassigning: (Need.REASSIGNMENTS,),
    conditions.LogDirIs: (Need.LOG_DIRS,),
    conditions.ReplicaIn: (Need.METADATA, Need.LOG_DIRS),
    conditions.FutureReplica: (Need.METADATA, Need.LOG_DIRS),
    conditions.Offsets: (Need.METADATA, Need.OFFSETS),
    conditions.Metric: (Need.METRICS,),
    conditions.FaultHits: (Need.FAULT_HITS,),
    conditions.FileIn: (Need.FILES,),
}


# Any: any value of a plan: an action, a condition, a fault's rule, a name.
def needs_of(value: Any) -> tuple[Need, ...]:
    """Return what must be asked before this action or condition means anything."""
    found = list(_needs(value))
    return tuple(need for need in Need if need in found)


def _needs(value: Any) -> Iterator[Need]:
    if isinstance(value, str):
        if role_and_partition(value) is not None:
            yield Need.METADATA
        if partition_of_log_dir(value) is not None:
            yield Need.LOG_DIRS
    elif isinstance(value, tuple):
        for each in cast("tuple[Any, ...]", value):
            yield from _needs(each)
    elif dataclasses.is_dataclass(value):
        yield from _BY_CLASS.get(cast("type", type(value)), ())
        for field in dataclasses.fields(value):
            yield from _needs(getattr(value, field.name))
