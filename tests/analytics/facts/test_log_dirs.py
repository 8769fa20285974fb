import pytest
from pyspark.sql import SparkSession

from analytics.facts.buckets import with_event_time
from analytics.facts.log_dirs import log_dir_facts
from tests.analytics.frames import LOG_DIR, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables in buckets of time", kept=2)


def test_a_log_dir_that_grows_says_when_it_will_be_full(spark: SparkSession) -> None:
    rows = [
        changed(LOG_DIR, at_ms=1000, used_bytes=10, usable_bytes=90, append_bytes_total=500),
        changed(LOG_DIR, at_ms=2000, used_bytes=20, usable_bytes=80, append_bytes_total=900),
        changed(LOG_DIR, at_ms=3000, used_bytes=30, usable_bytes=70, append_bytes_total=100),
        changed(LOG_DIR, at_ms=12_000, used_bytes=30, usable_bytes=70, online=False),
    ]
    found = log_dir_facts(with_event_time(frame_of(spark, "log_dir", rows)), "10 seconds")
    found = found.orderBy("bucket")
    assert picked(found, "used_bytes", "fill", "online_share") == [(30, 0.3, 1.0), (30, 0.3, 0.0)]
    [(slope, to_full, rate), (alone, never, nothing)] = picked(
        found, "used_bytes_per_s", "ms_to_full", "append_bytes_per_s"
    )
    assert (round(slope, 6), round(to_full), rate) == (10.0, 7000, 250.0)
    assert (alone, never, nothing) == (None, None, None)
