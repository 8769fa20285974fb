"""Quantiles of merged histograms, as columns: one aggregation, in a batch and on a stream."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from analytics import columns as c


def merged_buckets() -> Column:
    """Aggregate LatencyRows to an array of (bucket_us, count), ascending; bounds may repeat."""
    pairs = F.arrays_zip(c.BUCKET_US, c.BUCKET_COUNTS)
    return F.array_sort(F.flatten(F.collect_list(pairs)))


def quantile_us(buckets: Column, count: Column, largest: Column, share: float) -> Column:
    """Return the upper bound of the bucket that ``share`` of the values reach.

    Args:
        buckets: as ``merged_buckets``.
        count: how many values there are.
        largest: the largest of them, which no quantile exceeds.
        share: 0 to 1.
    """
    wanted = count * share
    none = F.lit(None).cast("bigint")
    start = F.struct(F.lit(0).cast("bigint").alias("seen"), none.alias("bound"))

    def next_bucket(state: Column, pair: Column) -> Column:
        seen = state["seen"] + pair[c.BUCKET_COUNTS]
        bound = F.coalesce(state["bound"], F.when(seen >= wanted, pair[c.BUCKET_US]))
        return F.struct(seen.alias("seen"), bound.alias("bound"))

    return F.least(F.aggregate(buckets, start, next_bucket, lambda state: state["bound"]), largest)
