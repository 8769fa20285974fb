import pytest
from pyspark.sql import SparkSession

from analytics.answers.throttle_costs import throttle_costs
from analytics.transforms.moves import moves
from protocol.metrics.rows import LatencyScope, MetricRow, MoveState, Operation
from tests.analytics.frames import LATENCY, MOVE, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def produced(at_ms: int, us: int, broker_id: int = 1) -> MetricRow:
    return changed(
        LATENCY,
        at_ms=at_ms,
        broker_id=broker_id,
        scope=LatencyScope.API,
        name="Produce",
        operation=Operation.REQUEST,
        sample_count=1,
        sum_us=us,
        max_us=us,
        bucket_us=(us,),
        bucket_counts=(1,),
    )


def test_a_throttled_move_waited_for_what_it_took_beyond_the_free_ones(
    spark: SparkSession,
) -> None:
    done = {"copied_bytes": 1000, "state": MoveState.DONE}
    rows = [
        changed(MOVE, started_at_ms=10_000, at_ms=11_000, **done),
        changed(MOVE, started_at_ms=20_000, at_ms=25_000, throttle_bytes_per_s=200, **done),
    ]
    latencies = [
        produced(18_000, 300),
        produced(22_000, 9000),
        produced(26_000, 99_000),
        produced(22_000, 77_000, broker_id=2),
    ]
    found = throttle_costs(
        moves(frame_of(spark, "move_progress", rows)), frame_of(spark, "latency", latencies)
    )
    columns = ("unthrottled_bytes_per_s", "waited_ms", "produce_p99_before_us", "produce_p99_us")
    assert picked(found, *columns) == [
        (1000.0, None, None, None),
        (1000.0, 4000, 300, 9000),
    ]


def test_without_a_free_move_nobody_knows_what_the_throttle_cost(spark: SparkSession) -> None:
    rows = [changed(MOVE, at_ms=3000, copied_bytes=9, throttle_bytes_per_s=5)]
    found = throttle_costs(
        moves(frame_of(spark, "move_progress", rows)), frame_of(spark, "latency", [])
    )
    assert picked(found, "throttle_bytes_per_s", "waited_ms") == [(5, None)]


def test_a_free_move_that_has_copied_nothing_yet_tells_no_cost(spark: SparkSession) -> None:
    rows = [
        changed(MOVE, started_at_ms=1000, at_ms=2000, copied_bytes=0),
        changed(MOVE, started_at_ms=5000, at_ms=7000, copied_bytes=9, throttle_bytes_per_s=5),
    ]
    found = throttle_costs(
        moves(frame_of(spark, "move_progress", rows)), frame_of(spark, "latency", [])
    )
    assert picked(found, "unthrottled_bytes_per_s", "waited_ms") == [(0.0, None), (0.0, None)]
