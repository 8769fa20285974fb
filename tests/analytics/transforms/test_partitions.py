from pyspark.sql import SparkSession

from analytics.transforms.partitions import partition_rates
from tests.analytics.frames import REPLICA, changed, frame_of, picked


def test_a_partition_is_as_fast_as_its_fastest_leader_and_the_fastest_comes_first(
    spark: SparkSession,
) -> None:
    rows = [
        changed(REPLICA, at_ms=1000, size_bytes=100),
        changed(REPLICA, at_ms=3000, size_bytes=1100),
        changed(REPLICA, at_ms=1000, broker_id=2, size_bytes=0),
        changed(REPLICA, at_ms=3000, broker_id=2, size_bytes=600),
        changed(REPLICA, at_ms=1000, partition=1, size_bytes=0),
        changed(REPLICA, at_ms=2000, partition=1, size_bytes=900),
        changed(REPLICA, partition=2),
    ]
    found = partition_rates(frame_of(spark, "replica", rows))
    assert picked(found, "topic", "partition", "write_bytes_per_s") == [
        ("orders", 1, 900.0),
        ("orders", 0, 500.0),
        ("orders", 2, None),
    ]


def test_deleted_segments_and_copies_do_not_count(spark: SparkSession) -> None:
    rows = [
        changed(REPLICA, at_ms=1000, size_bytes=1000),
        changed(REPLICA, at_ms=2000, size_bytes=1300),
        changed(REPLICA, at_ms=3000, size_bytes=200),
        changed(REPLICA, at_ms=1000, broker_id=2, is_leader=False, size_bytes=0),
        changed(REPLICA, at_ms=2000, broker_id=2, is_leader=False, size_bytes=90_000),
        changed(REPLICA, at_ms=1000, log_dir="/d2", is_future=True, size_bytes=0),
        changed(REPLICA, at_ms=2000, log_dir="/d2", is_future=True, size_bytes=90_000),
    ]
    found = partition_rates(frame_of(spark, "replica", rows))
    assert picked(found, "write_bytes_per_s") == [(150.0,)]
