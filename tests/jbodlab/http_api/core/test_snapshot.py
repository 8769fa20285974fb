"""Moves are what future replicas tell of."""

from __future__ import annotations

from jbodlab.http_api.core.snapshot import moves_of
from tests.jbodlab.http_api.snapshots import WHOLE, log_dir, replica, with_log_dirs


def test_a_future_replica_is_a_move_out_of_where_the_current_one_is() -> None:
    future = replica(30, is_future=True)
    (move,) = moves_of(with_log_dirs(WHOLE, log_dir(1, 1, replica()), log_dir(1, 2, future)))
    assert (move.broker, move.source, move.target) == (1, 1, 2)
    assert (move.copied_bytes, move.total_bytes) == (30, 100)


def test_where_a_move_comes_from_is_not_known_when_that_log_dir_failed() -> None:
    future = replica(30, is_future=True)
    (move,) = moves_of(with_log_dirs(WHOLE, log_dir(1, 1), log_dir(1, 2, future)))
    assert move.source is None


def test_nothing_moves_in_a_cluster_at_rest() -> None:
    assert moves_of(WHOLE) == ()
