"""Event time in buckets: what every fact is grouped by, in a batch and on a stream alike."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analytics import columns as c

BUCKETS_MAX: Final = 120
"""Of the longest run: what a picture can show."""
_LENGTHS_S: Final = (2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 21_600, 86_400)
"""Brokers sample each second: in less there is no rate."""


def bucket_for(duration_ms: int) -> str:
    """Return the smallest bucket of which ``BUCKETS_MAX`` cover so much time; a day is largest."""
    enough = (s for s in _LENGTHS_S if duration_ms <= s * 1000 * BUCKETS_MAX)
    return f"{next(enough, _LENGTHS_S[-1])} seconds"


def with_event_time(rows: DataFrame) -> DataFrame:
    """Add ``at``, the time of ``at_ms``.

    On a stream call ``withWatermark("at", ...)`` and then ``distinct.distinct_rows`` on the result:
    the watermark says how late a row may come.
    """
    return rows.withColumn(c.AT, F.timestamp_millis(c.AT_MS))


def bucket_of(bucket: str) -> Column:
    """Return the bucket of a row with event time; ``bucket`` is like "10 seconds"."""
    return F.window(c.AT, bucket)


def bucket_columns() -> list[Column]:
    """Return ``bucket`` (its begin, a timestamp) and ``bucket_ms`` (its length)."""
    length = F.unix_millis("window.end") - F.unix_millis("window.start")
    return [F.col("window.start").alias(c.BUCKET), length.alias(c.BUCKET_MS)]


def samples_of(*columns: Column | str) -> Column:
    """Aggregate to the structs of a bucket's rows in the order of their first column."""
    return F.array_sort(F.collect_list(F.struct(*columns)))


def increase(samples: Column, name: str, *, resets: bool) -> Column:
    """Return by how much a number grew over ``samples``.

    Args:
        samples: as ``samples_of``.
        name: the field of the number.
        resets: whether a number that falls began again at 0, as a counter does; else what it lost
            was deleted, and does not count.
    """
    none = F.lit(None).cast("bigint")
    start = F.struct(F.lit(0).cast("bigint").alias("sum"), none.alias("before"))

    def next_sample(state: Column, sample: Column) -> Column:
        now, before = sample[name], state["before"]
        grown = F.when(now >= before, now - before)
        grown = grown.when(now < before, now if resets else 0).otherwise(0)
        return F.struct((state["sum"] + grown).alias("sum"), now.alias("before"))

    return F.aggregate(samples, start, next_sample, lambda state: state["sum"])


def span_ms(samples: Column) -> Column:
    """Return the time between the first and the last sample."""
    last, first = F.element_at(samples, -1), F.element_at(samples, 1)
    return last[c.AT_MS] - first[c.AT_MS]


def per_second(amount: Column, duration_ms: Column) -> Column:
    """Return a rate, null without time."""
    return F.when(duration_ms > 0, amount * 1000 / duration_ms)
