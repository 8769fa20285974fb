from collections.abc import Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics import columns as c
from analytics.answers.reassignment_facts import reassignment_facts
from analytics.answers.reassignments import reassignments
from analytics.facts.buckets import with_event_time
from analytics.facts.latencies import latency_facts
from protocol.metrics.rows import MetricRow, ReassignmentState
from tests.analytics.answers.test_reassignments import produced, sized, told
from tests.analytics.frames import frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)

UNDER_WAY, COMPLETED, _, REPLACED = ReassignmentState
BUCKET = "10 seconds"


def found(
    spark: SparkSession,
    rows: Sequence[MetricRow],
    replicas: Sequence[MetricRow] = (),
    latencies: Sequence[MetricRow] = (),
) -> DataFrame:
    of = frame_of(spark, "reassignment_progress", rows)
    sizes, took = frame_of(spark, "replica", replicas), frame_of(spark, "latency", latencies)
    facts = latency_facts(with_event_time(took), BUCKET)
    made = reassignment_facts(reassignments(of, sizes, took), of, sizes, facts, BUCKET)
    return made.orderBy(c.BUCKET, c.STARTED_AT_MS)


def test_a_rate_is_held_against_the_throttle_that_was_told_last_bucket_by_bucket(
    spark: SparkSession,
) -> None:
    rows = [
        told(10_000, UNDER_WAY, throttle_bytes_per_s=400),
        told(15_000, UNDER_WAY, throttle_bytes_per_s=200),
        told(31_000, COMPLETED, throttle_bytes_per_s=50),
    ]
    replicas = [sized(14_000, 400), sized(19_000, 900), sized(29_000, 1900), sized(31_500, 2150)]
    made = found(spark, rows, replicas)
    columns = ("state", "copied_bytes", "bytes_per_s", "throttle_bytes_per_s", "throttle_share")
    assert picked(made, *columns) == [
        ("under_way", 900, 100.0, 200, 0.5),
        ("under_way", 1000, 100.0, 200, 0.5),
        ("completed", 250, 100.0, 50, 2.0),
    ]
    assert picked(made, "bucket_ms", "adding", "removing") == [(10_000, [3], [2])] * 3


def test_replicas_that_grow_at_once_add_up_and_what_was_there_before_does_not_count(
    spark: SparkSession,
) -> None:
    rows = [told(10_000, UNDER_WAY, adding=(3, 4)), told(14_000, COMPLETED, adding=(3, 4))]
    replicas = [
        *(sized(9500, 700), sized(12_000, 900), sized(14_000, 1100)),
        *(sized(12_000, 100, broker_id=4), sized(14_000, 300, broker_id=4)),
    ]
    assert picked(found(spark, rows, replicas), "copied_bytes", "bytes_per_s") == [(700, 175.0)]


def test_producers_are_those_of_the_leader_of_each_bucket_beside_those_before(
    spark: SparkSession,
) -> None:
    rows = [told(10_000, UNDER_WAY), told(22_000, COMPLETED, leader=2)]
    latencies = [produced(4000, 300, 1), produced(12_000, 900, 1), produced(22_000, 70, 2)]
    made = found(spark, rows, (), latencies)
    columns = ("leader", "produce_p99_before_us", "produce_p99_us", "copied_bytes")
    assert picked(made, *columns) == [(1, 300, 900, None), (2, 300, 70, None)]


def test_one_that_replaces_another_begins_in_the_bucket_where_that_one_ends(
    spark: SparkSession,
) -> None:
    rows = [
        told(10_000, UNDER_WAY),
        told(12_000, REPLACED),
        told(12_000, UNDER_WAY, 12_000, adding=(4,), leader=2),
        # Another controller goes on.
        told(25_000, UNDER_WAY, 25_000, adding=(4,), leader=2),
        told(26_000, COMPLETED, 25_000, adding=(4,), leader=2),
    ]
    assert picked(found(spark, rows), "started_at_ms", "state", "leader") == [
        (10_000, "replaced", 1),
        (12_000, "under_way", 2),
        (12_000, "completed", 2),
    ]


def test_without_rows_there_is_none(spark: SparkSession) -> None:
    assert found(spark, [], [sized(1000, 5)]).collect() == []
