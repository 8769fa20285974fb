"""Each move of a replica to another log dir: how much, how long, how it ended."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import schema as s

_KEY = [
    s.BROKER_ID,
    s.TOPIC,
    s.PARTITION,
    s.SOURCE_LOG_DIR,
    s.TARGET_LOG_DIR,
    s.STARTED_AT_MS,
]


def moves(rows: DataFrame) -> DataFrame:
    """Input: MoveProgressRow. Output: one row per move, the earliest first.

    ``bytes_per_s`` is null for a move with no time between start and last row.
    """
    last = F.max_by(F.struct(s.STATE, s.COPIED_BYTES, s.TOTAL_BYTES), s.AT_MS).alias("last")
    ended = rows.groupBy(*_KEY).agg(F.max(s.AT_MS).alias(s.AT_MS), last)
    duration = F.col(s.AT_MS) - F.col(s.STARTED_AT_MS)
    rate = F.col(f"last.{s.COPIED_BYTES}") * 1000 / duration
    return ended.select(
        *_KEY,
        f"last.{s.STATE}",
        f"last.{s.COPIED_BYTES}",
        f"last.{s.TOTAL_BYTES}",
        duration.alias(s.DURATION_MS),
        F.when(duration > 0, rate).alias(s.BYTES_PER_S),
    ).orderBy(s.STARTED_AT_MS, *_KEY)
