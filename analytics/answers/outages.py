"""Which partition was unavailable, for how long, and why: as brokers and clients saw it."""

from __future__ import annotations

from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.failed_log_dirs import failed_log_dirs
from analytics.transforms.recoveries import silences

_PARTITION: Final = [*c.RUN, c.TOPIC, c.PARTITION]
_OUTAGE: Final = [*_PARTITION, c.BEGAN_MS]
_BROKERS: Final = "brokers"


class Seen(NamedTuple):
    """The metric tables that outages come from."""

    log_dirs: DataFrame
    replicas: DataFrame
    events: DataFrame
    clients: DataFrame


def outages(seen: Seen, failovers: DataFrame) -> DataFrame:
    """Output: one row per partition and time without service, the earliest of a run first.

    ``seen_by`` is "brokers" (no leader's sample for more than an interval: right to within one) or
    "client NAME" (no acknowledgement, about a failover). ``ended_ms`` is null for one that lasted
    to the run's end. ``cause`` is the log dir's failure, else the broker that fell silent, else
    "leader lost".
    """
    return (
        _of_samples(seen, failovers)
        .unionByName(_of_clients(seen, failovers))
        .orderBy(*c.RUN, c.BEGAN_MS, c.TOPIC, c.PARTITION, c.SEEN_BY)
    )


def _of_samples(seen: Seen, failovers: DataFrame) -> DataFrame:
    gaps = _leader_gaps(seen.replicas)
    failed = failed_log_dirs(failovers).withColumnRenamed(c.CAUSE, "error")
    end = F.coalesce(c.ENDED_MS, "run_end_ms")
    is_failed = (F.col(c.FAILED_AT_MS) >= F.col(c.BEGAN_MS) - F.col(c.INTERVAL_MS)) & (
        F.col(c.FAILED_AT_MS) <= end
    )
    silent = _silent_brokers(seen.log_dirs)
    is_silent = (F.col("silent_from_ms") < end) & (F.col("silent_to_ms") > F.col(c.BEGAN_MS))
    why = F.min(F.when(is_failed, F.struct(c.FAILED_AT_MS, c.FAILURE_ID, "error")))
    with_failure = (
        gaps.join(F.broadcast(failed), on=[*c.RUN, c.BROKER_ID, c.LOG_DIR], how="left")
        .groupBy(*_OUTAGE, c.ENDED_MS, "run_end_ms", c.BROKER_ID, c.LOG_DIR, c.LEADER_AFTER)
        .agg(why.alias("why"))
    )
    with_silence = (
        with_failure.join(F.broadcast(silent), on=[*c.RUN, c.BROKER_ID], how="left")
        .groupBy(*with_failure.columns)
        .agg(F.coalesce(F.max(is_silent), F.lit(0) == 1).alias("is_silent"))
    )
    return with_silence.select(
        *_PARTITION,
        F.lit(_BROKERS).alias(c.SEEN_BY),
        c.BEGAN_MS,
        c.ENDED_MS,
        (end - F.col(c.BEGAN_MS)).alias(c.DURATION_MS),
        F.col(c.BROKER_ID).alias(c.LEADER_BEFORE),
        c.LEADER_AFTER,
        _cause().alias(c.CAUSE),
        F.col(f"why.{c.FAILURE_ID}").alias(c.FAILURE_ID),
    )


def _cause() -> Column:
    disk = F.concat(F.lit("log dir "), F.col(c.LOG_DIR), F.lit(": "), F.col("why.error"))
    broker = F.concat(F.lit("broker "), F.col(c.BROKER_ID).cast("string"), F.lit(" silent"))
    return (
        F.when(F.col("why").isNotNull(), disk)
        .when(F.col("is_silent"), broker)
        .otherwise("leader lost")
    )


def _leader_gaps(replicas: DataFrame) -> DataFrame:
    """Output: the outage, ended_ms, run_end_ms, interval_ms, broker_id and log_dir that led."""
    by_time = Window.partitionBy(*_PARTITION).orderBy(c.AT_MS, c.LEADER_EPOCH, c.BROKER_ID)
    interval = F.greatest(F.col(c.INTERVAL_MS), F.lit(0))
    following = F.lead(F.col(c.AT_MS) - interval).over(by_time)
    end = F.coalesce(following, "run_end_ms")
    # The run's last samples are not all of one millisecond.
    least = F.when(following.isNull(), 2 * interval).otherwise(interval)
    is_led = F.col(c.IS_LEADER) & ~F.col(c.IS_FUTURE) & (F.col(c.INTERVAL_MS) > 0)
    led = replicas.where(is_led).join(F.broadcast(_run_ends(replicas)), on=list(c.RUN))
    return led.select(
        *_PARTITION,
        F.col(c.AT_MS).alias(c.BEGAN_MS),
        following.alias(c.ENDED_MS),
        "run_end_ms",
        interval.alias(c.INTERVAL_MS),
        c.BROKER_ID,
        c.LOG_DIR,
        F.lead(c.BROKER_ID).over(by_time).alias(c.LEADER_AFTER),
        (end - F.col(c.AT_MS) > least).alias("is_gap"),
    ).where("is_gap")


def _run_ends(rows: DataFrame) -> DataFrame:
    """Output: run, run_end_ms. A window over a run would have one task hold all rows of it."""
    return rows.groupBy(*c.RUN).agg(F.max(c.AT_MS).alias("run_end_ms"))


def _silent_brokers(log_dirs: DataFrame) -> DataFrame:
    """Output: run, broker_id, silent_from_ms, silent_to_ms: longer than an interval."""
    samples = log_dirs.groupBy(*c.RUN, c.BROKER_ID, c.AT_MS).agg(
        F.max(c.INTERVAL_MS).alias(c.INTERVAL_MS)
    )
    by_time = Window.partitionBy(*c.RUN, c.BROKER_ID).orderBy(c.AT_MS)
    following = F.lead(F.col(c.AT_MS) - F.col(c.INTERVAL_MS)).over(by_time)
    silence = F.col("silent_to_ms") - F.col("silent_from_ms")
    return (
        samples.join(F.broadcast(_run_ends(log_dirs)), on=list(c.RUN))
        .select(
            *c.RUN,
            c.BROKER_ID,
            F.col(c.AT_MS).alias("silent_from_ms"),
            F.coalesce(following, "run_end_ms").alias("silent_to_ms"),
            c.INTERVAL_MS,
        )
        .where((F.col(c.INTERVAL_MS) > 0) & (silence > F.col(c.INTERVAL_MS)))
    )


def _of_clients(seen: Seen, failovers: DataFrame) -> DataFrame:
    longest = silences(seen.events, seen.replicas, seen.clients)
    failed = failed_log_dirs(failovers).withColumnRenamed(c.BROKER_ID, c.LEADER_BEFORE)
    ended, lasted = F.col(f"longest.{c.SILENCE_ENDED_AT_MS}"), F.col(f"longest.{c.SILENCE_MS}")
    return longest.join(F.broadcast(failed), on=[*c.RUN, c.FAILURE_ID], how="inner").select(
        *_PARTITION,
        F.concat(F.lit("client "), F.col(f"longest.{c.CLIENT}")).alias(c.SEEN_BY),
        (ended - lasted).alias(c.BEGAN_MS),
        ended.alias(c.ENDED_MS),
        lasted.alias(c.DURATION_MS),
        c.LEADER_BEFORE,
        F.lit(None).cast("bigint").alias(c.LEADER_AFTER),
        F.concat(F.lit("log dir "), F.col(c.LOG_DIR), F.lit(": "), F.col(c.CAUSE)).alias(c.CAUSE),
        c.FAILURE_ID,
    )
