from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics.answers.reassignments import reassignments
from protocol.metrics.rows import (
    LatencyScope,
    MetricRow,
    Operation,
    ReassignmentState,
)
from tests.analytics.frames import LATENCY, REASSIGNMENT, REPLICA, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)

UNDER_WAY, COMPLETED, CANCELLED, REPLACED = ReassignmentState


def told(at_ms: int, state: ReassignmentState, began_ms: int = 10_000, **more: object) -> MetricRow:
    return changed(REASSIGNMENT, at_ms=at_ms, started_at_ms=began_ms, state=state, **more)  # pyright: ignore[reportArgumentType]


def sized(at_ms: int, size: int, broker_id: int = 3, *, is_future: bool = False) -> MetricRow:
    return changed(REPLICA, at_ms=at_ms, broker_id=broker_id, size_bytes=size, is_future=is_future)


def produced(at_ms: int, us: int, broker_id: int) -> MetricRow:
    return changed(
        LATENCY,
        at_ms=at_ms,
        broker_id=broker_id,
        scope=LatencyScope.API,
        name="Produce",
        operation=Operation.REQUEST,
        sample_count=1,
        max_us=us,
        bucket_us=(us,),
        bucket_counts=(1,),
    )


def found(
    spark: SparkSession,
    rows: Sequence[MetricRow],
    replicas: Sequence[MetricRow] = (),
    latencies: Sequence[MetricRow] = (),
) -> DataFrame:
    return reassignments(
        frame_of(spark, "reassignment_progress", rows),
        frame_of(spark, "replica", replicas),
        frame_of(spark, "latency", latencies),
    )


def test_a_reassignment_has_its_end_its_rate_and_its_share_of_the_throttle(
    spark: SparkSession,
) -> None:
    throttled = {"throttle_bytes_per_s": 1000}
    rows = [
        told(10_000, UNDER_WAY),
        told(12_000, UNDER_WAY, leader=2),
        told(14_000, COMPLETED, leader=2, **throttled),
    ]
    replicas = [sized(11_000, 500), sized(13_000, 1500), sized(14_500, 2000), sized(15_500, 9000)]
    [row] = found(spark, rows, [*replicas, sized(12_000, 7777, is_future=True)]).collect()
    assert row.asDict() == {
        "cluster_id": "jbod-lab",
        "run_id": "run-1",
        "seed": -1,
        "topic": "orders",
        "partition": 0,
        "started_at_ms": 10_000,
        "state": "completed",
        "is_finished": True,
        "last_seen_ms": 14_000,
        "duration_ms": 4000,
        "adding": [3],
        "removing": [2],
        "leader": 1,
        "copied_bytes": 2000,
        "bytes_per_s": 500.0,
        "throttle_bytes_per_s": 1000,
        "throttle_share": 0.5,
        "produce_p99_before_us": None,
        "produce_p99_us": None,
    }


def test_a_replaced_one_ends_where_the_next_begins_and_what_was_copied_counts_once(
    spark: SparkSession,
) -> None:
    rows = [
        told(10_000, UNDER_WAY),
        told(12_000, REPLACED),
        told(12_000, UNDER_WAY, 12_000, adding=(3, 4)),
        told(13_000, CANCELLED, 12_000, adding=(3, 4)),
    ]
    replicas = [sized(11_500, 800), sized(12_500, 1000), sized(12_600, 30, broker_id=4)]
    made = found(spark, rows, replicas)
    assert picked(made, "started_at_ms", "state", "duration_ms", "copied_bytes") == [
        (10_000, "replaced", 2000, 1000),
        (12_000, "cancelled", 1000, 230),
    ]


def test_one_that_a_controller_found_goes_on_and_one_that_nobody_ended_is_not_finished(
    spark: SparkSession,
) -> None:
    rows = [
        told(10_000, UNDER_WAY),
        told(20_000, UNDER_WAY, 20_000),
        told(21_000, COMPLETED, 20_000),
        told(30_000, UNDER_WAY, 30_000),
        told(40_000, UNDER_WAY, 40_000, adding=(4,)),
        told(41_000, UNDER_WAY, 40_000, adding=(4,)),
    ]
    made = found(spark, rows)
    assert picked(made, "started_at_ms", "last_seen_ms", "state", "is_finished") == [
        (10_000, 21_000, "completed", True),
        (30_000, 30_000, "under_way", False),
        (40_000, 41_000, "under_way", False),
    ]


def test_one_that_begins_and_ends_at_once_has_no_rate_and_adds_nothing(
    spark: SparkSession,
) -> None:
    rows = [told(10_000, UNDER_WAY, adding=()), told(10_000, COMPLETED, adding=())]
    made = found(spark, rows)
    assert picked(made, "state", "duration_ms", "copied_bytes", "bytes_per_s") == [
        ("completed", 0, 0, None)
    ]


def test_what_nobody_sampled_is_not_known(spark: SparkSession) -> None:
    rows = [told(10_000, UNDER_WAY), told(11_000, COMPLETED)]
    replicas = [sized(10_500, 5, broker_id=1), sized(14_000, 9)]
    assert picked(found(spark, rows, replicas), "copied_bytes", "bytes_per_s") == [(None, None)]


def test_producers_are_those_of_the_broker_that_led_at_first(spark: SparkSession) -> None:
    rows = [told(10_000, UNDER_WAY), told(14_000, COMPLETED, leader=3)]
    latencies = [
        produced(7000, 300, 1),
        produced(12_000, 900, 1),
        produced(12_000, 77_000, 3),
        produced(19_000, 5, 1),
    ]
    made = found(spark, rows, (), latencies)
    assert picked(made, "produce_p99_before_us", "produce_p99_us") == [(300, 900)]


def test_without_rows_there_is_none(spark: SparkSession) -> None:
    assert found(spark, [], [REPLICA]).collect() == []
