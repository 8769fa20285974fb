from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analytics.histograms import merged_buckets, quantile_us
from tests.analytics.frames import LATENCY, changed, frame_of, picked


def test_a_quantile_of_several_histograms_is_read_from_all_their_buckets(
    spark: SparkSession,
) -> None:
    other = changed(LATENCY, at_ms=2000, bucket_us=(3, 7), bucket_counts=(1, 6))
    merged = frame_of(spark, "latency", [LATENCY, other]).agg(
        merged_buckets().alias("buckets"), F.max("max_us").alias("largest")
    )
    quantiles = [
        quantile_us(F.col("buckets"), F.lit(10), F.col("largest"), share).alias(str(share))
        for share in (0.3, 0.31, 0.9, 0.95)
    ]
    found = merged.select(*quantiles)
    assert [tuple(row) for row in found.collect()] == [(3, 7, 7, 1000)]
    assert picked(merged, "largest") == [(1000,)]
