"""Each partition, bucket by bucket: who leads it, its Isr, and for how long it was not served."""

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

_KEY = [*c.RUN, c.TOPIC, c.PARTITION]


def partition_facts(rows: DataFrame, bucket: str) -> DataFrame:
    """Input: ReplicaRow with event time. Output: one row per bucket and partition.

    Times are sums of the intervals that samples stand for, so they are right to within one:
    ``unavailable_ms`` is what samples of replicas cover and none of a leader does.
    """
    is_leading = F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE)
    interval = F.greatest(F.col(c.INTERVAL_MS), F.lit(0))
    leader = F.struct(c.LEADER_EPOCH, c.AT_MS, c.BROKER_ID, c.ISR_COUNT, c.SIZE_BYTES)
    # Struct of nulls for the others: they sort first and grow nothing.
    led = F.filter(samples_of(c.AT_MS, c.SIZE_BYTES, is_leading.alias("led")), lambda s: s["led"])
    grouped = rows.groupBy(bucket_of(bucket), *_KEY).agg(
        F.max(F.when(is_leading, leader)).alias("last"),
        F.min(F.when(is_leading, F.col(c.ISR_COUNT))).alias(c.ISR_COUNT_MIN),
        F.coalesce(F.sum(F.when(is_leading, interval)), F.lit(0)).alias(c.LED_MS),
        (F.max(c.AT_MS) - F.min(F.col(c.AT_MS) - interval)).alias(c.COVERED_MS),
        F.sum(F.when(F.col(c.IS_UNDER_MIN_ISR), interval).otherwise(0)).alias(c.UNDER_MIN_ISR_MS),
        led.alias("samples"),
    )
    samples = F.col("samples")
    growth = increase(samples, c.SIZE_BYTES, resets=False)
    return grouped.select(
        *bucket_columns(),
        *_KEY,
        F.col(f"last.{c.BROKER_ID}").alias(c.LEADER),
        f"last.{c.LEADER_EPOCH}",
        f"last.{c.ISR_COUNT}",
        c.ISR_COUNT_MIN,
        f"last.{c.SIZE_BYTES}",
        F.when(F.size(samples) > 1, per_second(growth, span_ms(samples))).alias(
            c.WRITE_BYTES_PER_S
        ),
        F.greatest(F.col(c.COVERED_MS) - F.col(c.LED_MS), F.lit(0)).alias(c.UNAVAILABLE_MS),
        c.UNDER_MIN_ISR_MS,
    )
