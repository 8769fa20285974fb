"""Watches a log dir come back to its broker: opened, loaded, its replicas in the Isr again.

It asks for nothing to come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.errors import ExitCode, LabError
from protocol.admin.cluster import PartitionView
from protocol.ids import TopicPartition, listed

PATIENCE_MS: Final = 30_000
NAMED_MAX: Final = 5
"""So many replicas that are not back are told about one by one."""
_THROTTLED_PATIENCE_MS_MAX: Final = 600_000
_LARGEST_TRANSFER_BYTES: Final = 2 * 1024 * 1024
_POLL_S: Final = 0.05
_STATES: Final = ("waiting", "loading", "registering", "done")


class LeftReplica(NamedTuple):
    """A replica that is not in the Isr yet."""

    name: str
    why: str
    is_alone: bool
    """Nobody else has what it lost: no waiting brings it back."""


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
    """Those that are not there yet included."""
    throttle_bytes_per_second: int | None = None
    """How fast its replicas are copied, all together; None: no limit, or none any more."""
    left: tuple[LeftReplica, ...] = ()
    """Those that are not in sync."""
    failure: str = ""
    """Why the log dir is offline."""
    fault: str = ""
    """The mode of a fault that was laid on it and is in force."""
    unread_logs_count: int = 0
    """While loading: logs that are still to be looked through."""

    @property
    def is_done(self) -> bool:
        """Whether every replica of the log dir is in the Isr again."""
        is_whole = self.in_sync_count == self.replica_count and not self.failure
        return self.state == "done" and is_whole

    def standing(self) -> tuple[int, ...]:
        """Return numbers of which some are larger than before whenever it gets on."""
        return (
            _STATES.index(self.state),
            self.in_sync_count,
            -self.awaited_count,
            self.copied_bytes - self.total_bytes,
            -self.unread_logs_count,
        )


def watch_return(
    admin: ClusterAdmin,
    client: ControlClient,
    path: str,
    *,
    only: TopicPartition | None = None,
    accepts_loss: bool = False,
    patience_ms: int = PATIENCE_MS,
) -> Iterator[ReturnProgress]:
    """Yield how far ``path`` is until all its replicas are in sync, or the one of ``only``.

    It goes on for as long as it gets better, however slowly: ``patience_ms`` is how long nothing
    may, besides what a throttle takes for its largest transfer. With ``accepts_loss`` also what
    nobody else has is waited for: it begins empty.

    Raises:
        LabError: FAILED when it was refused, failed again, or cannot be waited for; TIMED_OUT.
        OSError: the cluster does not answer.
    """
    best: tuple[int, ...] = ()
    patience_s, deadline = 0.0, time.monotonic()
    while True:
        progress = _look(admin, client, path, only)
        yield progress
        if progress.is_done:
            return
        _refuse_hopeless(client.broker_id, path, progress, accepts_loss=accepts_loss)
        standing = progress.standing()
        if not best or any(now > once for now, once in zip(standing, best, strict=True)):
            best = tuple(map(max, standing, best or standing))
            rate = progress.throttle_bytes_per_second
            patience_s = throttled_patience_ms(patience_ms, rate) / 1000
            deadline = time.monotonic() + patience_s
        elif time.monotonic() > deadline:
            raise LabError(ExitCode.TIMED_OUT, _standstill(path, progress, patience_s))
        time.sleep(_POLL_S)


def throttled_patience_ms(patience_ms: int, throttle_bytes_per_second: int | None) -> int:
    """Return how long nothing may get better where a throttle holds things up."""
    if throttle_bytes_per_second is None:
        return patience_ms
    transfer_ms = _LARGEST_TRANSFER_BYTES * 1000 // throttle_bytes_per_second
    return patience_ms + min(transfer_ms, _THROTTLED_PATIENCE_MS_MAX)


def _refuse_hopeless(
    broker_id: int, path: str, progress: ReturnProgress, *, accepts_loss: bool
) -> None:
    """Raise when nothing gets better by waiting.

    Raises:
        LabError: FAILED, with what to do.
    """
    if progress.state != "done":
        return
    if progress.failure:
        fault = progress.fault
        mend = f"take its fault {fault} off (`jbodlab log-dirs heal`)" if fault else "repair it"
        raise LabError(
            ExitCode.FAILED,
            f"broker {broker_id}: it failed again: {progress.failure}; {mend}, then `jbodlab "
            f"log-dirs restart {path}`, or replace it once more",
        )
    if progress.left and not accepts_loss and all(each.is_alone for each in progress.left):
        raise LabError(
            ExitCode.FAILED,
            f"broker {broker_id}: {path} works, but nobody else has what {len(progress.left)} of "
            f"its replicas lost, so they stay offline: {_named(progress.left)}; put what was set "
            f"aside ({path}.replaced-..., or {path}/__replaced-0.... of a mount point) back in its "
            f"place and `jbodlab log-dirs restart {path}`, or give their records up with "
            "`jbodlab log-dirs restart-partition --accept-loss`",
        )


def _standstill(path: str, progress: ReturnProgress, patience_s: float) -> str:
    """Say what is still wrong."""
    parts = [f"{path}: nothing got better for {patience_s:.0f} s"]
    if progress.state != "done":
        parts.append(f"it is still {progress.state}")
    if progress.left:
        parts.append(
            f"{progress.in_sync_count} of {progress.replica_count} replicas are in sync, "
            f"not {_named(progress.left)}"
        )
    if progress.fault:
        parts.append(f"its fault {progress.fault} is in force (`jbodlab log-dirs heal {path}`)")
    rate = progress.throttle_bytes_per_second
    if rate is not None:
        parts.append(f"at most {rate:,} B/s are copied")
    parts.append("the broker goes on without this command: see `jbodlab topics describe`")
    return "; ".join(parts)


def _named(left: Sequence[LeftReplica]) -> str:
    return listed([f"{each.name} ({each.why})" for each in left], NAMED_MAX)


def _look(
    admin: ClusterAdmin, client: ControlClient, path: str, only: TopicPartition | None
) -> ReturnProgress:
    (shown,) = [one for one in client.log_dirs() if one["path"] == path]
    last: dict[str, Any] = shown["return"] or {}
    if last.get("state") == "refused":
        raise LabError(ExitCode.FAILED, f"broker {client.broker_id}: {last['detail']}")
    sizes = {
        _partition(replica): replica["size_bytes"]
        for replica in shown["replicas"]
        if not replica["is_future"] and only in (None, _partition(replica))
    }
    awaited = [tp for tp in map(_partition, last.get("awaited", [])) if only in (None, tp)]
    wanted = [*sizes, *(tp for tp in awaited if tp not in sizes)]
    views = _views(admin, wanted)
    leaders_bytes = _leaders_bytes(admin, views)
    left = tuple(
        _left(client.broker_id, tp, views.get(tp), (sizes.get(tp), leaders_bytes.get(tp, 0)))
        for tp in wanted
        if tp not in sizes or tp not in views or client.broker_id not in views[tp].isr
    )
    state = last.get("state", "done")
    copied_bytes = sum(sizes.values())
    return ReturnProgress(
        state=state,
        found_count=last.get("found", 0),
        lost_count=last.get("lost", 0),
        awaited_count=len(awaited),
        copied_bytes=copied_bytes,
        total_bytes=max(copied_bytes, sum(leaders_bytes.values())),
        in_sync_count=len(wanted) - len(left),
        replica_count=len(wanted),
        throttle_bytes_per_second=last.get("throttle_bytes_per_second"),
        left=left,
        failure="" if shown["online"] else shown["reason"],
        fault="" if shown["fault"] is None else shown["fault"]["mode"],
        unread_logs_count=_unread_logs_count(client, path) if state == "loading" else 0,
    )


def _partition(told: Mapping[str, Any]) -> TopicPartition:
    return TopicPartition(told["topic"], told["partition"])


def _left(
    broker_id: int, tp: TopicPartition, view: PartitionView | None, sizes: tuple[int | None, int]
) -> LeftReplica:
    """Say why a replica is not in sync.

    Args:
        broker_id: whose replica.
        tp: the partition.
        view: what the metadata tells of it; None: nothing.
        sizes: of the replica, None when it was not made anew yet; and of its leader's log.
    """
    own_bytes, leader_bytes = sizes
    if view is None:
        return LeftReplica(str(tp), "no broker knows it", is_alone=False)
    others = [member for member in view.isr if member != broker_id]
    if own_bytes is None and not others:
        return LeftReplica(str(tp), "no other broker has it in sync", is_alone=True)
    if view.leader < 0:
        isr = ", ".join(map(str, view.isr))
        return LeftReplica(str(tp), f"it has no leader, Isr {isr}", is_alone=False)
    copied = f"{own_bytes or 0:,} of {leader_bytes:,} bytes"
    return LeftReplica(str(tp), f"{copied} copied from broker {view.leader}", is_alone=False)


def _views(
    admin: ClusterAdmin, wanted: Sequence[TopicPartition]
) -> dict[TopicPartition, PartitionView]:
    topics = sorted({tp.topic for tp in wanted})
    views = admin.any_view(topics).by_partition
    return {tp: views[tp] for tp in wanted if tp in views}


def _leaders_bytes(
    admin: ClusterAdmin, views: Mapping[TopicPartition, PartitionView]
) -> dict[TopicPartition, int]:
    """Return how much the leaders of these replicas have, as far as they answer."""
    sizes: dict[TopicPartition, int] = {}
    for broker_id in sorted({view.leader for view in views.values() if view.leader >= 0}):
        try:
            log_dirs = admin.log_dirs(broker_id)
        except OSError:
            continue  # It has just died: another one leads in a moment.
        for replica in (replica for log_dir in log_dirs for replica in log_dir.replicas):
            tp = replica.tp
            if not replica.is_future and tp in views and views[tp].leader == broker_id:
                sizes[tp] = replica.size_bytes
    return sizes


def _unread_logs_count(client: ControlClient, path: str) -> int:
    loading = client.status()["loading"].get(path, {})
    return loading.get("logs", 0) + loading.get("segments", 0)
