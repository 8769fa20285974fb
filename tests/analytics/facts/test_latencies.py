import pytest
from pyspark.sql import SparkSession

from analytics.facts.buckets import with_event_time
from analytics.facts.latencies import latency_facts
from tests.analytics.frames import LATENCY, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables in buckets of time", kept=2)


def test_quantiles_are_those_of_a_bucket_of_time(spark: SparkSession) -> None:
    rows = [
        LATENCY,
        changed(LATENCY, at_ms=2000, sample_count=7, bucket_us=(3, 7), bucket_counts=(1, 6)),
        changed(LATENCY, at_ms=11_000),
    ]
    found = latency_facts(with_event_time(frame_of(spark, "latency", rows)), "10 seconds")
    assert picked(found.orderBy("bucket"), "sample_count", "p50_us", "p90_us", "p99_us") == [
        (10, 7, 7, 1000),
        (3, 3, 1000, 1000),
    ]
