"""Watches the move of one replica between the log dirs of its broker. Orders no move."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.errors import BrokerAwayError, ExitCode, LabError
from protocol.admin.log_dirs import LogDirView, ReplicaView

PATIENCE_MS: Final = 120_000
_POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProgress:
    """How far a move is."""

    copied_bytes: int
    total_bytes: int
    offset_lag: int
    is_done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The log dirs of a broker, as one move concerns them."""

    views: Sequence[LogDirView]
    current: tuple[str, ReplicaView] | None
    """Where the replica is, with its log dir."""
    future: tuple[str, ReplicaView] | None
    """What is copied, with its log dir."""

    def is_offline(self, path: str) -> bool:
        """Tell whether a log dir has failed."""
        return any(view.path == path and not view.is_online for view in self.views)


def watch_move(
    admin: ClusterAdmin,
    broker_id: int,
    topic: str,
    partition: int,
    target: str,
    *,
    patience_ms: int = PATIENCE_MS,
) -> Iterator[MoveProgress]:
    """Yield the progress of a move until the replica is in ``target``.

    ``patience_ms`` is how long nothing may be copied.

    Raises:
        LabError: TIMED_OUT; FAILED when it ended in another way, NOT_RUNNING when the broker
            does not answer any more; each says what happened and what to do.
    """
    name = f"{topic}-{partition}"
    source: str | None = None
    standing: MoveProgress | None = None
    deadline = 0.0
    while True:
        seen = _look(admin, broker_id, topic, partition)
        if seen.current is not None and seen.current[0] != target:
            source = seen.current[0]
        end = _other_end(seen, source, target)
        if end is None and seen.current is None:
            end = _gone(admin, broker_id, topic, partition)
        if end is not None:
            raise LabError(ExitCode.FAILED, f"the move of {name} to {target} has ended: {end}")
        progress = _progress(seen, target)
        yield progress
        if progress.is_done:
            return
        if progress != standing:
            standing, deadline = progress, time.monotonic() + patience_ms / 1000
        elif time.monotonic() > deadline:
            raise LabError(ExitCode.TIMED_OUT, _standstill(name, target, progress, patience_ms))
        time.sleep(_POLL_S)


def _look(admin: ClusterAdmin, broker_id: int, topic: str, partition: int) -> _Seen:
    try:
        views = admin.log_dirs(broker_id)
    except BrokerAwayError as error:
        raise LabError(
            ExitCode.NOT_RUNNING,
            f"{error} while {topic}-{partition} moves: what is copied stays, and the move goes on "
            f"once the broker is back (`jbodlab brokers start {broker_id}`); "
            "`jbodlab log-dirs describe` shows it",
        ) from error
    found = [
        (view.path, replica)
        for view in views
        for replica in view.replicas
        if (replica.topic, replica.partition) == (topic, partition)
    ]
    return _Seen(
        views=views,
        current=next((each for each in found if not each[1].is_future), None),
        future=next((each for each in found if each[1].is_future), None),
    )


def _other_end(seen: _Seen, source: str | None, target: str) -> str | None:
    """Say why the move cannot end in the target any more; None when it may.

    Args:
        seen: the log dirs as they are now.
        source: where the replica was, as far as it was seen.
        target: where it goes.
    """
    if seen.is_offline(target):
        where = f"the replica is still in {seen.current[0]}" if seen.current else "see both"
        return f"{target} is offline; {where}: `jbodlab log-dirs describe` tells why"
    if seen.current is None:
        return _failed_source(seen, source)
    if seen.current[0] != target and seen.future is None:
        return (
            f"the replica stays in {seen.current[0]}; another order took the move back, or the "
            "broker gave it up, which its log tells"
        )
    if seen.future is not None and seen.future[0] != target:
        return f"another order moves the replica to {seen.future[0]} instead"
    return None


def _failed_source(seen: _Seen, source: str | None) -> str | None:
    """Say that the log dir which the replica is copied from is offline; None when it is not.

    One that failed before it was first looked at is any that is offline.
    """
    offline = [view.path for view in seen.views if not view.is_online]
    origin = source or next(iter(offline), None)
    if origin not in offline:
        return None
    return (
        f"{origin}, which it is copied from, is offline (`jbodlab log-dirs describe` tells why), "
        f"and the replica with it; bring it back with `jbodlab log-dirs heal {origin}` and "
        f"`jbodlab log-dirs restart {origin}`, then move again"
    )


def _gone(admin: ClusterAdmin, broker_id: int, topic: str, partition: int) -> str | None:
    """Say why the broker has the replica nowhere; None when it should have it, and may again."""
    try:
        view = admin.any_view([topic]).partition(topic, partition)
    except KeyError:
        return f"the topic {topic} was deleted"
    if view.replicas and broker_id not in view.replicas:
        brokers = ", ".join(map(str, view.replicas))
        return f"broker {broker_id} has no replica of it any more: they are on {brokers}"
    return None


def _progress(seen: _Seen, target: str) -> MoveProgress:
    total_bytes = 0 if seen.current is None else seen.current[1].size_bytes
    is_done = seen.current is not None and seen.current[0] == target
    copied = None if is_done or seen.future is None else seen.future[1]
    return MoveProgress(
        copied_bytes=total_bytes if is_done else 0 if copied is None else copied.size_bytes,
        total_bytes=total_bytes,
        offset_lag=0 if copied is None else copied.offset_lag,
        is_done=is_done,
    )


def _standstill(name: str, target: str, progress: MoveProgress, patience_ms: int) -> str:
    return (
        f"{name} is not in {target}: nothing was copied for {patience_ms / 1000:.0f} s, "
        f"{progress.copied_bytes:,} of {progress.total_bytes:,} bytes are; the broker goes on "
        "without this command: a log dir that is slow (`jbodlab log-dirs describe`) or "
        "replica.alter.log.dirs.io.max.bytes.per.second (`jbodlab kafka-configs`) may hold it up"
    )
