import pytest
from pyspark.sql import SparkSession

from analytics.transforms.log_dirs import log_dirs, replicas_by_log_dir
from protocol.metrics.rows import RowOrigin
from tests.analytics.frames import LOG_DIR, REPLICA, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_a_log_dir_is_shown_at_its_last_sample(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=2000, used_bytes=50, queue_depth_count=1),
        changed(LOG_DIR, at_ms=1000, queue_depth_count=7),
        changed(LOG_DIR, log_dir="/d2", online=False, total_bytes=-1, usable_bytes=-1),
        changed(LOG_DIR, broker_id=2),
    ]
    found = log_dirs(frame_of(spark, "log_dir", rows), frame_of(spark, "replica", []))
    columns = ("broker_id", "log_dir", "state", "used_bytes", "fill", "queue_depth_max")
    assert picked(found, *columns) == [
        (1, "/d1", "online", 50, 0.5, 7),
        (1, "/d2", "offline", 25, None, 0),
        (2, "/d1", "online", 25, 0.25, 0),
    ]


def test_the_append_rate_survives_a_restart_of_the_broker(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=1000, append_bytes_total=100),
        changed(LOG_DIR, at_ms=3000, append_bytes_total=2100),
        changed(LOG_DIR, at_ms=9000, broker_epoch=6, append_bytes_total=0),
        changed(LOG_DIR, at_ms=11000, broker_epoch=6, append_bytes_total=6000),
        changed(LOG_DIR, log_dir="/d2"),
    ]
    found = log_dirs(frame_of(spark, "log_dir", rows), frame_of(spark, "replica", []))
    assert picked(found, "log_dir", "append_bytes_per_s") == [("/d1", 2000.0), ("/d2", None)]


def test_replicas_count_at_their_brokers_last_sample_only(spark: SparkSession) -> None:
    rows = [
        changed(REPLICA, at_ms=1000, partition=9, lag=1000),
        changed(REPLICA, at_ms=2000, partition=0),
        changed(REPLICA, at_ms=2000, partition=1, is_leader=False, lag=4),
        changed(REPLICA, at_ms=2000, partition=0, log_dir="/d2", is_future=True, lag=9),
        changed(REPLICA, at_ms=500, broker_id=2, partition=5),
    ]
    found = replicas_by_log_dir(frame_of(spark, "replica", rows)).orderBy("broker_id", "log_dir")
    assert picked(found, "broker_id", "log_dir", "leader_count", "lag_max") == [
        (1, "/d1", 1, 4),
        (1, "/d2", 0, 9),
        (2, "/d1", 1, 0),
    ]


def test_a_log_dir_without_replicas_leads_nothing(spark: SparkSession) -> None:
    found = log_dirs(frame_of(spark, "log_dir", [LOG_DIR]), frame_of(spark, "replica", [REPLICA]))
    alone = log_dirs(frame_of(spark, "log_dir", [LOG_DIR]), frame_of(spark, "replica", []))
    assert picked(found, "leader_count", "lag_max") == [(1, 0)]
    assert picked(alone, "leader_count", "lag_max") == [(0, 0)]


def test_a_broker_that_ended_before_the_run_is_stale_with_what_it_said_last(
    spark: SparkSession,
) -> None:
    dead = changed(LOG_DIR, at_ms=6000)
    rows = [
        dead,
        changed(LOG_DIR, broker_id=2, at_ms=9000),
        changed(LOG_DIR, broker_id=3, at_ms=9001),
    ]
    found = log_dirs(frame_of(spark, "log_dir", rows), frame_of(spark, "replica", []))
    assert picked(found, "broker_id", "state", "last_seen_ms", "used_bytes") == [
        (1, "stale", 6000, 25),
        (2, "online", 9000, 25),
        (3, "online", 9001, 25),
    ]


def test_a_partition_that_moved_is_led_once_by_who_has_the_highest_epoch(
    spark: SparkSession,
) -> None:
    rows = [
        changed(REPLICA, at_ms=1000, leader_epoch=3),
        changed(REPLICA, at_ms=2000, broker_id=2, leader_epoch=4),
        changed(REPLICA, at_ms=2000, broker_id=2, partition=1, leader_epoch=1),
    ]
    found = replicas_by_log_dir(frame_of(spark, "replica", rows)).orderBy("broker_id")
    assert picked(found, "broker_id", "leader_count") == [(1, 0), (2, 2)]


def test_two_runs_in_one_dump_do_not_mix(spark: SparkSession) -> None:
    other = RowOrigin(cluster_id="jbod-lab", run_id="run-2")
    first = [
        changed(LOG_DIR, at_ms=1000, append_bytes_total=0),
        changed(LOG_DIR, at_ms=2000, append_bytes_total=100),
    ]
    second = [
        changed(LOG_DIR, at_ms=900_000, append_bytes_total=7_000_000),
        changed(LOG_DIR, at_ms=901_000, append_bytes_total=7_000_300),
    ]
    rows = frame_of(spark, "log_dir", first).union(frame_of(spark, "log_dir", second, other))
    found = log_dirs(rows, frame_of(spark, "replica", []))
    assert picked(found, "run_id", "append_bytes_per_s", "state") == [
        ("run-1", 100.0, "online"),
        ("run-2", 300.0, "online"),
    ]


def test_a_counter_that_begins_again_within_an_epoch_counts_from_zero(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=1000, append_bytes_total=1000),
        changed(LOG_DIR, at_ms=2000, append_bytes_total=1400),
        changed(LOG_DIR, at_ms=3000, append_bytes_total=50),
        changed(LOG_DIR, at_ms=5000, append_bytes_total=350),
    ]
    found = log_dirs(frame_of(spark, "log_dir", rows), frame_of(spark, "replica", []))
    assert picked(found, "append_bytes_per_s") == [(750 * 1000 / 4000,)]


def test_of_two_samples_in_one_millisecond_the_later_one_counts(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, used_bytes=90, append_count_total=1, append_bytes_total=10),
        changed(LOG_DIR, used_bytes=30, append_count_total=2, append_bytes_total=20),
    ]
    found = log_dirs(frame_of(spark, "log_dir", rows), frame_of(spark, "replica", []))
    assert picked(found, "used_bytes", "append_bytes_per_s") == [(30, None)]
