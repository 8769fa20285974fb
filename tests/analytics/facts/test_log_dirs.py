from fractions import Fraction
from statistics import mean

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


def test_slow_growth_within_some_ms_is_as_exact_as_fractions_are(spark: SparkSession) -> None:
    began_ms = 1_700_000_000_000
    points = [(0, 10), (1, 10), (2, 11), (4, 11), (7, 13), (11, 14), (13, 14)]
    rows = [changed(LOG_DIR, at_ms=began_ms + ms, used_bytes=used) for ms, used in points]
    found = log_dir_facts(with_event_time(frame_of(spark, "log_dir", rows)), "10 seconds")
    mean_ms, mean_used = (mean(map(Fraction, values)) for values in zip(*points, strict=True))
    slope = sum((ms - mean_ms) * (used - mean_used) for ms, used in points) / sum(
        (ms - mean_ms) ** 2 for ms, _ in points
    )
    [(per_s, to_full)] = picked(found, "used_bytes_per_s", "ms_to_full")
    assert per_s == pytest.approx(float(1000 * slope), rel=1e-12)
    assert to_full == pytest.approx(float(LOG_DIR.usable_bytes / slope), rel=1e-12)
