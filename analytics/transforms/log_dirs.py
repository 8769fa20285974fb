"""The state of each log dir at its last sample, with rates over the whole dump."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import schema as s

_KEY = [s.BROKER_ID, s.LOG_DIR]


def log_dirs(rows: DataFrame, replicas: DataFrame) -> DataFrame:
    """Input: LogDirRow, ReplicaRow. Output: one row per log dir, ordered by broker and path.

    ``fill`` is used / total, null while the total is unknown; ``append_bytes_per_s`` is null with a
    single sample.
    """
    last = F.max(F.struct(s.AT_MS, *_LAST_COLUMNS)).alias("last")
    states = rows.groupBy(*_KEY).agg(last, F.max(s.QUEUE_DEPTH_COUNT).alias(s.QUEUE_DEPTH_MAX))
    total = F.col(f"last.{s.TOTAL_BYTES}")
    return (
        states.join(append_rates(rows), on=_KEY, how="left")
        .join(replicas_by_log_dir(replicas), on=_KEY, how="left")
        .select(
            *_KEY,
            f"last.{s.AT_MS}",
            *[f"last.{name}" for name in _LAST_COLUMNS],
            F.when(total > 0, F.col(f"last.{s.USED_BYTES}") / total).alias(s.FILL),
            F.coalesce(s.LEADER_COUNT, F.lit(0)).alias(s.LEADER_COUNT),
            F.coalesce(s.LAG_MAX, F.lit(0)).alias(s.LAG_MAX),
            s.QUEUE_DEPTH_MAX,
            s.APPEND_BYTES_PER_S,
        )
        .orderBy(*_KEY)
    )


_LAST_COLUMNS = [
    s.ONLINE,
    s.USED_BYTES,
    s.TOTAL_BYTES,
    s.USABLE_BYTES,
    s.REPLICA_COUNT,
    s.FUTURE_COUNT,
]


def append_rates(rows: DataFrame) -> DataFrame:
    """Input: LogDirRow. Output: broker_id, log_dir, append_bytes_per_s.

    The counter starts again with each broker epoch, so growth is summed over epochs.
    """
    growth = F.max(s.APPEND_BYTES_TOTAL) - F.min(s.APPEND_BYTES_TOTAL)
    duration = F.max(s.AT_MS) - F.min(s.AT_MS)
    by_epoch = rows.groupBy(*_KEY, s.BROKER_EPOCH).agg(
        growth.alias("growth"), duration.alias(s.DURATION_MS)
    )
    by_log_dir = by_epoch.groupBy(*_KEY).agg(
        F.sum("growth").alias("growth"), F.sum(s.DURATION_MS).alias(s.DURATION_MS)
    )
    rate = F.col("growth") * 1000 / F.col(s.DURATION_MS)
    return by_log_dir.select(
        *_KEY, F.when(F.col(s.DURATION_MS) > 0, rate).alias(s.APPEND_BYTES_PER_S)
    )


def replicas_by_log_dir(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: broker_id, log_dir, leader_count, lag_max at the last sample."""
    last = replicas.groupBy(s.BROKER_ID).agg(F.max(s.AT_MS).alias(s.AT_MS))
    is_leading = F.col(s.IS_LEADER) & ~F.col(s.IS_FUTURE)
    return (
        replicas.join(last, on=[s.BROKER_ID, s.AT_MS], how="inner")
        .groupBy(*_KEY)
        .agg(F.count_if(is_leading).alias(s.LEADER_COUNT), F.max(s.LAG).alias(s.LAG_MAX))
        .select(*_KEY, s.LEADER_COUNT, s.LAG_MAX)
    )
