"""Each broker, bucket by bucket: its disks, and what it was asked."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.facts.buckets import bucket_columns, bucket_of, per_second

_KEY = [*c.RUN, c.BROKER_ID]


def broker_facts(rows: DataFrame, bucket: str) -> DataFrame:
    """Input: LogDirRow with event time. Output: one row per bucket and broker that wrote any."""
    offline = F.when(~F.col(c.ONLINE), F.col(c.LOG_DIR))
    grouped = rows.groupBy(bucket_of(bucket), *_KEY).agg(
        F.size(F.collect_set(c.LOG_DIR)).alias(c.LOG_DIR_COUNT),
        F.size(F.collect_set(offline)).alias(c.OFFLINE_LOG_DIR_COUNT),
        F.max(c.QUEUE_DEPTH_COUNT).alias(c.QUEUE_DEPTH_MAX),
        F.max(c.AT_MS).alias(c.LAST_SEEN_MS),
    )
    return grouped.select(
        *bucket_columns(),
        *_KEY,
        c.LOG_DIR_COUNT,
        c.OFFLINE_LOG_DIR_COUNT,
        c.QUEUE_DEPTH_MAX,
        c.LAST_SEEN_MS,
    )


def request_facts(rows: DataFrame, bucket: str) -> DataFrame:
    """Input: RequestRow with event time. Output: one row per bucket, broker and API."""
    grouped = rows.groupBy(bucket_of(bucket), *_KEY, c.API).agg(
        F.sum(c.REQUEST_COUNT).alias(c.REQUEST_COUNT),
        F.sum(c.ERROR_COUNT).alias(c.ERROR_COUNT),
        F.sum(c.RECEIVED_BYTES).alias(c.RECEIVED_BYTES),
        F.sum(c.SENT_BYTES).alias(c.SENT_BYTES),
        F.sum(c.INTERVAL_MS).alias(c.COVERED_MS),
    )
    return grouped.select(
        *bucket_columns(),
        *_KEY,
        c.API,
        c.REQUEST_COUNT,
        c.ERROR_COUNT,
        per_second(F.col(c.REQUEST_COUNT), F.col(c.COVERED_MS)).alias(c.PER_S),
        c.RECEIVED_BYTES,
        c.SENT_BYTES,
    )
