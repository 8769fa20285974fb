"""Each reassignment of a partition, bucket by bucket: its rate, its throttle, its producers."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.reassignments import ENDED, added_samples
from analytics.facts.buckets import bucket_columns, bucket_of, per_second

_PARTITION: Final = [*c.RUN, c.TOPIC, c.PARTITION]
_KEY: Final = [*_PARTITION, c.STARTED_AT_MS]
_SHOWN: Final = [c.LAST_SEEN_MS, c.ADDING, c.REMOVING, c.PRODUCE_P99_BEFORE_US]


def reassignment_facts(
    reassignments: DataFrame,
    rows: DataFrame,
    replicas: DataFrame,
    latency_facts: DataFrame,
    bucket: str,
) -> DataFrame:
    """Output: one row per reassignment and bucket in which it was under way.

    Input: ``reassignments``, ReassignmentProgressRow, ReplicaRow, ``latency_facts`` of the same
    ``bucket``. State, leader and throttle are those that were told last before the bucket's end:
    not every interval tells of each one. ``copied_bytes`` adds up to that of ``reassignments``;
    what was sampled after its end counts in its last bucket. Null where nobody sampled what it
    adds, as ``bytes_per_s``, which is of the time between samples.
    """
    copied, rate = F.col(c.COPIED_BYTES), F.col(c.BYTES_PER_S)
    throttle = F.when(F.col("last.throttle") > 0, F.col("last.throttle"))
    return (
        _spans(reassignments, rows, bucket)
        .join(_copies(reassignments, replicas, bucket), on=[*_KEY, c.BUCKET], how="left")
        .join(_produced(latency_facts), on=[*c.RUN, c.LEADER, c.BUCKET], how="left")
        .select(
            *(c.BUCKET, c.BUCKET_MS, *_KEY, f"last.{c.STATE}", c.ADDING, c.REMOVING, c.LEADER),
            F.when(F.size(c.ADDING) > 0, copied).otherwise(0).alias(c.COPIED_BYTES),
            c.BYTES_PER_S,
            throttle.alias(c.THROTTLE_BYTES_PER_S),
            (rate / throttle).alias(c.THROTTLE_SHARE),
            *(c.PRODUCE_P99_BEFORE_US, c.PRODUCE_P99_US),
        )
    )


def _spans(reassignments: DataFrame, rows: DataFrame, bucket: str) -> DataFrame:
    """Output: the key and the bucket, what was told ``last`` in it or before, leader."""
    begun = _told(reassignments, rows).withColumn(c.AT, F.timestamp_millis(c.STARTED_AT_MS))
    first = begun.withColumn("window", bucket_of(bucket)).select("*", *bucket_columns())
    length, begin = F.col(c.BUCKET_MS), F.unix_millis(c.BUCKET)
    numbers = F.sequence(F.lit(0).cast("bigint"), F.floor((F.col(c.LAST_SEEN_MS) - begin) / length))
    each = first.select("*", F.explode(numbers).alias("number")).withColumn(
        c.BUCKET, F.timestamp_millis(begin + F.col("number") * length)
    )
    so_far = F.filter("told", lambda one: one[c.AT_MS] < F.unix_millis(c.BUCKET) + length)
    last = F.coalesce(F.array_max(so_far), F.array_min("told")).alias("last")
    each = each.select(c.BUCKET, c.BUCKET_MS, *_KEY, *_SHOWN, last)
    return each.withColumn(c.LEADER, F.col(f"last.{c.LEADER}"))


def _told(reassignments: DataFrame, rows: DataFrame) -> DataFrame:
    """Output: the key, what is shown, and ``told``: all that was said of it.

    Rows of a controller that goes on with it begin later, and before it ends; those of the one that
    replaces it begin when it ends.
    """
    told_from, begin, end = F.col("told_from"), F.col(c.STARTED_AT_MS), F.col(c.LAST_SEEN_MS)
    is_over = F.col(c.STATE).isin(ENDED).alias("is_over")
    throttle = F.col(c.THROTTLE_BYTES_PER_S).alias("throttle")
    said = rows.select(
        *_PARTITION,
        F.col(c.STARTED_AT_MS).alias("told_from"),
        F.struct(c.AT_MS, is_over, c.STATE, c.LEADER, throttle).alias("said"),
    )
    is_of_it = (told_from == begin) | ((told_from > begin) & (told_from < end))
    return (
        reassignments.select(*_KEY, *_SHOWN)
        .join(said, on=_PARTITION)
        .where(is_of_it & (F.col("said")[c.AT_MS] <= end))
        .groupBy(*_KEY, *_SHOWN)
        .agg(F.collect_list("said").alias("told"))
    )


def _copies(reassignments: DataFrame, replicas: DataFrame, bucket: str) -> DataFrame:
    """Output: the key and the bucket, copied_bytes, bytes_per_s.

    Several replicas that grow at once add their rates up, so the time that samples stand for is
    divided by how many there are.
    """
    sampled = added_samples(reassignments, replicas).select(*_KEY, c.LAST_SEEN_MS, "sample.*")
    in_order = Window.partitionBy(*_KEY, c.BROKER_ID).orderBy(c.AT_MS, c.SIZE_BYTES)
    before = F.lag(F.struct(c.AT_MS, c.SIZE_BYTES)).over(in_order)
    at, begin = F.col(c.AT_MS), F.col(c.STARTED_AT_MS)
    replicas_count = F.size(F.collect_set(c.BROKER_ID))
    time_ms = F.sum(at - F.greatest(F.col("before")[c.AT_MS], begin))
    return (
        sampled.withColumn("before", before)
        .where(at > begin)
        .withColumn(c.AT, F.timestamp_millis(F.least(at, c.LAST_SEEN_MS)))
        .groupBy(bucket_of(bucket), *_KEY)
        .agg(
            F.sum(_more()).alias(c.COPIED_BYTES),
            per_second(F.sum(_more()) * replicas_count, time_ms).alias(c.BYTES_PER_S),
        )
        .select(*_KEY, F.col("window.start").alias(c.BUCKET), c.COPIED_BYTES, c.BYTES_PER_S)
    )


def _more() -> Column:
    """Return by how much a replica grew since the sample ``before``; a new one had nothing."""
    grown = F.col(c.SIZE_BYTES) - F.coalesce(F.col("before")[c.SIZE_BYTES], F.lit(0))
    return F.greatest(grown, F.lit(0))


def _produced(latency_facts: DataFrame) -> DataFrame:
    """Output: run, leader, bucket, produce_p99_us of its Produce requests."""
    is_produce = (F.col(c.SCOPE) == "api") & (F.col(c.NAME) == "Produce")
    return latency_facts.where(is_produce).select(
        *c.RUN,
        F.col(c.BROKER_ID).alias(c.LEADER),
        c.BUCKET,
        F.col(c.P99_US).alias(c.PRODUCE_P99_US),
    )
