"""Failovers as events: the steps that nodes wrote down of each, and the first records after it.

Nodes write at different times, so that the controller's steps may be read before the failure that
they follow from: they wait for it, at most so many looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from jbodlab.http_api.core.changes import Change
from jbodlab.http_api.core.snapshot import BrokerInfo, LogDirInfo, Snapshot
from protocol.metrics.rows import FailoverEventRow, FailoverStep

LOOKS_HELD_MAX: Final = 10
_WORDS: Final = {
    FailoverStep.LOG_DIR_FAILED: "the log dir went offline",
    FailoverStep.HEARTBEAT_SENT: "the broker told the controller",
    FailoverStep.CONTROLLER_NOTICED: "the controller noticed",
    FailoverStep.REPLICAS_OFFLINE: "the controller took replicas offline",
    FailoverStep.LEADERS_ELECTED: "new leaders are elected",
    FailoverStep.BROKERS_TOLD: "all brokers are told",
    FailoverStep.CLIENT_RECOVERED: "clients' records are taken again",
}
_Partition = tuple[str, int]


@dataclass(slots=True)
class _Failure:
    """A log dir that failed, as its broker wrote it down."""

    path: str
    at_ms: int


@dataclass(slots=True)
class _Lost:
    """The partitions that were led from a log dir when it failed, with the bytes of new leaders."""

    sizes: dict[_Partition, int | None] = field(default_factory=dict)


class Failovers:
    """Those of one cluster.

    Args:
        short: returns a log dir's path as it stands in the cluster file.
    """

    def __init__(self, short: Callable[[str], str] = str) -> None:
        self._short = short
        self._failures: dict[str, _Failure] = {}
        self._held: list[tuple[int, FailoverEventRow]] = []
        self._lost: dict[tuple[int, str], _Lost] = {}

    def steps(self, rows: Sequence[FailoverEventRow]) -> list[Change]:
        """Return what nodes wrote since the last look, in the order in which it happened."""
        for row in rows:
            if row.step is FailoverStep.LOG_DIR_FAILED:
                path = self._short(row.detail.partition(": ")[0])
                self._failures[row.failure_id] = _Failure(path, row.at_ms)
        waiting = [*self._held, *((0, row) for row in rows)]
        told = [row for looks, row in waiting if self._is_due(row, looks)]
        self._held = [(looks + 1, row) for looks, row in waiting if not self._is_due(row, looks)]
        return [self._step(row) for row in sorted(told, key=lambda row: row.at_ms)]

    def recoveries(self, before: Snapshot, after: Snapshot, now_ms: int) -> list[Change]:
        """Return which log dirs' partitions have taken the first record from their new leaders."""
        for broker, old, new in _log_dirs(before, after):
            if old.is_online and not new.is_online:
                led = _led_from(before, broker.id, old)
                self._lost[broker.id, new.path] = _Lost(dict.fromkeys(led))
            elif new.is_online:
                self._lost.pop((broker.id, new.path), None)
        found: list[Change] = []
        for (broker_id, path), lost in list(self._lost.items()):
            partition = _first_taken(lost, broker_id, after)
            if partition is not None:
                del self._lost[broker_id, path]
                found.append(self._recovery(broker_id, path, partition, now_ms))
        return found

    def _is_due(self, row: FailoverEventRow, looks: int) -> bool:
        return row.failure_id in self._failures or looks >= LOOKS_HELD_MAX

    def _step(self, row: FailoverEventRow) -> Change:
        failure = self._failures.get(row.failure_id)
        count = row.partition_count
        many = f" ({count} partition{'' if count == 1 else 's'})" if count >= 0 else ""
        return _change(
            int(row.failure_id.partition("-")[0]),
            row.step,
            f"{_WORDS[row.step]}{many}",
            at_ms=row.at_ms,
            failure=failure,
        )

    def _recovery(self, broker_id: int, path: str, partition: _Partition, now_ms: int) -> Change:
        known = [each for each in self._failures.values() if each.path == path]
        name = f"{partition[0]}-{partition[1]}"
        failure = known[-1] if known else _Failure(path, now_ms)
        words = f"{name} was the first seen to take records again"
        step = FailoverStep.CLIENT_RECOVERED
        return _change(broker_id, step, words, at_ms=now_ms, failure=failure)


def _change(
    broker_id: int, step: FailoverStep, words: str, *, at_ms: int, failure: _Failure | None
) -> Change:
    since_ms = None if failure is None else at_ms - failure.at_ms
    where = f"broker {broker_id}" if failure is None else failure.path
    return Change(
        kind="failover_step",
        text=f"failover of {where}: {words}" + (f", +{since_ms} ms" if since_ms else ""),
        broker=broker_id,
        new=step.value,
        happened_at_ms=at_ms,
        since_failure_ms=since_ms,
    )


def _log_dirs(
    before: Snapshot, after: Snapshot
) -> Iterator[tuple[BrokerInfo, LogDirInfo, LogDirInfo]]:
    known = {(each.id, one.path): one for each in before.brokers for one in each.log_dirs}
    for broker in after.brokers:
        for log_dir in broker.log_dirs:
            if (broker.id, log_dir.path) in known:
                yield broker, known[broker.id, log_dir.path], log_dir


def _led_from(snapshot: Snapshot, broker_id: int, log_dir: LogDirInfo) -> list[_Partition]:
    there = {(each.topic, each.partition) for each in log_dir.replicas if not each.is_future}
    return [
        (each.topic, each.partition)
        for each in snapshot.partitions
        if each.leader == broker_id and (each.topic, each.partition) in there
    ]


def _first_taken(lost: _Lost, broker_id: int, after: Snapshot) -> _Partition | None:
    """Return one that has grown since its new leader was first seen."""
    leaders = {(each.topic, each.partition): each.leader for each in after.partitions}
    sizes = {
        (broker.id, (each.topic, each.partition)): each.size_bytes
        for broker in after.brokers
        for log_dir in broker.log_dirs
        for each in log_dir.replicas
        if not each.is_future
    }
    for partition, known in lost.sizes.items():
        leader = leaders.get(partition, -1)
        size = sizes.get((leader, partition))
        if leader in {-1, broker_id} or size is None:
            continue
        if known is not None and size > known:
            return partition
        lost.sizes[partition] = size if known is None else known
    return None
