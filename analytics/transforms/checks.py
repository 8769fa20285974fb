"""What is the matter with a dump: said in every report, so that nobody trusts a number too far."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c

_NAMED_MAX: Final = 10
"""Partitions that are named where many are the matter."""


def set_aside(lines: DataFrame) -> DataFrame:
    """Input: ``clean.malformed_lines``. Output: check, table, detail (the reason), row_count."""
    return _counted(lines, c.SET_ASIDE, F.col(c.TABLE), F.col(c.REASON))


def unknown(found: DataFrame) -> DataFrame:
    """Input: ``clean.unknown_columns``. Output: check, table, detail (the column), row_count."""
    return found.select(
        F.lit("unknown column, left out").alias(c.CHECK),
        c.TABLE,
        F.col(c.UNKNOWN_COLUMN).alias(c.DETAIL),
        c.ROW_COUNT,
    )


def sample_gaps(log_dirs: DataFrame) -> DataFrame:
    """Input: LogDirRow. Output: check, table, detail (run and broker), row_count (gaps).

    A gap is longer than an interval, between the samples of one life of a broker.
    """
    life = [*c.RUN, c.BROKER_ID, c.BROKER_EPOCH]
    samples = log_dirs.groupBy(*life, c.AT_MS).agg(F.max(c.INTERVAL_MS).alias(c.INTERVAL_MS))
    by_time = Window.partitionBy(*life).orderBy(c.AT_MS)
    gap = F.col(c.AT_MS) - F.col(c.INTERVAL_MS) - F.lag(c.AT_MS).over(by_time)
    late = samples.withColumn("gap", gap).where(
        (F.col(c.INTERVAL_MS) > 0) & (F.col("gap") > F.col(c.INTERVAL_MS))
    )
    return _counted(late, "gap in samples", F.lit("log_dir"), _of_broker())


def stale_log_dirs(log_dirs: DataFrame) -> DataFrame:
    """Input: ``log_dirs``. Output: check, table, detail (run and broker), row_count (log dirs)."""
    stale = log_dirs.where(F.col(c.STATE) == "stale")
    return _counted(stale, "broker not seen at the end", F.lit("log_dir"), _of_broker())


def unfinished_failovers(failovers: DataFrame) -> DataFrame:
    """Input: ``failovers``. Output: check, table, detail (failure and step), row_count."""
    detail = F.concat_ws(" ", c.RUN_ID, c.FAILURE_ID, F.lit("waits for"), c.WAITING_FOR)
    rows = failovers.where(~F.col(c.IS_FINISHED))
    return _counted(rows, "unfinished failover", F.lit("failover_event"), detail)


def clock_skews(failovers: DataFrame) -> DataFrame:
    """Input: ``failovers``. Output: check, table, detail (failure, ms), row_count."""
    skew = F.concat(F.col(c.CLOCK_SKEW_MS).cast("string"), F.lit(" ms"))
    rows = failovers.where(F.col(c.CLOCK_SKEW_MS) > 0)
    detail = F.concat_ws(" ", c.RUN_ID, c.FAILURE_ID, skew)
    return _counted(rows, "clocks disagree", F.lit("failover_event"), detail)


def unknown_planned(plan: DataFrame, partitions: DataFrame) -> DataFrame:
    """Input: ``plan_scores.PLAN``, ``partitions``. Output: check, table, detail (names), row_count.

    One row names the first of them, and counts all; without any there is none.
    """
    key = [c.TOPIC, c.PARTITION]
    planned = plan.select(F.explode("partitions").alias("one")).select("one.*").select(*key)
    unknown_ones = planned.distinct().join(partitions.select(*key), on=key, how="left_anti")
    name = F.concat_ws("-", c.TOPIC, F.col(c.PARTITION).cast("string"))
    found = F.sort_array(F.collect_list(F.struct(*key, name.alias("name")))).getField("name")
    row_count = F.count(F.lit(1)).alias(c.ROW_COUNT)
    return (
        unknown_ones.agg(found.alias("names"), row_count)
        .where(F.col(c.ROW_COUNT) > 0)
        .select(
            F.lit(c.UNKNOWN_PLANNED).alias(c.CHECK),
            F.lit("partitions").alias(c.TABLE),
            F.concat_ws(", ", F.slice("names", 1, _NAMED_MAX)).alias(c.DETAIL),
            c.ROW_COUNT,
        )
    )


def _of_broker() -> Column:
    return F.concat(F.col(c.RUN_ID), F.lit(" broker "), F.col(c.BROKER_ID).cast("string"))


def _counted(rows: DataFrame, check: str, table: Column, detail: Column) -> DataFrame:
    return (
        rows.select(F.lit(check).alias(c.CHECK), table.alias(c.TABLE), detail.alias(c.DETAIL))
        .groupBy(c.CHECK, c.TABLE, c.DETAIL)
        .agg(F.count(F.lit(1)).alias(c.ROW_COUNT))
        .select(c.CHECK, c.TABLE, c.DETAIL, c.ROW_COUNT)
    )
