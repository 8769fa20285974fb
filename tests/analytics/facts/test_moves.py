import pytest
from pyspark.sql import SparkSession

from analytics.facts.buckets import with_event_time
from analytics.facts.moves import move_facts
from tests.analytics.frames import MOVE, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables in buckets of time", kept=2)


def test_a_moves_rate_is_held_against_its_throttle_bucket_by_bucket(spark: SparkSession) -> None:
    rows = [
        changed(MOVE, at_ms=1000, copied_bytes=0, throttle_bytes_per_s=400),
        changed(MOVE, at_ms=3000, copied_bytes=200, throttle_bytes_per_s=400),
        changed(MOVE, at_ms=11_000, copied_bytes=500),
    ]
    found = move_facts(with_event_time(frame_of(spark, "move_progress", rows)), "10 seconds")
    columns = ("copied_bytes", "bytes_per_s", "throttle_share")
    assert picked(found.orderBy("bucket"), *columns) == [(200, 100.0, 0.25), (500, None, None)]
