"""What many simulated clusters came to: distributions by what they had, and the outliers.

Input everywhere: rows of ``SEED``, one per seed.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from analytics import columns as c

OUTLIERS_MAX: Final = 20
"""Seeds beside those that violate something."""
_TEXTS: Final = ArrayType(StringType())
_BY_NAME: Final = MapType(StringType(), StringType())
SEED: Final = StructType(
    [
        StructField(c.SEED, LongType()),
        StructField("replay", StringType()),
        StructField("cell", _BY_NAME),
        StructField("features", _TEXTS),
        StructField("is_ok", BooleanType()),
        StructField("error", StringType()),
        StructField("violations", _TEXTS),
        StructField("trace_hash", StringType()),
        StructField("steps", LongType()),
        StructField("virtual_ms", LongType()),
        StructField("acknowledged_count", LongType()),
        StructField("read_count", LongType()),
        StructField("healed_after_ms", LongType()),
        StructField("fault_hits", MapType(StringType(), LongType())),
        StructField("plan", StringType()),
        StructField("broker_count", LongType()),
        StructField("log_dir_count", LongType()),
        StructField("heartbeat_interval_ms", LongType()),
        StructField("session_timeout_ms", LongType()),
        StructField("configs", _BY_NAME),
        StructField(c.UNAVAILABLE_MS, LongType()),
        StructField("silent_partition_count", LongType()),
        StructField("event_lines", _TEXTS),
    ]
)
"""What is kept of a seed; nulls behind ``error`` where the run itself failed."""


def event_lines(seeds: DataFrame) -> DataFrame:
    """Output: line, file, version of all failover events, as a dump has them."""
    return seeds.select(
        F.explode("event_lines").alias(c.LINE),
        F.concat(F.lit("seed "), F.col(c.SEED)).alias(c.FILE),
        F.lit(0).alias(c.VERSION),
    )


def distributions(seeds: DataFrame) -> DataFrame:
    """Output: a row per kind and value of what seeds had, with how long clients were not served.

    Kinds: ``cause`` (what was broken), ``policy`` (a configuration), ``shape`` (brokers x log
    dirs), ``feature`` (of a drawn plan), ``factor`` and ``cell`` (of an experiment), ``all``.
    """
    return (
        _marked(seeds)
        .groupBy("kind", "value")
        .agg(
            F.count(F.lit(1)).alias("seed_count"),
            F.count_if(~F.col("is_ok")).alias("violation_count"),
            *[
                F.percentile(c.UNAVAILABLE_MS, share).alias(name)
                for name, share in ((c.P50_MS, 0.5), (c.P90_MS, 0.9), (c.P99_MS, 0.99))
            ],
            F.max(c.UNAVAILABLE_MS).alias(c.MAX_MS),
        )
        .orderBy("kind", "value")
    )


def _marked(seeds: DataFrame) -> DataFrame:
    """Return each seed once for everything that it had."""
    interval = F.concat(F.lit("heartbeat.interval.ms="), F.col("heartbeat_interval_ms"))
    session = F.concat(F.lit("session.timeout.ms="), F.col("session_timeout_ms"))
    met = F.map_filter("fault_hits", lambda _, hits: hits > 0)
    kinds = {
        "all": F.array(F.lit("")),
        "cause": F.map_keys(met),
        "policy": F.concat(_named("configs"), F.array(interval, session)),
        "shape": F.array(F.concat_ws("x", "broker_count", "log_dir_count")),
        "feature": F.col("features"),
        "factor": _named("cell"),
        "cell": F.when(F.size("cell") > 0, F.array(F.array_join(_named("cell"), " "))),
    }
    marked = [
        seeds.select(
            F.lit(kind).alias("kind"), F.explode(value).alias("value"), "is_ok", c.UNAVAILABLE_MS
        )
        for kind, value in kinds.items()
    ]
    return reduce(DataFrame.unionByName, marked)


def _named(of: str) -> Column:
    """Return "name=value" of everything in a map, in the order of the names."""
    pairs = F.transform(
        F.map_entries(of), lambda pair: F.concat_ws("=", pair["key"], pair["value"])
    )
    return F.array_sort(pairs)


def outliers(seeds: DataFrame) -> DataFrame:
    """Output: all seeds that violate something, and those that clients waited for the longest."""
    first = F.try_element_at("violations", F.lit(1))
    columns = [
        c.SEED,
        "is_ok",
        c.UNAVAILABLE_MS,
        F.coalesce(first, F.col("error"), F.lit("")).alias("found"),
        "replay",
    ]
    bad = seeds.where(~F.col("is_ok"))
    slow = seeds.where("is_ok").orderBy(F.desc(c.UNAVAILABLE_MS), c.SEED).limit(OUTLIERS_MAX)
    both = bad.select(*columns).unionByName(slow.select(*columns))
    return both.orderBy("is_ok", F.desc(c.UNAVAILABLE_MS), c.SEED)
