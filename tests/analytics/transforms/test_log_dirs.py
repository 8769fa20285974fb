from pyspark.sql import SparkSession

from analytics.transforms.log_dirs import append_rates, log_dirs, replicas_by_log_dir
from tests.analytics.frames import LOG_DIR, REPLICA, changed, frame_of, picked


def test_a_log_dir_is_shown_at_its_last_sample(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=2000, used_bytes=50, queue_depth_count=1),
        changed(LOG_DIR, at_ms=1000, queue_depth_count=7),
        changed(LOG_DIR, log_dir="/d2", online=False, total_bytes=-1, usable_bytes=-1),
        changed(LOG_DIR, broker_id=2),
    ]
    found = log_dirs(frame_of(spark, "log_dir", rows), frame_of(spark, "replica", []))
    columns = ("broker_id", "log_dir", "online", "used_bytes", "fill", "queue_depth_max")
    assert picked(found, *columns) == [
        (1, "/d1", True, 50, 0.5, 7),
        (1, "/d2", False, 25, None, 0),
        (2, "/d1", True, 25, 0.25, 0),
    ]


def test_the_append_rate_survives_a_restart_of_the_broker(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=1000, append_bytes_total=100),
        changed(LOG_DIR, at_ms=3000, append_bytes_total=2100),
        changed(LOG_DIR, at_ms=9000, broker_epoch=6, append_bytes_total=0),
        changed(LOG_DIR, at_ms=11000, broker_epoch=6, append_bytes_total=6000),
        changed(LOG_DIR, log_dir="/d2"),
    ]
    rates = append_rates(frame_of(spark, "log_dir", rows)).orderBy("log_dir")
    assert picked(rates, "log_dir", "append_bytes_per_s") == [("/d1", 2000.0), ("/d2", None)]


def test_replicas_count_at_their_brokers_last_sample_only(spark: SparkSession) -> None:
    rows = [
        changed(REPLICA, at_ms=1000, partition=9, lag=1000),
        changed(REPLICA, at_ms=2000, partition=0),
        changed(REPLICA, at_ms=2000, partition=1, is_leader=False, lag=4),
        changed(REPLICA, at_ms=2000, partition=0, log_dir="/d2", is_future=True, lag=9),
        changed(REPLICA, at_ms=500, broker_id=2, partition=0),
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
