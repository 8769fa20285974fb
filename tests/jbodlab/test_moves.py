"""The progress of a move is read from DescribeLogDirs."""

from __future__ import annotations

from jbodlab.admin import LogDirView, ReplicaView
from jbodlab.moves import MoveProgress, move_progress


def log_dir(path: str, *replicas: ReplicaView) -> LogDirView:
    return LogDirView(
        broker=1, path=path, error_code=0, total_bytes=1, usable_bytes=1, replicas=replicas
    )


def replica(size_bytes: int, *, future: bool = False, partition: int = 0) -> ReplicaView:
    return ReplicaView(
        topic="t", partition=partition, size_bytes=size_bytes, offset_lag=5, is_future=future
    )


def test_a_future_log_tells_how_far_it_is() -> None:
    dirs = [log_dir("/d1", replica(100)), log_dir("/d2", replica(40, future=True))]
    assert move_progress(dirs, "t", 0, "/d2") == MoveProgress(
        copied_bytes=40, total_bytes=100, offset_lag=5, is_done=False
    )


def test_a_replica_in_the_target_is_done() -> None:
    progress = move_progress([log_dir("/d1"), log_dir("/d2", replica(100))], "t", 0, "/d2")
    assert progress is not None
    assert progress.is_done


def test_no_future_log_and_no_moved_replica_is_no_move() -> None:
    dirs = [log_dir("/d1", replica(100)), log_dir("/d2", replica(9, future=True, partition=1))]
    assert move_progress(dirs, "t", 0, "/d2") is None
