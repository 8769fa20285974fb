"""How often each API was called on each broker, and how fast it was answered."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import schema as s


def requests(rows: DataFrame) -> DataFrame:
    """Input: RequestRow. Output: one row per broker and API, the busiest API of a broker first.

    ``per_s`` is over the whole time that the broker's rows cover, so that APIs compare. Percentiles
    of intervals cannot be merged: ``p50_mean_us`` is their mean weighted by requests,
    ``p99_worst_us`` the worst interval's.
    """
    weighted = F.sum(F.col(s.P50_US) * F.col(s.REQUEST_COUNT)) / F.sum(s.REQUEST_COUNT)
    by_api = rows.groupBy(s.BROKER_ID, s.API).agg(
        F.sum(s.REQUEST_COUNT).alias(s.REQUEST_COUNT),
        F.sum(s.ERROR_COUNT).alias(s.ERROR_COUNT),
        weighted.alias(s.P50_MEAN_US),
        F.max(s.P99_US).alias(s.P99_WORST_US),
        F.max(s.MAX_US).alias(s.MAX_US),
        F.sum(s.RECEIVED_BYTES).alias(s.RECEIVED_BYTES),
        F.sum(s.SENT_BYTES).alias(s.SENT_BYTES),
    )
    rate = F.col(s.REQUEST_COUNT) * 1000 / F.col(s.DURATION_MS)
    return (
        by_api.where(F.col(s.REQUEST_COUNT) > 0)
        .join(_covered_time(rows), on=[s.BROKER_ID], how="inner")
        .select(
            s.BROKER_ID,
            s.API,
            s.REQUEST_COUNT,
            s.ERROR_COUNT,
            F.when(F.col(s.DURATION_MS) > 0, rate).alias(s.PER_S),
            s.P50_MEAN_US,
            s.P99_WORST_US,
            s.MAX_US,
            s.RECEIVED_BYTES,
            s.SENT_BYTES,
        )
        .orderBy(F.col(s.BROKER_ID), F.col(s.REQUEST_COUNT).desc(), F.col(s.API))
    )


def _covered_time(rows: DataFrame) -> DataFrame:
    begin = F.min(F.col(s.AT_MS) - F.col(s.INTERVAL_MS))
    return rows.groupBy(s.BROKER_ID).agg((F.max(s.AT_MS) - begin).alias(s.DURATION_MS))
