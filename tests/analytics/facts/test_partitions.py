import pytest
from pyspark.sql import SparkSession

from analytics.facts.buckets import with_event_time
from analytics.facts.partitions import partition_facts
from tests.analytics.frames import REPLICA, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables in buckets of time", kept=2)


def test_a_partition_is_unavailable_while_only_followers_say_anything(spark: SparkSession) -> None:
    followed = [
        changed(REPLICA, at_ms=t, broker_id=2, is_leader=False, isr_count=-1)
        for t in range(1000, 6000, 1000)
    ]
    led = [
        changed(REPLICA, at_ms=1000, size_bytes=100),
        changed(REPLICA, at_ms=2000, size_bytes=300, isr_count=1, is_under_min_isr=True),
        changed(REPLICA, at_ms=5000, broker_id=3, leader_epoch=4, size_bytes=900, isr_count=2),
    ]
    rows = with_event_time(frame_of(spark, "replica", followed + led))
    found = partition_facts(rows, "10 seconds")
    assert picked(found, "leader", "leader_epoch", "isr_count", "isr_count_min") == [(3, 4, 2, 1)]
    columns = ("unavailable_ms", "under_min_isr_ms", "write_bytes_per_s")
    assert picked(found, *columns) == [(2000, 1000, 200.0)]


def test_a_partition_that_nobody_led_has_no_leader(spark: SparkSession) -> None:
    rows = frame_of(spark, "replica", [changed(REPLICA, is_leader=False)])
    found = partition_facts(with_event_time(rows), "10 seconds")
    columns = ("leader", "write_bytes_per_s", "unavailable_ms")
    assert picked(found, *columns) == [(None, None, 1000)]
