"""How fast each partition grows, who leads it, and for how long nobody did."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c

_PARTITION = [*c.RUN, c.TOPIC, c.PARTITION]
_REPLICA = [*c.RUN, c.BROKER_ID, c.TOPIC, c.PARTITION]


def partitions(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: one row per partition, the busiest of a run first.

    ``write_bytes_per_s`` is what the leaders' logs grew by, over the time that the run's samples
    cover: the same for all partitions, whoever led and whatever was deleted meanwhile. It is null
    for a partition with one sample. ``unavailable_ms`` is without a leader's sample, to within one
    interval; the end of the run counts.
    """
    rate = F.col("growth") * 1000 / F.col(c.DURATION_MS)
    is_measured = (F.col(c.DURATION_MS) > 0) & F.col("is_sampled_again")
    return (
        leader_growth(replicas)
        .join(_leaderships(replicas), on=_PARTITION, how="left")
        .join(F.broadcast(_windows(replicas)), on=list(c.RUN), how="inner")
        .select(
            *_PARTITION,
            F.when(is_measured, rate).alias(c.WRITE_BYTES_PER_S),
            F.col(f"last.{c.BROKER_ID}").alias(c.LEADER),
            f"last.{c.LEADER_EPOCH}",
            f"last.{c.ISR_COUNT}",
            f"last.{c.SIZE_BYTES}",
            F.col(f"last.{c.AT_MS}").alias(c.LAST_SEEN_MS),
            _unavailable().alias(c.UNAVAILABLE_MS),
            F.coalesce(c.UNDER_MIN_ISR_MS, F.lit(0)).alias(c.UNDER_MIN_ISR_MS),
        )
        .orderBy(*c.RUN, F.desc_nulls_last(c.WRITE_BYTES_PER_S), c.TOPIC, c.PARTITION)
    )


def leader_growth(replicas: DataFrame) -> DataFrame:
    """Input: ReplicaRow. Output: run, topic, partition, growth (bytes), is_sampled_again.

    A replica's log counts from its sample before the first one as a leader: what followers and
    future logs grow by may be a copy of what was written long before.
    """
    by_time = Window.partitionBy(*_REPLICA).orderBy(c.AT_MS, c.SIZE_BYTES)
    growth = F.col(c.SIZE_BYTES) - F.lag(c.SIZE_BYTES).over(by_time)
    led = F.when(F.col(c.IS_LEADER), F.greatest("growth", F.lit(0))).otherwise(0)
    return (
        replicas.where(~F.col(c.IS_FUTURE))
        .select(*_REPLICA, c.AT_MS, c.IS_LEADER, growth.alias("growth"))
        .groupBy(*_PARTITION)
        .agg(
            F.coalesce(F.sum(led), F.lit(0)).alias("growth"),
            # To count distinct times would take a shuffle of nearly all rows.
            (F.min(c.AT_MS) < F.max(c.AT_MS)).alias("is_sampled_again"),
        )
    )


def _windows(replicas: DataFrame) -> DataFrame:
    return replicas.groupBy(*c.RUN).agg(
        F.max(c.AT_MS).alias("run_end_ms"),
        (F.max(c.AT_MS) - F.min(c.AT_MS)).alias(c.DURATION_MS),
    )


def _leaderships(replicas: DataFrame) -> DataFrame:
    """Return the last leader's sample of each partition, and for how long it had none."""
    by_time = Window.partitionBy(*_PARTITION).orderBy(c.AT_MS, c.LEADER_EPOCH, c.BROKER_ID)
    interval = F.greatest(F.col(c.INTERVAL_MS), F.lit(0))
    gap = F.col(c.AT_MS) - interval - F.lag(c.AT_MS).over(by_time)
    last = F.struct(
        c.LEADER_EPOCH, c.AT_MS, c.BROKER_ID, c.ISR_COUNT, c.SIZE_BYTES, interval.alias("interval")
    )
    return (
        replicas.where(F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE))
        .select("*", interval.alias("interval"), gap.alias("gap"))
        .groupBy(*_PARTITION)
        .agg(
            F.max(last).alias("last"),
            F.sum(F.when(F.col("gap") > F.col("interval"), F.col("gap"))).alias("gaps_ms"),
            F.sum(F.when(F.col(c.IS_UNDER_MIN_ISR), F.col("interval"))).alias(c.UNDER_MIN_ISR_MS),
        )
    )


def _unavailable() -> Column:
    """The gaps between leaders' samples, and the one at the run's end if it is a long one."""
    silence = F.col("run_end_ms") - F.col(f"last.{c.AT_MS}")
    tail = F.when(silence > 2 * F.col("last.interval"), silence).otherwise(0)
    covered = F.col("last.interval") > 0
    return F.when(covered, F.coalesce("gaps_ms", F.lit(0)) + tail)
