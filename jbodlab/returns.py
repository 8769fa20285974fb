"""Watches a log dir come back to its broker: opened, loaded, its replicas in the Isr again.

It asks for nothing to come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from jbodlab.admin import ClusterAdmin
from jbodlab.control import ControlClient
from jbodlab.errors import ExitCode, LabError

DEADLINE_MS: Final = 600_000
_POLL_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnProgress:
    """How far a log dir is."""

    state: str
    """waiting, loading, registering or done."""
    found_count: int
    """Replicas whose logs were there."""
    lost_count: int
    """Replicas to be made anew."""
    awaited_count: int
    """Those of them that are not there yet; a topic may be deleted meanwhile."""
    copied_bytes: int
    """In this log dir now."""
    total_bytes: int
    """What the leaders of its replicas have."""
    in_sync_count: int
    replica_count: int
    throttle_bytes_per_second: int | None = None
    """How fast its replicas are copied, all together; None: no limit, or none any more."""

    @property
    def is_done(self) -> bool:
        """Whether every replica of the log dir is in the Isr again."""
        is_made = self.awaited_count == 0
        return self.state == "done" and is_made and self.in_sync_count == self.replica_count


def watch_return(
    admin: ClusterAdmin, client: ControlClient, path: str, *, deadline_ms: int = DEADLINE_MS
) -> Iterator[ReturnProgress]:
    """Yield how far ``path`` is until all its replicas are in sync.

    Raises:
        LabError: FAILED when it was refused, TIMED_OUT.
        OSError: the cluster does not answer.
    """
    deadline = time.monotonic() + deadline_ms / 1000
    while True:
        progress = _look(admin, client, path)
        yield progress
        if progress.is_done:
            return
        if time.monotonic() > deadline:
            raise LabError(
                ExitCode.TIMED_OUT,
                f"{path}: {progress.in_sync_count} of {progress.replica_count} replicas are in "
                f"sync after {deadline_ms} ms; it goes on: see `jbodlab topics describe`",
            )
        time.sleep(_POLL_S)


def _look(admin: ClusterAdmin, client: ControlClient, path: str) -> ReturnProgress:
    (shown,) = [one for one in client.log_dirs() if one["path"] == path]
    last: dict[str, Any] = shown["return"] or {}
    if last.get("state") == "refused":
        raise LabError(ExitCode.FAILED, f"broker {client.broker_id}: {last['detail']}")
    sizes = {(r["topic"], r["partition"]): r["size_bytes"] for r in shown["replicas"]}
    leaders = {
        (p.topic, p.partition): (p.leader, client.broker_id in p.isr)
        for p in admin.any_view(sorted({topic for topic, _ in sizes})).partitions
    }
    return ReturnProgress(
        state=last.get("state", "done"),
        found_count=last.get("found", 0),
        lost_count=last.get("lost", 0),
        awaited_count=last.get("awaited", 0),
        copied_bytes=sum(sizes.values()),
        total_bytes=_leaders_bytes(admin, sizes, leaders),
        in_sync_count=sum(leaders.get(key, (-1, False))[1] for key in sizes),
        replica_count=len(sizes),
        throttle_bytes_per_second=last.get("throttle_bytes_per_second"),
    )


def _leaders_bytes(
    admin: ClusterAdmin,
    sizes: dict[tuple[str, int], int],
    leaders: dict[tuple[str, int], tuple[int, bool]],
) -> int:
    """Return how much the leaders of these replicas have; no less than what is there."""
    wanted = {key: leaders[key][0] for key in sizes if key in leaders}
    total_bytes = 0
    for broker_id in sorted({leader for leader in wanted.values() if leader >= 0}):
        total_bytes += sum(
            replica.size_bytes
            for log_dir in admin.log_dirs(broker_id)
            for replica in log_dir.replicas
            if not replica.is_future and wanted.get((replica.topic, replica.partition)) == broker_id
        )
    return max(total_bytes, sum(sizes.values()))
