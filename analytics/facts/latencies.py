"""What requests, disks and clients took, bucket by bucket, out of merged histograms."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.facts.buckets import bucket_columns, bucket_of
from analytics.histograms import merged_buckets, quantile_us

_KEY = [*c.RUN, c.SCOPE, c.BROKER_ID, c.NAME, c.OPERATION]
_QUANTILES = {c.P50_US: 0.5, c.P90_US: 0.9, c.P99_US: 0.99, c.P999_US: 0.999}


def latency_facts(rows: DataFrame, bucket: str) -> DataFrame:
    """Input: LatencyRow with event time. Output: one row per bucket and what took the time.

    A quantile is the upper bound of its bucket of us: at most an eighth above the true one.
    """
    grouped = rows.groupBy(bucket_of(bucket), *_KEY).agg(
        F.sum(c.SAMPLE_COUNT).alias(c.SAMPLE_COUNT),
        F.sum(c.SUM_US).alias(c.SUM_US),
        F.max(c.MAX_US).alias(c.MAX_US),
        merged_buckets().alias("buckets"),
    )
    of = F.col("buckets"), F.col(c.SAMPLE_COUNT), F.col(c.MAX_US)
    return grouped.select(
        *bucket_columns(),
        *_KEY,
        c.SAMPLE_COUNT,
        (F.col(c.SUM_US) / F.col(c.SAMPLE_COUNT)).alias(c.MEAN_US),
        *[quantile_us(*of, share).alias(name) for name, share in _QUANTILES.items()],
        c.MAX_US,
    )
