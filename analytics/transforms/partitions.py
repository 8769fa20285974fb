"""How fast each partition grows: what a planner of moves weighs partitions by."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c

_LOG = [c.BROKER_ID, c.TOPIC, c.PARTITION, c.LOG_DIR]
_PARTITION = [c.TOPIC, c.PARTITION]


def partition_rates(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: one row per partition, the busiest first.

    ``write_bytes_per_s`` is that of the fastest log of a leader over the whole dump, whatever
    was deleted meanwhile; null when no log has two samples.
    """
    return (
        log_growth(replicas)
        .groupBy(*_PARTITION)
        .agg(F.max(c.WRITE_BYTES_PER_S).alias(c.WRITE_BYTES_PER_S))
        .select(*_PARTITION, c.WRITE_BYTES_PER_S)
        .orderBy(F.desc_nulls_last(c.WRITE_BYTES_PER_S), *_PARTITION)
    )


def log_growth(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: broker_id, topic, partition, log_dir, write_bytes_per_s.

    Only leaders' logs count: what followers and future logs grow by may be a copy of what was
    written long before.
    """
    by_time = Window.partitionBy(*_LOG).orderBy(c.AT_MS)
    growth = F.col(c.SIZE_BYTES) - F.lag(c.SIZE_BYTES).over(by_time)
    duration = F.max(c.AT_MS) - F.min(c.AT_MS)
    written = F.sum(F.greatest(F.col("growth"), F.lit(0)))
    return (
        replicas.where(F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE))
        .select(*_LOG, c.AT_MS, growth.alias("growth"))
        .groupBy(*_LOG)
        .agg(written.alias("written"), duration.alias(c.DURATION_MS))
        .select(
            *_LOG,
            F.when(F.col(c.DURATION_MS) > 0, F.col("written") * 1000 / F.col(c.DURATION_MS)).alias(
                c.WRITE_BYTES_PER_S
            ),
        )
    )
