"""Each move of a replica to another log dir: how much, how long, how it ended."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c

_KEY = [
    c.BROKER_ID,
    c.TOPIC,
    c.PARTITION,
    c.SOURCE_LOG_DIR,
    c.TARGET_LOG_DIR,
    c.STARTED_AT_MS,
]


def moves(rows: DataFrame) -> DataFrame:
    """Input: MoveProgressRow. Output: one row per move, the earliest first.

    ``bytes_per_s`` is null for a move with no time between start and last row.
    """
    last = F.max_by(F.struct(c.STATE, c.COPIED_BYTES, c.TOTAL_BYTES), c.AT_MS).alias("last")
    ended = rows.groupBy(*_KEY).agg(F.max(c.AT_MS).alias(c.AT_MS), last)
    duration = F.col(c.AT_MS) - F.col(c.STARTED_AT_MS)
    rate = F.col(f"last.{c.COPIED_BYTES}") * 1000 / duration
    return ended.select(
        *_KEY,
        f"last.{c.STATE}",
        f"last.{c.COPIED_BYTES}",
        f"last.{c.TOTAL_BYTES}",
        duration.alias(c.DURATION_MS),
        F.when(duration > 0, rate).alias(c.BYTES_PER_S),
    ).orderBy(c.STARTED_AT_MS, *_KEY)
