import pytest
from pyspark.sql import SparkSession

from analytics.transforms.moves import moves
from protocol.metrics.rows import MoveState
from tests.analytics.frames import MOVE, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_a_move_is_shown_as_it_ended_with_its_rate(spark: SparkSession) -> None:
    rows = [
        MOVE,
        changed(MOVE, at_ms=3000, copied_bytes=500, state=MoveState.DONE),
        changed(MOVE, at_ms=2000, copied_bytes=300),
    ]
    found = moves(frame_of(spark, "move_progress", rows))
    assert picked(found, "state", "copied_bytes", "duration_ms", "bytes_per_s") == [
        ("done", 500, 2000, 250.0)
    ]


def test_a_replica_moved_twice_has_two_moves(spark: SparkSession) -> None:
    rows = [
        changed(MOVE, started_at_ms=5000, at_ms=6000, state=MoveState.CANCELLED),
        changed(MOVE, at_ms=2000, copied_bytes=500, state=MoveState.DONE),
    ]
    found = moves(frame_of(spark, "move_progress", rows))
    assert picked(found, "started_at_ms", "state") == [(1000, "done"), (5000, "cancelled")]


def test_a_move_that_has_just_begun_has_no_rate(spark: SparkSession) -> None:
    found = moves(frame_of(spark, "move_progress", [MOVE]))
    assert picked(found, "duration_ms", "bytes_per_s") == [(0, None)]


def test_of_two_rows_in_one_millisecond_the_end_is_later(spark: SparkSession) -> None:
    rows = [
        changed(MOVE, at_ms=2000, copied_bytes=500, state=MoveState.SWAPPING),
        changed(MOVE, at_ms=2000, copied_bytes=500, state=MoveState.DONE),
    ]
    for order in (rows, rows[::-1]):
        found = moves(frame_of(spark, "move_progress", order))
        assert picked(found, "state", "is_finished") == [("done", True)]


def test_a_move_is_held_against_its_throttle(spark: SparkSession) -> None:
    last = changed(MOVE, at_ms=3000, copied_bytes=500, throttle_bytes_per_s=1000)
    found = moves(frame_of(spark, "move_progress", [MOVE, last]))
    columns = ("bytes_per_s", "throttle_bytes_per_s", "throttle_share", "is_finished")
    assert picked(found, *columns) == [(250.0, 1000, 0.25, False)]
