"""How often each API was called on each broker, and how fast it was answered."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c

_BROKER = [*c.RUN, c.BROKER_ID]


def requests(rows: DataFrame) -> DataFrame:
    """Input: RequestRow. Output: one row per broker and API, the busiest API of a broker first.

    ``per_s`` is over the whole time that the broker's rows cover, so that APIs compare. Percentiles
    of intervals cannot be merged: ``p50_mean_us`` is their mean weighted by requests,
    ``p99_worst_us`` the worst interval's. ``latencies`` has those of all requests.
    """
    weighted = F.sum(F.col(c.P50_US) * F.col(c.REQUEST_COUNT)) / F.sum(c.REQUEST_COUNT)
    by_api = rows.groupBy(*_BROKER, c.API).agg(
        F.sum(c.REQUEST_COUNT).alias(c.REQUEST_COUNT),
        F.sum(c.ERROR_COUNT).alias(c.ERROR_COUNT),
        weighted.alias(c.P50_MEAN_US),
        F.max(c.P99_US).alias(c.P99_WORST_US),
        F.max(c.MAX_US).alias(c.MAX_US),
        F.sum(c.RECEIVED_BYTES).alias(c.RECEIVED_BYTES),
        F.sum(c.SENT_BYTES).alias(c.SENT_BYTES),
        F.min(F.col(c.AT_MS) - F.col(c.INTERVAL_MS)).alias(c.FIRST_MS),
        F.max(c.AT_MS).alias(c.LAST_MS),
    )
    rate = F.col(c.REQUEST_COUNT) * 1000 / F.col(c.DURATION_MS)
    return (
        by_api.withColumn(c.DURATION_MS, _covered_time())
        .where(F.col(c.REQUEST_COUNT) > 0)
        .select(
            *_BROKER,
            c.API,
            c.REQUEST_COUNT,
            c.ERROR_COUNT,
            F.when(F.col(c.DURATION_MS) > 0, rate).alias(c.PER_S),
            c.P50_MEAN_US,
            c.P99_WORST_US,
            c.MAX_US,
            c.RECEIVED_BYTES,
            c.SENT_BYTES,
        )
        .orderBy(*_BROKER, F.col(c.REQUEST_COUNT).desc(), F.col(c.API))
    )


def _covered_time() -> Column:
    of_broker = Window.partitionBy(*_BROKER)
    return F.max(c.LAST_MS).over(of_broker) - F.min(c.FIRST_MS).over(of_broker)
