import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analytics.facts.buckets import (
    bucket_columns,
    bucket_of,
    increase,
    per_second,
    samples_of,
    span_ms,
    with_event_time,
)
from tests.analytics.frames import made, picked

pytestmark = pytest.mark.sampled_among("tables in buckets of time", kept=2)


def test_counters_begin_again_and_what_was_deleted_does_not_count(spark: SparkSession) -> None:
    values = [(3000, 40), (1000, 10), (2000, 100), (4000, 60)]
    samples = made(spark, values, "at_ms long, value long").agg(
        samples_of("at_ms", "value").alias("samples")
    )
    found = samples.select(
        increase(F.col("samples"), "value", resets=True).alias("counted"),
        increase(F.col("samples"), "value", resets=False).alias("grown"),
        span_ms(F.col("samples")).alias("span"),
    )
    assert picked(found, "counted", "grown", "span") == [(90 + 40 + 20, 90 + 20, 3000)]


def test_a_bucket_has_its_begin_and_length_and_a_rate_needs_time(spark: SparkSession) -> None:
    rows = with_event_time(made(spark, [(12_345,), (19_999,), (20_000,)], "at_ms long"))
    found = (
        rows.groupBy(bucket_of("10 seconds"))
        .agg(F.count(F.lit(1)).alias("n"))
        .select(*bucket_columns(), "n", per_second(F.col("n"), F.lit(0)).alias("rate"))
        .select(F.unix_millis("bucket").alias("begin"), "bucket_ms", "n", "rate")
        .orderBy("begin")
    )
    assert picked(found, *found.columns) == [(10_000, 10_000, 2, None), (20_000, 10_000, 1, None)]
