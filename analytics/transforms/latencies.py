"""What requests, disks and clients took over a whole run, out of merged histograms."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c

_KEY = [*c.RUN, c.SCOPE, c.BROKER_ID, c.NAME, c.OPERATION]


def latencies(rows: DataFrame) -> DataFrame:
    """Input: LatencyRow. Output: one row per scope, broker, name and operation.

    A quantile is the upper bound of its bucket: at most an eighth above the true one.
    """
    totals = rows.groupBy(*_KEY).agg(
        F.sum(c.SAMPLE_COUNT).alias(c.SAMPLE_COUNT),
        (F.sum(c.SUM_US) / F.sum(c.SAMPLE_COUNT)).alias(c.MEAN_US),
        F.max(c.MAX_US).alias(c.MAX_US),
    )
    names = {c.P50_US: 0.5, c.P90_US: 0.9, c.P99_US: 0.99, c.P999_US: 0.999}
    bounds = (
        _cumulative(rows)
        .groupBy(*_KEY)
        .agg(
            *[
                F.min(F.when(F.col("seen") >= F.col("total") * share, F.col("bound"))).alias(name)
                for name, share in names.items()
            ]
        )
    )
    return (
        totals.join(bounds, on=_KEY, how="inner")
        .select(
            *_KEY,
            c.SAMPLE_COUNT,
            c.MEAN_US,
            *[F.least(name, c.MAX_US).alias(name) for name in names],
            c.MAX_US,
        )
        .orderBy(*_KEY)
    )


def _cumulative(rows: DataFrame) -> DataFrame:
    """Output: the key, bound, seen (values up to it), total."""
    pair = F.explode(F.arrays_zip(c.BUCKET_US, c.BUCKET_COUNTS)).alias("pair")
    merged = (
        rows.select(*_KEY, pair)
        .groupBy(*_KEY, F.col(f"pair.{c.BUCKET_US}").alias("bound"))
        .agg(F.sum(f"pair.{c.BUCKET_COUNTS}").alias("count"))
    )
    whole = Window.partitionBy(*_KEY)
    return merged.select(
        *_KEY,
        "bound",
        F.sum("count").over(whole.orderBy("bound")).alias("seen"),
        F.sum("count").over(whole).alias("total"),
    )
