"""The rate limits of replicas that are made anew on a replaced log dir, one limit per log dir.

Each replica leaves its limit when it is in sync, or is no follower here any more; a limit without
replicas is gone. Bytes under them count against no other quota. Kafka has no such limit: there a
disk cannot be replaced while the broker runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from broker.core.replication_quota import ReplicationQuota
from protocol.ids import TopicPartition


class RebuildView(NamedTuple):
    """What is left of a limit."""

    limit_bytes_per_second: int
    replica_count: int
    """Not in sync yet."""


class _Rebuild(NamedTuple):
    quota: ReplicationQuota
    left: dict[TopicPartition, None]


class RebuildThrottle:
    """All limits of a broker."""

    __slots__ = ("_by_path", "_by_replica")

    def __init__(self) -> None:
        self._by_path: dict[str, _Rebuild] = {}
        self._by_replica: dict[TopicPartition, str] = {}

    def __bool__(self) -> bool:
        return bool(self._by_path)

    def begin(self, path: str, tps: Iterable[TopicPartition], limit_bytes_per_second: int) -> None:
        """Limit ``tps``, which are to be made anew on ``path``; an earlier limit there ends."""
        self.end(path)
        left = dict.fromkeys(tps)
        if left:
            self._by_path[path] = _Rebuild(ReplicationQuota(limit_bytes_per_second), left)
            self._by_replica.update(dict.fromkeys(left, path))

    def quota_of(self, tp: TopicPartition) -> ReplicationQuota | None:
        """Return what the fetched bytes of ``tp`` count against; None: it has no such limit."""
        path = self._by_replica.get(tp)
        return None if path is None else self._by_path[path].quota

    def done(self, tp: TopicPartition) -> None:
        """Limit ``tp`` no more: it is in sync, leads, or is deleted; unknown ones are no error."""
        path = self._by_replica.pop(tp, None)
        if path is None:
            return
        left = self._by_path[path].left
        del left[tp]
        if not left:
            del self._by_path[path]

    def end(self, path: str) -> None:
        """Limit nothing on ``path`` any more: it failed again, or is replaced once more."""
        rebuild = self._by_path.pop(path, None)
        for tp in () if rebuild is None else rebuild.left:
            del self._by_replica[tp]

    def view(self, path: str) -> RebuildView | None:
        """Return what is left of the limit of ``path``."""
        rebuild = self._by_path.get(path)
        if rebuild is None:
            return None
        return RebuildView(rebuild.quota.limit_bytes_per_second, len(rebuild.left))
