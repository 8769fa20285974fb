"""Each move between log dirs, bucket by bucket: how far it is and how fast it goes."""

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

_KEY = [
    *c.RUN,
    c.BROKER_ID,
    c.TOPIC,
    c.PARTITION,
    c.SOURCE_LOG_DIR,
    c.TARGET_LOG_DIR,
    c.STARTED_AT_MS,
]


def move_facts(rows: DataFrame, bucket: str) -> DataFrame:
    """Input: MoveProgressRow with event time. Output: one row per bucket and move.

    ``bytes_per_s`` is between the bucket's first and last sample, null with one of them.
    """
    last = F.struct(c.AT_MS, c.COPIED_BYTES, c.STATE, c.TOTAL_BYTES, c.THROTTLE_BYTES_PER_S)
    grouped = rows.groupBy(bucket_of(bucket), *_KEY).agg(
        F.max(last).alias("last"), samples_of(c.AT_MS, c.COPIED_BYTES).alias("samples")
    )
    samples, throttle = F.col("samples"), F.col(f"last.{c.THROTTLE_BYTES_PER_S}")
    copied = increase(samples, c.COPIED_BYTES, resets=False)
    rate = per_second(copied, span_ms(samples))
    return grouped.select(
        *bucket_columns(),
        *_KEY,
        f"last.{c.STATE}",
        f"last.{c.COPIED_BYTES}",
        f"last.{c.TOTAL_BYTES}",
        rate.alias(c.BYTES_PER_S),
        F.when(throttle > 0, throttle).alias(c.THROTTLE_BYTES_PER_S),
        F.when(throttle > 0, rate / throttle).alias(c.THROTTLE_SHARE),
    )
