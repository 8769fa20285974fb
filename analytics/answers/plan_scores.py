"""What a reassignment plan would make better: scored on the measured sizes and write rates."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from analytics import columns as c
from analytics.answers.inequality import gini, largest_by_mean

PLAN: Final = StructType(
    [
        StructField(
            "partitions",
            ArrayType(
                StructType(
                    [
                        StructField(c.TOPIC, StringType()),
                        StructField(c.PARTITION, LongType()),
                        StructField("replicas", ArrayType(LongType())),
                        StructField("log_dirs", ArrayType(StringType())),
                    ]
                )
            ),
        )
    ]
)
"""The JSON of kafka-reassign-partitions."""
_PARTITION: Final = [c.TOPIC, c.PARTITION]
_ANY: Final = "any"


def plan_scores(
    plan: DataFrame, log_dirs: DataFrame, replicas: DataFrame, partitions: DataFrame
) -> DataFrame:
    """Input: ``PLAN``, ``log_dirs``, ReplicaRow, ``partitions``. Output: a row per run and measure.

    Measures: bytes, and write_bytes_per_s (each replica writes what its leader does). All log dirs
    that are online count, with what the last sample of each replica says; a replica that the plan
    leaves to "any" log dir stays where it is on its broker, else it goes to no log dir and only
    counts as moved. A run in which the plan moves nothing scores the same before and after.
    """
    now = _replicas_now(replicas).join(
        partitions.select(*c.RUN, *_PARTITION, c.WRITE_BYTES_PER_S),
        on=[*c.RUN, *_PARTITION],
        how="left",
    )
    then = _replicas_then(plan, now)
    places = log_dirs.where(F.col(c.STATE) == "online").select(*c.RUN, c.BROKER_ID, c.LOG_DIR)
    key = [*c.RUN, c.MEASURE]
    moved = (
        then.where("is_moved")
        .groupBy(*c.RUN)
        .agg(
            F.count(F.lit(1)).alias(c.MOVED_REPLICA_COUNT), F.sum(c.SIZE_BYTES).alias(c.MOVED_BYTES)
        )
    )
    before = _scores(places, now).toDF(*key, c.GINI_NOW, c.LARGEST_BY_MEAN_NOW)
    after = _scores(places, then).toDF(*key, c.GINI_THEN, c.LARGEST_BY_MEAN_THEN)
    return (
        before.join(after, on=key, how="inner")
        .join(moved, on=list(c.RUN), how="left")
        .fillna(0, subset=[c.MOVED_REPLICA_COUNT, c.MOVED_BYTES])
        .orderBy(*key)
    )


def _replicas_now(replicas: DataFrame) -> DataFrame:
    """Output: run, topic, partition, broker_id, log_dir, size_bytes, at each one's last sample."""
    last = F.max(F.struct(c.AT_MS, c.LOG_DIR, c.SIZE_BYTES)).alias("last")
    # A broker that no longer has a replica wrote later samples without it.
    latest = F.max(f"last.{c.AT_MS}").over(Window.partitionBy(*c.RUN, c.BROKER_ID))
    return (
        replicas.where(~F.col(c.IS_FUTURE))
        .groupBy(*c.RUN, *_PARTITION, c.BROKER_ID)
        .agg(last)
        .withColumn("latest", latest)
        .where(F.col(f"last.{c.AT_MS}") == F.col("latest"))
        .select(*c.RUN, *_PARTITION, c.BROKER_ID, f"last.{c.LOG_DIR}", f"last.{c.SIZE_BYTES}")
    )


def _replicas_then(plan: DataFrame, now: DataFrame) -> DataFrame:
    """Output: as ``_replicas_now`` with write_bytes_per_s and is_moved."""
    planned = plan.select(F.explode("partitions").alias("one")).select("one.*")
    log_dirs = F.coalesce("log_dirs", F.array_repeat(F.lit(_ANY), F.size("replicas")))
    targets = planned.select(
        *_PARTITION,
        F.explode(F.arrays_zip(F.col("replicas"), log_dirs.alias("log_dirs"))).alias("at"),
    ).select(*_PARTITION, F.col("at").getField("replicas").alias(c.BROKER_ID), _target())
    size = F.max(c.SIZE_BYTES).alias(c.SIZE_BYTES), F.max(c.WRITE_BYTES_PER_S)
    loads = now.groupBy(*c.RUN, *_PARTITION).agg(size[0], size[1].alias(c.WRITE_BYTES_PER_S))
    where = now.select(*c.RUN, *_PARTITION, c.BROKER_ID, F.col(c.LOG_DIR).alias("log_dir_now"))
    placed = F.coalesce("target", "log_dir_now")
    going = (
        loads.join(F.broadcast(targets), on=_PARTITION, how="inner")
        .join(where, on=[*c.RUN, *_PARTITION, c.BROKER_ID], how="left")
        .select(
            *c.RUN,
            *_PARTITION,
            c.BROKER_ID,
            placed.alias(c.LOG_DIR),
            c.SIZE_BYTES,
            c.WRITE_BYTES_PER_S,
            (~placed.eqNullSafe(F.col("log_dir_now")) | placed.isNull()).alias("is_moved"),
        )
    )
    staying = now.join(F.broadcast(planned.select(*_PARTITION)), on=_PARTITION, how="anti")
    return going.unionByName(staying.withColumn("is_moved", F.lit(0) == 1))


def _target() -> Column:
    log_dir = F.col("at").getField("log_dirs")
    return F.when(log_dir != _ANY, log_dir).alias("target")


def _scores(places: DataFrame, replicas: DataFrame) -> DataFrame:
    """Output: run, measure, gini, largest by mean, over all ``places``."""
    place = [*c.RUN, c.BROKER_ID, c.LOG_DIR]
    loads = replicas.groupBy(*place).agg(
        F.sum(c.SIZE_BYTES).cast("double").alias("bytes"),
        F.sum(c.WRITE_BYTES_PER_S).alias(c.WRITE_BYTES_PER_S),
    )
    return (
        places.join(loads, on=place, how="left")
        .fillna(0.0)
        .unpivot([*map(F.col, place)], ["bytes", c.WRITE_BYTES_PER_S], c.MEASURE, "load")
        .groupBy(*c.RUN, c.MEASURE)
        .agg(gini("load"), largest_by_mean("load"))
    )
