"""Watches the move of one replica between the log dirs of its broker. Orders no move."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jbodlab.admin import ClusterAdmin, LogDirView
from jbodlab.errors import ExitCode, LabError

_POLL_S: Final = 0.02
DEADLINE_MS: Final = 120_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveProgress:
    """How far a move is."""

    copied_bytes: int
    total_bytes: int
    offset_lag: int
    is_done: bool


def watch_move(
    admin: ClusterAdmin, broker_id: int, topic: str, partition: int, target: str
) -> Iterator[MoveProgress]:
    """Yield the progress of a move until the replica is in ``target``.

    Raises:
        LabError: TIMED_OUT, or FAILED when the move was given up.
        OSError: the broker does not answer.
    """
    deadline = time.monotonic() + DEADLINE_MS / 1000
    while True:
        progress = move_progress(admin.log_dirs(broker_id), topic, partition, target)
        if progress is None:
            raise LabError(
                ExitCode.FAILED,
                f"the move of {topic}-{partition} to {target} was given up; see the log of "
                f"broker {broker_id}",
            )
        yield progress
        if progress.is_done:
            return
        if time.monotonic() > deadline:
            raise LabError(
                ExitCode.TIMED_OUT, f"{topic}-{partition} is not in {target} after {DEADLINE_MS} ms"
            )
        time.sleep(_POLL_S)


def move_progress(
    log_dirs: list[LogDirView], topic: str, partition: int, target: str
) -> MoveProgress | None:
    """Return how far a move is; None when there is neither a future nor a moved replica."""
    found = [
        (log_dir.path, replica)
        for log_dir in log_dirs
        for replica in log_dir.replicas
        if (replica.topic, replica.partition) == (topic, partition)
    ]
    total_bytes = sum(replica.size_bytes for _, replica in found if not replica.is_future)
    if any(path == target and not replica.is_future for path, replica in found):
        return MoveProgress(
            copied_bytes=total_bytes, total_bytes=total_bytes, offset_lag=0, is_done=True
        )
    for _, replica in found:
        if replica.is_future:
            return MoveProgress(
                copied_bytes=replica.size_bytes,
                total_bytes=total_bytes,
                offset_lag=replica.offset_lag,
                is_done=False,
            )
    return None
