import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analytics.answers.plan_scores import PLAN, plan_scores
from analytics.transforms.log_dirs import log_dirs
from analytics.transforms.partitions import partitions
from tests.analytics.frames import LOG_DIR, REPLICA, changed, frame_of, made, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_a_plan_is_scored_by_what_log_dirs_hold_before_and_after(
    spark: SparkSession, tmp_path: Path
) -> None:
    dirs = [changed(LOG_DIR, log_dir=name) for name in ("/d1", "/d2")]
    replicas = [
        changed(REPLICA, partition=number, at_ms=at_ms, size_bytes=at_ms // 10)
        for number in (0, 1)
        for at_ms in (1000, 2000)
    ]
    move = {"topic": "orders", "partition": 1, "replicas": [1], "log_dirs": ["/d2"]}
    stay = {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["any"]}
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [move, stay]}, indent=2))
    rows = frame_of(spark, "replica", replicas)
    found = plan_scores(
        spark.read.schema(PLAN).option("multiLine", value=True).json(str(plan)),
        log_dirs(frame_of(spark, "log_dir", dirs), rows),
        rows,
        partitions(rows),
    )
    columns = ("measure", "largest_by_mean_now", "largest_by_mean_then", "gini_now", "gini_then")
    assert picked(found, *columns) == [
        ("bytes", 2.0, 1.0, 0.5, 0.0),
        ("write_bytes_per_s", 2.0, 1.0, 0.5, 0.0),
    ]
    assert picked(found, "moved_replica_count", "moved_bytes") == [(1, 200), (1, 200)]


def test_a_plan_that_moves_nothing_scores_the_same_before_and_after(spark: SparkSession) -> None:
    dirs = [changed(LOG_DIR, log_dir=name) for name in ("/d1", "/d2")]
    rows = frame_of(spark, "replica", [changed(REPLICA, size_bytes=100)])
    stay = {"topic": "orders", "partition": 0, "replicas": [1], "log_dirs": ["/d1"]}
    found = plan_scores(
        made(spark, [([stay],)], PLAN),
        log_dirs(frame_of(spark, "log_dir", dirs), rows),
        rows,
        partitions(rows),
    ).where("measure = 'bytes'")
    columns = ("largest_by_mean_now", "largest_by_mean_then", "gini_now", "gini_then")
    assert picked(found, *columns) == [(2.0, 2.0, 0.5, 0.5)]
    assert picked(found, "moved_replica_count", "moved_bytes") == [(0, 0)]
