import pytest
from pyspark.sql import SparkSession

from analytics.transforms.partitions import partitions
from tests.analytics.frames import REPLICA, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_all_partitions_are_measured_over_the_time_of_the_run_and_the_busiest_comes_first(
    spark: SparkSession,
) -> None:
    rows = [
        changed(REPLICA, at_ms=1000, size_bytes=100),
        changed(REPLICA, at_ms=5000, size_bytes=1100),
        changed(REPLICA, at_ms=1000, partition=1, size_bytes=0),
        changed(REPLICA, at_ms=2000, partition=1, size_bytes=1200),
        changed(REPLICA, partition=2),
    ]
    found = partitions(frame_of(spark, "replica", rows))
    assert picked(found, "topic", "partition", "write_bytes_per_s") == [
        ("orders", 1, 300.0),
        ("orders", 0, 250.0),
        ("orders", 2, None),
    ]


def test_a_partition_whose_leader_moved_is_as_fast_as_one_that_stayed(spark: SparkSession) -> None:
    """The new leader's log counts from its last sample as a follower on."""
    stayed = [changed(REPLICA, at_ms=t * 1000, size_bytes=t * 100) for t in range(1, 7)]
    before = [
        changed(REPLICA, partition=1, at_ms=t * 1000, size_bytes=t * 100) for t in range(1, 4)
    ]
    after = [
        changed(
            REPLICA,
            partition=1,
            broker_id=2,
            at_ms=t * 1000,
            size_bytes=t * 100,
            is_leader=t > 3,
            leader_epoch=4,
        )
        for t in range(1, 7)
    ]
    found = partitions(frame_of(spark, "replica", stayed + before + after))
    assert picked(found, "partition", "write_bytes_per_s", "leader") == [
        (0, 100.0, 1),
        (1, 100.0, 2),
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
    found = partitions(frame_of(spark, "replica", rows))
    assert picked(found, "write_bytes_per_s") == [(150.0,)]


def test_time_without_a_leaders_sample_is_unavailable_at_the_end_too(spark: SparkSession) -> None:
    rows = [
        *[changed(REPLICA, at_ms=t * 1000) for t in (1, 2, 7, 8)],
        *[changed(REPLICA, at_ms=t * 1000, partition=1) for t in range(1, 13)],
    ]
    found = partitions(frame_of(spark, "replica", rows)).orderBy("partition")
    # 2 s to 6 s, before the sample that stands for 6 s to 7 s; and 8 s to 12 s.
    assert picked(found, "partition", "unavailable_ms") == [(0, 8000), (1, 0)]


def test_time_under_min_isr_is_what_the_leaders_samples_say(spark: SparkSession) -> None:
    rows = [
        changed(REPLICA, at_ms=1000),
        changed(REPLICA, at_ms=2000, isr_count=1, is_under_min_isr=True),
        changed(REPLICA, at_ms=3000, isr_count=1, is_under_min_isr=True),
    ]
    found = partitions(frame_of(spark, "replica", rows))
    assert picked(found, "under_min_isr_ms", "isr_count") == [(2000, 1)]
