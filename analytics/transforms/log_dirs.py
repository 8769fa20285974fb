"""The state of each log dir at its last sample, with rates over the whole run."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c

STALE_INTERVALS: Final = 3
"""So many intervals without a sample before the end of the run, and nobody knows the state."""

_KEY = [*c.RUN, c.BROKER_ID, c.LOG_DIR]
_LAST_COLUMNS = [
    c.ONLINE,
    c.USED_BYTES,
    c.TOTAL_BYTES,
    c.USABLE_BYTES,
    c.REPLICA_COUNT,
    c.FUTURE_COUNT,
]


def log_dirs(rows: DataFrame, replicas: DataFrame) -> DataFrame:
    """Input: LogDirRow, ReplicaRow. Output: one row per log dir, ordered by run, broker and path.

    ``state`` is online, offline, or stale: its broker wrote nothing for ``STALE_INTERVALS`` at the
    run's end, and the other columns are what was so at ``last_seen_ms``. ``fill`` is used / total,
    null while the total is unknown; ``append_bytes_per_s`` is null with a single sample.
    """
    total = F.col(f"last.{c.TOTAL_BYTES}")
    return (
        _by_log_dir(rows)
        .withColumn("run_end_ms", F.max(f"last.{c.AT_MS}").over(Window.partitionBy(*c.RUN)))
        .join(replicas_by_log_dir(replicas), on=_KEY, how="left")
        .select(
            *_KEY,
            _state().alias(c.STATE),
            F.col(f"last.{c.AT_MS}").alias(c.LAST_SEEN_MS),
            *[f"last.{name}" for name in _LAST_COLUMNS if name != c.ONLINE],
            F.when(total > 0, F.col(f"last.{c.USED_BYTES}") / total).alias(c.FILL),
            F.coalesce(c.LEADER_COUNT, F.lit(0)).alias(c.LEADER_COUNT),
            F.coalesce(c.LAG_MAX, F.lit(0)).alias(c.LAG_MAX),
            c.QUEUE_DEPTH_MAX,
            _append_rate(),
        )
        .orderBy(*_KEY)
    )


def _state() -> Column:
    silence = F.col("run_end_ms") - F.col(f"last.{c.AT_MS}")
    is_stale = (F.col(c.INTERVAL_MS) > 0) & (silence > STALE_INTERVALS * F.col(c.INTERVAL_MS))
    return F.when(is_stale, "stale").when(F.col(f"last.{c.ONLINE}"), "online").otherwise("offline")


def _append_rate() -> Column:
    rate = F.col("growth") * 1000 / F.col(c.DURATION_MS)
    return F.when(F.col(c.DURATION_MS) > 0, rate).alias(c.APPEND_BYTES_PER_S)


def _by_log_dir(rows: DataFrame) -> DataFrame:
    """Return the last sample of each log dir, and what it grew by within broker epochs.

    In an epoch a counter that falls began again at 0. Rows are sorted once for both.
    """
    epoch = [*_KEY, c.BROKER_EPOCH]
    by_time = Window.partitionBy(*epoch).orderBy(c.AT_MS, c.APPEND_BYTES_TOTAL)
    before, now = F.lag(c.APPEND_BYTES_TOTAL).over(by_time), F.col(c.APPEND_BYTES_TOTAL)
    growth = F.when(now >= before, now - before).when(now < before, now).otherwise(0)
    # The counters come second: of two rows in one millisecond the later one is taken.
    order = [c.AT_MS, c.BROKER_EPOCH, c.APPEND_COUNT_TOTAL, c.APPEND_BYTES_TOTAL]
    largest = [c.QUEUE_DEPTH_MAX, c.INTERVAL_MS]
    by_epoch = (
        rows.select("*", growth.alias("growth"))
        .groupBy(*epoch)
        .agg(
            F.max(F.struct(*order, *_LAST_COLUMNS)).alias("last"),
            F.max(c.QUEUE_DEPTH_COUNT).alias(c.QUEUE_DEPTH_MAX),
            F.max(c.INTERVAL_MS).alias(c.INTERVAL_MS),
            F.sum("growth").alias("growth"),
            (F.max(c.AT_MS) - F.min(c.AT_MS)).alias(c.DURATION_MS),
        )
    )
    return by_epoch.groupBy(*_KEY).agg(
        *[F.max(name).alias(name) for name in ("last", *largest)],
        *[F.sum(name).alias(name) for name in ("growth", c.DURATION_MS)],
    )


def replicas_by_log_dir(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: run, broker_id, log_dir, leader_count, lag_max.

    At each broker's last sample; of several brokers that say they lead a partition, as one does
    that ended before it was replaced, only the one with the highest leader epoch counts.
    """
    last = replicas.groupBy(*c.RUN, c.BROKER_ID).agg(F.max(c.AT_MS).alias(c.AT_MS))
    latest = replicas.join(F.broadcast(last), on=[*c.RUN, c.BROKER_ID, c.AT_MS], how="semi")
    is_leading = F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE)
    claim = F.when(is_leading, F.struct(c.LEADER_EPOCH, c.AT_MS, c.BROKER_ID))
    of_partition = Window.partitionBy(*c.RUN, c.TOPIC, c.PARTITION)
    return (
        latest.withColumn("claim", claim)
        .withColumn("is_leading", F.col("claim") == F.max("claim").over(of_partition))
        .groupBy(*_KEY)
        .agg(F.count_if("is_leading").alias(c.LEADER_COUNT), F.max(c.LAG).alias(c.LAG_MAX))
        .select(*_KEY, c.LEADER_COUNT, c.LAG_MAX)
    )
