"""Each reassignment of a partition: how it ended, what it copied, and what producers felt."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analytics import columns as c
from analytics.answers.throttle_costs import produce_rows
from analytics.facts.buckets import per_second
from analytics.histograms import quantile_us

_PARTITION: Final = [*c.RUN, c.TOPIC, c.PARTITION]
_KEY: Final = [*_PARTITION, c.STARTED_AT_MS]
_SHOWN: Final = [
    *(c.STATE, c.IS_FINISHED, c.LAST_SEEN_MS, c.DURATION_MS, c.ADDING, c.REMOVING, c.LEADER),
]
ENDED: Final = ["completed", "cancelled", "replaced"]
"""States of one that is over."""


def reassignments(rows: DataFrame, replicas: DataFrame, latencies: DataFrame) -> DataFrame:
    """Input: ReassignmentProgressRow, ReplicaRow, LatencyRow. Output: one row per reassignment.

    The earliest of a run first. One whose controller ended, and wrote nothing of it afterwards,
    keeps its last state and is not finished. ``copied_bytes`` is by how much the replicas that it
    adds grew, to the first sample after it; null where nobody sampled them. ``leader`` is the first
    one meanwhile, and the p99 are its broker's, as in ``throttle_costs``.
    """
    found = _each(rows)
    known, samples = F.col("known"), F.col("samples")
    copied = F.when(F.size(samples) > 0, _grown(samples, known[c.STARTED_AT_MS]))
    copied = F.when(F.size(known[c.ADDING]) > 0, copied).otherwise(0)
    rate, throttle = F.col(c.BYTES_PER_S), known[c.THROTTLE_BYTES_PER_S]
    return (
        _gathered(found, replicas, latencies)
        .select("*", copied.alias(c.COPIED_BYTES))
        .select("*", per_second(F.col(c.COPIED_BYTES), known[c.DURATION_MS]).alias(c.BYTES_PER_S))
        .select(
            *(*_KEY, *[known[name].alias(name) for name in _SHOWN], c.COPIED_BYTES, c.BYTES_PER_S),
            F.when(throttle > 0, throttle).alias(c.THROTTLE_BYTES_PER_S),
            F.when(throttle > 0, rate / throttle).alias(c.THROTTLE_SHARE),
            _p99("before").alias(c.PRODUCE_P99_BEFORE_US),
            _p99("during").alias(c.PRODUCE_P99_US),
        )
        .orderBy(*c.RUN, c.STARTED_AT_MS, *_KEY)
    )


def _each(rows: DataFrame) -> DataFrame:
    """Output: the key, what was last known, duration, leader, adding, removing."""
    is_over = F.col(c.STATE).isin(ENDED)
    last = F.max(F.struct(c.AT_MS, is_over.alias("is_over"), c.STATE, c.THROTTLE_BYTES_PER_S))
    first = F.min(F.struct(c.AT_MS, ~is_over, c.LEADER))
    same = [*_PARTITION, "number", c.ADDING, c.REMOVING]
    each = _numbered(rows, is_over).groupBy(*same)
    return each.agg(
        F.min(c.STARTED_AT_MS).alias(c.STARTED_AT_MS), first.alias("first"), last.alias("last")
    ).select(
        *(*_KEY, c.ADDING, c.REMOVING, f"first.{c.LEADER}", f"last.{c.STATE}"),
        F.col("last.is_over").alias(c.IS_FINISHED),
        F.col(f"last.{c.AT_MS}").alias(c.LAST_SEEN_MS),
        (F.col(f"last.{c.AT_MS}") - F.col(c.STARTED_AT_MS)).alias(c.DURATION_MS),
        f"last.{c.THROTTLE_BYTES_PER_S}",
    )


def _numbered(rows: DataFrame, is_over: Column) -> DataFrame:
    """Add ``number``, that of a partition's reassignments which a row is of.

    A controller that starts amid one tells of it with another ``started_at_ms``: it goes on as long
    as nothing ended it and it adds and removes the same.
    """
    # Of two rows in one millisecond the one with the later start is later, and an end is.
    in_order = Window.partitionBy(*_PARTITION).orderBy(c.AT_MS, c.STARTED_AT_MS, "is_over")
    before = F.lag(F.struct("is_over", c.ADDING, c.REMOVING)).over(in_order)
    goes_on = before == F.struct((F.lit(0) == 1).alias("is_over"), c.ADDING, c.REMOVING)
    begins = F.when(goes_on, 0).otherwise(1)
    return (
        rows.withColumn("is_over", is_over)
        .withColumn("begins", begins)
        .withColumn("number", F.sum("begins").over(in_order))
    )


def _gathered(found: DataFrame, replicas: DataFrame, latencies: DataFrame) -> DataFrame:
    """Output: the key, ``known``, ``samples``, and the histograms ``before`` and ``during``.

    All by one aggregation: what takes longest in a small report is to plan it.
    """
    told = found.select(*_KEY, F.struct(*found.columns).alias("known"))
    sampled = added_samples(found, replicas).select(*_KEY, "sample")
    produced = _produced(found, latencies)
    together = told.unionByName(sampled, allowMissingColumns=True)
    together = together.unionByName(produced, allowMissingColumns=True)
    return together.groupBy(*_KEY).agg(
        F.max("known").alias("known"),
        F.array_sort(F.collect_list("sample")).alias("samples"),
        _histogram(~F.col("impact.is_during")).alias("before"),
        _histogram(F.col("impact.is_during")).alias("during"),
    )


def added_samples(found: DataFrame, replicas: DataFrame) -> DataFrame:
    """Output: the key, last_seen_ms, ``sample`` of a replica that is added.

    One that the broker had before, as for the reassignment that this one replaced, was sampled
    within two intervals before; one that is new begins with nothing.
    """
    adding = found.select(*_KEY, c.LAST_SEEN_MS, F.explode(c.ADDING).alias(c.BROKER_ID))
    at, interval, begin = F.col(c.AT_MS), F.col(c.INTERVAL_MS), F.col(c.STARTED_AT_MS)
    is_near = (at > begin - 2 * interval) & (at - interval < F.col(c.LAST_SEEN_MS))
    return (
        replicas.where(~F.col(c.IS_FUTURE))
        .join(F.broadcast(adding), on=[*_PARTITION, c.BROKER_ID])
        .where(is_near)
        .select(*_KEY, c.LAST_SEEN_MS, F.struct(c.BROKER_ID, c.AT_MS, c.SIZE_BYTES).alias("sample"))
    )


def _grown(samples: Column, begin: Column) -> Column:
    """Return by how much the replicas of ``samples`` grew, in the order of their brokers."""
    none = F.lit(None).cast("bigint")
    start = F.struct(
        F.lit(0).cast("bigint").alias("sum"), none.alias(c.BROKER_ID), none.alias(c.SIZE_BYTES)
    )

    def next_sample(state: Column, sample: Column) -> Column:
        size = sample[c.SIZE_BYTES]
        first = F.when(sample[c.AT_MS] > begin, size).otherwise(0)
        is_same = state[c.BROKER_ID] == sample[c.BROKER_ID]
        # What is lost was deleted, and does not count.
        grown = F.when(is_same, F.greatest(size - state[c.SIZE_BYTES], F.lit(0))).otherwise(first)
        return F.struct(
            (state["sum"] + grown).alias("sum"),
            sample[c.BROKER_ID].alias(c.BROKER_ID),
            size.alias(c.SIZE_BYTES),
        )

    return F.aggregate(samples, start, next_sample, lambda state: state["sum"])


def _produced(found: DataFrame, latencies: DataFrame) -> DataFrame:
    """Output: the key, ``impact``: a histogram of its leader, meanwhile or as long before."""
    led = found.select(*_KEY, c.DURATION_MS, F.col(c.LEADER).alias(c.BROKER_ID))
    at, begin, duration = F.col(c.AT_MS), F.col(c.STARTED_AT_MS), F.col(c.DURATION_MS)
    impact = F.struct(
        (at >= begin).alias("is_during"),
        F.arrays_zip(c.BUCKET_US, c.BUCKET_COUNTS).alias("buckets"),
        *(c.SAMPLE_COUNT, c.MAX_US),
    )
    return (
        produce_rows(latencies)
        .join(F.broadcast(led), on=[*c.RUN, c.BROKER_ID])
        .where(at.between(begin - duration, begin + duration))
        .select(*_KEY, impact.alias("impact"))
    )


def _histogram(where: Column) -> Column:
    """Aggregate ``impact`` of some rows to one histogram."""
    impact = F.when(where, F.col("impact"))
    return F.struct(
        F.array_sort(F.flatten(F.collect_list(impact["buckets"]))).alias("buckets"),
        F.sum(impact[c.SAMPLE_COUNT]).alias(c.SAMPLE_COUNT),
        F.max(impact[c.MAX_US]).alias(c.MAX_US),
    )


def _p99(name: str) -> Column:
    found = F.col(name)
    return quantile_us(found["buckets"], found[c.SAMPLE_COUNT], found[c.MAX_US], 0.99)
