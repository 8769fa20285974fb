import pytest
from pyspark.sql import SparkSession

from analytics.transforms.latencies import latencies
from tests.analytics.frames import LATENCY, changed, frame_of, picked

pytestmark = pytest.mark.sampled_among("tables of a report", kept=5)


def test_histograms_of_all_intervals_are_summed_before_a_quantile_is_read(
    spark: SparkSession,
) -> None:
    slow = changed(
        LATENCY,
        at_ms=2000,
        sample_count=97,
        sum_us=97 * 7,
        max_us=7,
        bucket_us=(7,),
        bucket_counts=(97,),
    )
    found = latencies(frame_of(spark, "latency", [LATENCY, slow]))
    columns = ("name", "operation", "sample_count", "p50_us", "p99_us", "p999_us", "max_us")
    assert picked(found, *columns) == [("/d1", "sync", 100, 7, 7, 1000, 1000)]
    assert picked(found, "mean_us") == [((1006 + 97 * 7) / 100,)]


def test_log_dirs_and_brokers_are_told_apart(spark: SparkSession) -> None:
    rows = [LATENCY, changed(LATENCY, name="/d2"), changed(LATENCY, broker_id=2)]
    found = latencies(frame_of(spark, "latency", rows))
    assert picked(found, "broker_id", "name") == [(1, "/d1"), (1, "/d2"), (2, "/d1")]
