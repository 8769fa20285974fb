"""The state of each log dir at its last sample, with rates over the whole dump."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c

_KEY = [c.BROKER_ID, c.LOG_DIR]


def log_dirs(rows: DataFrame, replicas: DataFrame) -> DataFrame:
    """Input: LogDirRow, ReplicaRow. Output: one row per log dir, ordered by broker and path.

    ``fill`` is used / total, null while the total is unknown; ``append_bytes_per_s`` is null with a
    single sample.
    """
    last = F.max(F.struct(c.AT_MS, *_LAST_COLUMNS)).alias("last")
    states = rows.groupBy(*_KEY).agg(last, F.max(c.QUEUE_DEPTH_COUNT).alias(c.QUEUE_DEPTH_MAX))
    total = F.col(f"last.{c.TOTAL_BYTES}")
    return (
        states.join(append_rates(rows), on=_KEY, how="left")
        .join(replicas_by_log_dir(replicas), on=_KEY, how="left")
        .select(
            *_KEY,
            f"last.{c.AT_MS}",
            *[f"last.{name}" for name in _LAST_COLUMNS],
            F.when(total > 0, F.col(f"last.{c.USED_BYTES}") / total).alias(c.FILL),
            F.coalesce(c.LEADER_COUNT, F.lit(0)).alias(c.LEADER_COUNT),
            F.coalesce(c.LAG_MAX, F.lit(0)).alias(c.LAG_MAX),
            c.QUEUE_DEPTH_MAX,
            c.APPEND_BYTES_PER_S,
        )
        .orderBy(*_KEY)
    )


_LAST_COLUMNS = [
    c.ONLINE,
    c.USED_BYTES,
    c.TOTAL_BYTES,
    c.USABLE_BYTES,
    c.REPLICA_COUNT,
    c.FUTURE_COUNT,
]


def append_rates(rows: DataFrame) -> DataFrame:
    """Input: LogDirRow. Output: broker_id, log_dir, append_bytes_per_s.

    The counter starts again with each broker epoch, so growth is summed over epochs.
    """
    growth = F.max(c.APPEND_BYTES_TOTAL) - F.min(c.APPEND_BYTES_TOTAL)
    duration = F.max(c.AT_MS) - F.min(c.AT_MS)
    by_epoch = rows.groupBy(*_KEY, c.BROKER_EPOCH).agg(
        growth.alias("growth"), duration.alias(c.DURATION_MS)
    )
    by_log_dir = by_epoch.groupBy(*_KEY).agg(
        F.sum("growth").alias("growth"), F.sum(c.DURATION_MS).alias(c.DURATION_MS)
    )
    rate = F.col("growth") * 1000 / F.col(c.DURATION_MS)
    return by_log_dir.select(
        *_KEY, F.when(F.col(c.DURATION_MS) > 0, rate).alias(c.APPEND_BYTES_PER_S)
    )


def replicas_by_log_dir(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: broker_id, log_dir, leader_count, lag_max at the last sample."""
    last = replicas.groupBy(c.BROKER_ID).agg(F.max(c.AT_MS).alias(c.AT_MS))
    is_leading = F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE)
    return (
        replicas.join(last, on=[c.BROKER_ID, c.AT_MS], how="inner")
        .groupBy(*_KEY)
        .agg(F.count_if(is_leading).alias(c.LEADER_COUNT), F.max(c.LAG).alias(c.LAG_MAX))
        .select(*_KEY, c.LEADER_COUNT, c.LAG_MAX)
    )
