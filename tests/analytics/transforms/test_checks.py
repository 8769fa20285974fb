import pytest
from pyspark.sql import SparkSession

from analytics.answers.plan_scores import PLAN
from analytics.transforms.checks import (
    clock_skews,
    sample_gaps,
    set_aside,
    stale_log_dirs,
    unfinished_failovers,
    unknown,
    unknown_planned,
)
from tests.analytics.frames import LOG_DIR, changed, frame_of, made, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_lines_set_aside_are_counted_by_table_and_reason(spark: SparkSession) -> None:
    lines = [("b", "f", "1", "x"), ("a", "f", "2", "y"), ("b", "g", "3", "x"), ("b", "f", "4", "w")]
    frame = made(spark, lines, "table string, file string, line string, reason string")
    found = set_aside(frame).orderBy("table", "detail")
    assert picked(found, "table", "detail", "row_count") == [
        ("a", "y", 1),
        ("b", "w", 1),
        ("b", "x", 2),
    ]


def test_unknown_columns_are_counted(spark: SparkSession) -> None:
    frame = made(spark, [("a", "new", 3)], "table string, unknown_column string, row_count long")
    assert picked(unknown(frame), "table", "detail", "row_count") == [("a", "new", 3)]


def test_missing_samples_are_a_gap_and_a_restart_is_none(spark: SparkSession) -> None:
    times = (1000, 2000, 5000, 6000)
    rows = [changed(LOG_DIR, at_ms=t, log_dir=path) for t in times for path in ("/d1", "/d2")]
    rows.append(changed(LOG_DIR, at_ms=60_000, broker_epoch=6))
    found = sample_gaps(frame_of(spark, "log_dir", rows))
    assert picked(found, "detail", "row_count") == [("run-1 broker 1", 1)]


def test_what_is_stale_unfinished_or_skewed_is_named(spark: SparkSession) -> None:
    dirs = made(
        spark,
        [("r", 1, "stale"), ("r", 2, "online")],
        "run_id string, broker_id long, state string",
    )
    assert picked(stale_log_dirs(dirs), "detail", "row_count") == [("r broker 1", 1)]
    failovers = made(
        spark,
        [("r", "f1", False, "brokers_told", 0), ("r", "f2", True, None, 40)],
        "run_id string, failure_id string, is_finished boolean, waiting_for string, "
        "clock_skew_ms long",
    )
    assert picked(unfinished_failovers(failovers), "detail") == [("r f1 waits for brokers_told",)]
    assert picked(clock_skews(failovers), "detail") == [("r f2 40 ms",)]


def test_partitions_of_a_plan_that_no_run_knows_are_named_and_counted(spark: SparkSession) -> None:
    known = made(spark, [("b", 0), ("b", 1)], "topic string, partition int")
    planned = [(topic, number, [1], None) for topic in "ab" for number in range(12)]
    plan = made(spark, [(planned,)], PLAN)
    [(table, detail, count)] = picked(unknown_planned(plan, known), "table", "detail", "row_count")
    assert (table, count) == ("partitions", 22)
    assert detail == "a-0, a-1, a-2, a-3, a-4, a-5, a-6, a-7, a-8, a-9"
    fine = made(spark, [([("b", 1, [1], None)],)], PLAN)
    assert picked(unknown_planned(fine, known), "detail") == []
