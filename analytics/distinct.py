"""Rows that a dump holds twice, such as when a rotated file was copied: each counts once."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "log_dir": (c.BROKER_ID, c.LOG_DIR, c.AT_MS, c.BROKER_EPOCH, c.APPEND_COUNT_TOTAL),
    "replica": (c.BROKER_ID, c.TOPIC, c.PARTITION, c.LOG_DIR, c.IS_FUTURE, c.AT_MS),
    "failover_event": (c.FAILURE_ID, c.STEP, c.NODE, c.AT_MS),
    "move_progress": (c.BROKER_ID, c.TOPIC, c.PARTITION, c.STARTED_AT_MS, c.AT_MS, c.STATE),
    "reassignment_progress": (c.TOPIC, c.PARTITION, c.STARTED_AT_MS, c.AT_MS, c.STATE),
    "request": (c.BROKER_ID, c.API, c.AT_MS),
    "latency": (c.BROKER_ID, c.SCOPE, c.NAME, c.OPERATION, c.AT_MS, c.SUM_US),
    "client": (c.CLIENT, c.TOPIC, c.PARTITION, c.AT_MS),
}
"""What tells two rows of one run apart; with the columns of ``columns.RUN``."""


def distinct_rows(rows: DataFrame, table: str) -> DataFrame:
    """Input and output: the rows of ``table``; of those with one key any one is kept.

    On a stream call ``withWatermark`` before, on the event time, or its state grows for ever.
    """
    key = [*c.RUN, *KEYS[table]]
    if rows.isStreaming:
        return rows.dropDuplicates(key)
    # Spark sorts by the key, in the order given here. Nodes write in the order of time, so by time
    # rows are nearly sorted, and two times are compared sooner than names that are mostly equal.
    by_time = sorted(key, key=lambda name: name != c.AT_MS)
    others = [
        F.first(field.name).alias(field.name, metadata=field.metadata)
        for field in rows.schema
        if field.name not in key
    ]
    return rows.groupBy(*by_time).agg(*others).select(*rows.columns)


def has_copies(rows: DataFrame, table: str) -> bool:
    """Tell whether several rows of ``table`` may have one key: whether a hash of it repeats."""
    key = F.xxhash64(*c.RUN, *KEYS[table]).alias("key")
    repeats = F.count(F.lit(1)) > F.count_distinct("key")
    [found] = rows.select(key).agg(repeats.alias("has_copies")).collect()
    return found["has_copies"]
