"""Each log dir, bucket by bucket: how full, how it grows, how much it is asked."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.facts.buckets import (
    bucket_columns,
    bucket_of,
    increase,
    per_second,
    samples_of,
    span_ms,
)

_KEY = [*c.RUN, c.BROKER_ID, c.LOG_DIR]


def log_dir_facts(rows: DataFrame, bucket: str) -> DataFrame:
    """Input: LogDirRow with event time. Output: one row per bucket and log dir.

    ``used_bytes_per_s`` is the slope of the bucket's samples, ``ms_to_full`` when that would fill
    what is usable (null unless it grows). Rates are between the bucket's first and last sample.
    """
    last = F.struct(c.AT_MS, c.USED_BYTES, c.TOTAL_BYTES, c.USABLE_BYTES, c.REPLICA_COUNT)
    # Of times since 1970 a slope would lose what grows slowly to rounding.
    at_ms = F.col(c.AT_MS) - F.unix_millis("window.start")
    grouped = (
        rows.withColumn("window", bucket_of(bucket))
        .groupBy("window", *_KEY)
        .agg(
            F.max(last).alias("last"),
            F.avg(F.col(c.ONLINE).cast("int")).alias(c.ONLINE_SHARE),
            (F.regr_slope(c.USED_BYTES, at_ms) * 1000).alias(c.USED_BYTES_PER_S),
            F.avg(c.QUEUE_DEPTH_COUNT).alias(c.QUEUE_DEPTH_MEAN),
            F.max(c.QUEUE_DEPTH_COUNT).alias(c.QUEUE_DEPTH_MAX),
            samples_of(c.AT_MS, c.APPEND_BYTES_TOTAL, c.APPEND_COUNT_TOTAL).alias("samples"),
        )
    )
    samples, total = F.col("samples"), F.col(f"last.{c.TOTAL_BYTES}")
    usable, slope = F.col(f"last.{c.USABLE_BYTES}"), F.col(c.USED_BYTES_PER_S)
    span = span_ms(samples)
    return grouped.select(
        *bucket_columns(),
        *_KEY,
        c.ONLINE_SHARE,
        f"last.{c.USED_BYTES}",
        f"last.{c.TOTAL_BYTES}",
        F.when(total > 0, F.col(f"last.{c.USED_BYTES}") / total).alias(c.FILL),
        c.USED_BYTES_PER_S,
        F.when((slope > 0) & (usable >= 0), usable * 1000 / slope).alias(c.MS_TO_FULL),
        f"last.{c.REPLICA_COUNT}",
        c.QUEUE_DEPTH_MEAN,
        c.QUEUE_DEPTH_MAX,
        per_second(increase(samples, c.APPEND_BYTES_TOTAL, resets=True), span).alias(
            c.APPEND_BYTES_PER_S
        ),
        per_second(increase(samples, c.APPEND_COUNT_TOTAL, resets=True), span).alias(
            c.APPENDS_PER_S
        ),
    )
