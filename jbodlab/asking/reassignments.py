"""How far reassignments are: bytes, rate and time left, from what brokers tell of log dirs.

An added replica begins where its leader's log begins, so their sizes can be compared. Orders no
reassignment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from jbodlab.asking.admin import ClusterAdmin
from protocol.admin.cluster import ClusterView
from protocol.admin.log_dirs import LogDirView
from protocol.admin.reassignments import ReassignmentView


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentProgress:
    """One reassignment and how far it is."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    copied_bytes: int
    """Of all added replicas together."""
    total_bytes: int
    bytes_per_second: float | None = None
    """None: not measured."""

    @property
    def seconds_left(self) -> float | None:
        """How long it takes at this rate; None when nothing is copied or nothing was measured."""
        if not self.bytes_per_second:
            return None
        return (self.total_bytes - self.copied_bytes) / self.bytes_per_second


def measure(
    admin: ClusterAdmin,
    interval_ms: int,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[ReassignmentProgress]:
    """Look twice, ``interval_ms`` apart, and return what is under way with its rate.

    With an interval of 0 it looks once and measures no rate.

    Raises:
        KafkaError: the controller's answer.
        ConnectionError: no broker answers.
    """
    first = look(admin)
    if not first or not interval_ms:
        return first
    began = clock()
    sleep(interval_ms / 1000)
    second = look(admin)
    return with_rates(first, second, clock() - began)


def with_rates(
    first: Iterable[ReassignmentProgress], second: Iterable[ReassignmentProgress], seconds: float
) -> list[ReassignmentProgress]:
    """Return the second look with what was copied since the first; new ones have no rate."""
    before = {(each.topic, each.partition): each.copied_bytes for each in first}
    return [
        replace(each, bytes_per_second=max(0, each.copied_bytes - copied) / seconds)
        if (copied := before.get((each.topic, each.partition))) is not None
        else each
        for each in second
    ]


def look(admin: ClusterAdmin) -> list[ReassignmentProgress]:
    """Return how far each reassignment is now; brokers that do not answer count as empty.

    Raises:
        KafkaError: the controller's answer.
        ConnectionError: no broker answers.
    """
    under_way = admin.reassignments()
    if not under_way:
        return []
    cluster = admin.any_view(sorted({each.topic for each in under_way}))
    return progress_of(under_way, cluster, _all_log_dirs(admin, cluster.broker_ids))


def progress_of(
    under_way: Sequence[ReassignmentView], cluster: ClusterView, log_dirs: Iterable[LogDirView]
) -> list[ReassignmentProgress]:
    """Compare the sizes of added replicas with their leaders'."""
    sizes = {
        (log_dir.broker, replica.tp): replica.size_bytes
        for log_dir in log_dirs
        for replica in log_dir.replicas
        if not replica.is_future
    }
    leaders = {each.tp: each.leader for each in cluster.partitions}
    progress: list[ReassignmentProgress] = []
    for each in under_way:
        tp = each.tp
        whole_bytes = sizes.get((leaders.get(tp, -1), tp), 0)
        copied = [min(sizes.get((broker, tp), 0), whole_bytes) for broker in each.adding]
        progress.append(
            ReassignmentProgress(
                topic=each.topic,
                partition=each.partition,
                replicas=each.replicas,
                adding=each.adding,
                removing=each.removing,
                copied_bytes=sum(copied),
                total_bytes=whole_bytes * len(each.adding),
            )
        )
    return progress


def _all_log_dirs(admin: ClusterAdmin, broker_ids: Iterable[int]) -> list[LogDirView]:
    views: list[LogDirView] = []
    for broker_id in broker_ids:
        try:
            views += admin.log_dirs(broker_id)
        except OSError:
            continue
    return views
