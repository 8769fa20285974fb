"""Each move of a replica to another log dir: how much, how long, how it ended, what it cost."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c

_KEY = [
    *c.RUN,
    c.BROKER_ID,
    c.TOPIC,
    c.PARTITION,
    c.SOURCE_LOG_DIR,
    c.TARGET_LOG_DIR,
    c.STARTED_AT_MS,
]
_ENDED = ["done", "cancelled", "failed"]


def moves(rows: DataFrame) -> DataFrame:
    """Input: MoveProgressRow. Output: one row per move, the earliest of a run first.

    ``bytes_per_s`` is null for a move with no time between start and last row; ``throttle_share``
    is what it used of its broker's throttle, null without one. A move that did not end, such as
    one whose broker did, keeps its last state and is not finished.
    """
    # Of two rows in one millisecond the one that says more is later.
    order = F.struct(c.AT_MS, F.col(c.STATE).isin(_ENDED).alias("is_over"), c.COPIED_BYTES, c.STATE)
    seen = F.struct(order.alias("order"), c.TOTAL_BYTES, c.THROTTLE_BYTES_PER_S)
    ended = rows.groupBy(*_KEY).agg(F.max(seen).alias("last"))
    duration = F.col(f"last.order.{c.AT_MS}") - F.col(c.STARTED_AT_MS)
    rate = F.when(duration > 0, F.col(f"last.order.{c.COPIED_BYTES}") * 1000 / duration)
    throttle = F.col(f"last.{c.THROTTLE_BYTES_PER_S}")
    return ended.select(
        *_KEY,
        f"last.order.{c.STATE}",
        F.col("last.order.is_over").alias(c.IS_FINISHED),
        F.col(f"last.order.{c.AT_MS}").alias(c.LAST_SEEN_MS),
        f"last.order.{c.COPIED_BYTES}",
        f"last.{c.TOTAL_BYTES}",
        duration.alias(c.DURATION_MS),
        rate.alias(c.BYTES_PER_S),
        F.when(throttle > 0, throttle).alias(c.THROTTLE_BYTES_PER_S),
        F.when(throttle > 0, rate / throttle).alias(c.THROTTLE_SHARE),
    ).orderBy(*c.RUN, c.STARTED_AT_MS, *_KEY)
