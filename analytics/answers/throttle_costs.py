"""What a throttle cost: how long a throttled move waited, and what producers felt meanwhile."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.histograms import merged_buckets, quantile_us

_MOVE: Final = [*c.RUN, c.BROKER_ID, c.TOPIC, c.PARTITION, c.STARTED_AT_MS]
_SHOWN: Final = [
    *(c.SOURCE_LOG_DIR, c.TARGET_LOG_DIR, c.THROTTLE_BYTES_PER_S, c.BYTES_PER_S, c.COPIED_BYTES),
    c.DURATION_MS,
]


def throttle_costs(moves: DataFrame, latencies: DataFrame) -> DataFrame:
    """Input: ``moves``, LatencyRow. Output: one row per move, the earliest of a run first.

    ``waited_ms`` is what the move took beyond the time it needs at ``unthrottled_bytes_per_s``, the
    fastest move of the run without a throttle; null without one that has copied a byte, and for a
    move without throttle.
    ``produce_p99_us`` is that of its broker's Produce requests during the move,
    ``produce_p99_before_us`` that of as long a time before; null where no request was.
    """
    free = F.max(F.when(F.col(c.THROTTLE_BYTES_PER_S).isNull(), F.col(c.BYTES_PER_S)))
    fastest = moves.groupBy(*c.RUN).agg(free.alias(c.UNTHROTTLED_BYTES_PER_S))
    needed = F.col(c.COPIED_BYTES) * 1000 / F.nullif(F.col(c.UNTHROTTLED_BYTES_PER_S), F.lit(0.0))
    waited = F.greatest(F.col(c.DURATION_MS) - needed, F.lit(0.0)).cast("bigint")
    is_told = F.col(c.THROTTLE_BYTES_PER_S).isNotNull() & needed.isNotNull()
    return (
        moves.join(F.broadcast(fastest), on=list(c.RUN), how="left")
        .join(_produce_p99s(moves, latencies), on=_MOVE, how="left")
        .select(
            *_MOVE,
            *_SHOWN,
            c.UNTHROTTLED_BYTES_PER_S,
            F.when(is_told, waited).alias(c.WAITED_MS),
            c.PRODUCE_P99_BEFORE_US,
            c.PRODUCE_P99_US,
        )
        .orderBy(*c.RUN, c.STARTED_AT_MS, *_MOVE)
    )


def produce_rows(latencies: DataFrame) -> DataFrame:
    """Input: LatencyRow. Output: those of brokers' Produce requests, by run, broker and time."""
    is_produce = (F.col(c.SCOPE) == "api") & (F.col(c.NAME) == "Produce")
    return latencies.where(is_produce).select(
        *c.RUN, c.BROKER_ID, c.AT_MS, c.SAMPLE_COUNT, c.MAX_US, c.BUCKET_US, c.BUCKET_COUNTS
    )


def _produce_p99s(moves: DataFrame, latencies: DataFrame) -> DataFrame:
    """Output: the move, produce_p99_us, produce_p99_before_us."""
    begin, duration = F.col(c.STARTED_AT_MS), F.col(c.DURATION_MS)
    is_during = F.col(c.AT_MS) >= begin
    window = F.col(c.AT_MS).between(begin - duration, begin + duration)
    return (
        produce_rows(latencies)
        .join(F.broadcast(moves.select(*_MOVE, c.DURATION_MS)), on=[*c.RUN, c.BROKER_ID])
        .where(window)
        .groupBy(*_MOVE, is_during.alias("is_during"))
        .agg(
            merged_buckets().alias("buckets"),
            F.sum(c.SAMPLE_COUNT).alias(c.SAMPLE_COUNT),
            F.max(c.MAX_US).alias(c.MAX_US),
        )
        .select(*_MOVE, "is_during", _p99().alias("p99_us"))
        .groupBy(*_MOVE)
        .agg(
            F.max(F.when(F.col("is_during"), F.col("p99_us"))).alias(c.PRODUCE_P99_US),
            F.max(F.when(~F.col("is_during"), F.col("p99_us"))).alias(c.PRODUCE_P99_BEFORE_US),
        )
    )


def _p99() -> Column:
    return quantile_us(F.col("buckets"), F.col(c.SAMPLE_COUNT), F.col(c.MAX_US), 0.99)
