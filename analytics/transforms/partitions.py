"""How fast each partition grows: what a planner of moves weighs partitions by."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analytics import schema as s

_LOG = [s.BROKER_ID, s.TOPIC, s.PARTITION, s.LOG_DIR]
_PARTITION = [s.TOPIC, s.PARTITION]


def partition_rates(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: one row per partition, the busiest first.

    ``write_bytes_per_s`` is that of the fastest log of a leader over the whole dump, whatever
    was deleted meanwhile; null when no log has two samples.
    """
    return (
        log_growth(replicas)
        .groupBy(*_PARTITION)
        .agg(F.max(s.WRITE_BYTES_PER_S).alias(s.WRITE_BYTES_PER_S))
        .select(*_PARTITION, s.WRITE_BYTES_PER_S)
        .orderBy(F.desc_nulls_last(s.WRITE_BYTES_PER_S), *_PARTITION)
    )


def log_growth(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: broker_id, topic, partition, log_dir, write_bytes_per_s.

    Only leaders' logs count: what followers and future logs grow by may be a copy of what was
    written long before.
    """
    by_time = Window.partitionBy(*_LOG).orderBy(s.AT_MS)
    growth = F.col(s.SIZE_BYTES) - F.lag(s.SIZE_BYTES).over(by_time)
    duration = F.max(s.AT_MS) - F.min(s.AT_MS)
    written = F.sum(F.greatest(F.col("growth"), F.lit(0)))
    return (
        replicas.where(F.col(s.IS_LEADER) & ~F.col(s.IS_FUTURE))
        .select(*_LOG, s.AT_MS, growth.alias("growth"))
        .groupBy(*_LOG)
        .agg(written.alias("written"), duration.alias(s.DURATION_MS))
        .select(
            *_LOG,
            F.when(F.col(s.DURATION_MS) > 0, F.col("written") * 1000 / F.col(s.DURATION_MS)).alias(
                s.WRITE_BYTES_PER_S
            ),
        )
    )
