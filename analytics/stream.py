"""Follows a topic or a dump with Structured Streaming: rows and facts in Parquet, exactly once.

The transforms are those of a batch. Where a query ended, by whatever, it goes on when it is started
again with the same folder: below ``out``, ``_checkpoint`` says how far it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from analytics import columns as c
from analytics.clean import (
    good_rows,
    is_plain,
    malformed_lines,
    native_lines,
    parsed_lines,
    plain_rows,
)
from analytics.distinct import distinct_rows
from analytics.facts.all_facts import FACTS
from analytics.facts.buckets import with_event_time
from analytics.schema import TABLE_SCHEMAS
from analytics.segments import SEGMENT_SCHEMA

BATCH: Final = "batch"
"""The partition column that says which micro-batch wrote a row."""
LOOK_EVERY_S: Final = 1
LATE: Final = "1 minute"
"""How late a row may come and still count in its bucket of facts."""


def stream_rows(lines: DataFrame, out: str, *, interval: str | None) -> StreamingQuery:
    """Write the good rows of every table to ``rows/<table>``, the other lines to ``quarantine``.

    By run, day and micro-batch: a micro-batch that was cut is written anew in its own place, so
    what is there afterwards is there once.

    Args:
        lines: a stream with table, version, line, file.
        out: folder on any file system that Hadoop knows.
        interval: between two micro-batches, such as "5 seconds"; None: take what is there, end.
    """
    writer = lines.writeStream.foreachBatch(partial(_store_batch, out=out))
    return _begun(writer, f"{out}/_checkpoint/rows", interval)


def stream_facts(
    lines: DataFrame, out: str, bucket: str, *, interval: str | None
) -> list[StreamingQuery]:
    """Write every fact table to ``facts/<name>``, a bucket when no late row can come any more."""
    return [_stream_fact(lines, out, bucket, name, interval) for name in FACTS]


def _stream_fact(
    lines: DataFrame, out: str, bucket: str, name: str, interval: str | None
) -> StreamingQuery:
    fact = FACTS[name]
    own = lines.where(F.col(c.TABLE) == fact.source)
    rows = good_rows(parsed_lines(own, fact.source), fact.source)
    timed = with_event_time(rows).withWatermark(c.AT, LATE)
    facts = fact.of(distinct_rows(timed, fact.source), bucket)
    writer = facts.writeStream.format("parquet").option("path", f"{out}/facts/{name}")
    return _begun(writer, f"{out}/_checkpoint/facts/{name}", interval)


def _begun(writer: DataStreamWriter, checkpoint: str, interval: str | None) -> StreamingQuery:
    writer = writer.option("checkpointLocation", checkpoint)
    if interval is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=interval).start()


def _store_batch(lines: DataFrame, number: int, *, out: str) -> None:
    lines = lines.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        of_tables = {table: lines.where(F.col(c.TABLE) == table) for table in _tables_of(lines)}
        aside = [
            malformed_lines(parsed_lines(each, table), table)
            for table, each in of_tables.items()
            if not _store_plain(each, table, number, out)
        ]
        if aside:
            bad = reduce(DataFrame.unionByName, aside).withColumn(BATCH, F.lit(number))
            _replace(bad, f"{out}/quarantine", BATCH)
    finally:
        lines.unpersist()


def _store_plain(lines: DataFrame, table: str, number: int, out: str) -> bool:
    """Write the good rows of a table; tell whether all lines are just as brokers write them.

    Lines are parsed once then. If some are not, all of them are parsed anew, every column of those
    looked at, and what was written is replaced.
    """
    seen = Observation()
    counts = (F.count(F.lit(1)).alias("lines"), F.count_if(is_plain()).alias("plain"))
    observed = native_lines(lines, table).observe(seen, *counts)
    _store_rows(plain_rows(observed, table), table, number, out)
    if seen.get["plain"] == seen.get["lines"]:
        return True
    _store_rows(good_rows(parsed_lines(lines, table), table), table, number, out)
    return False


def _store_rows(rows: DataFrame, table: str, number: int, out: str) -> None:
    day = F.date_format(F.timestamp_millis(c.AT_MS), "yyyy-MM-dd")
    dated = rows.withColumn(BATCH, F.lit(number)).withColumn(c.DAY, day)
    _replace(dated, f"{out}/rows/{table}", c.RUN_ID, c.DAY, BATCH)


def _tables_of(lines: DataFrame) -> list[str]:
    """Return the known tables that a micro-batch has lines of."""
    found = {row[0] for row in lines.select(c.TABLE).distinct().collect()}
    return [table for table in TABLE_SCHEMAS if table in found]


def _replace(rows: DataFrame, path: str, *partitions: str) -> None:
    """Write ``rows`` in the place of what is in their partitions."""
    writer = rows.coalesce(1).write.mode("overwrite").partitionBy(*partitions)
    writer.option("partitionOverwriteMode", "dynamic").parquet(path)


def dump_lines(spark: SparkSession, segments: str) -> DataFrame:
    """Return the lines of a dump's segments, as a stream: table, version, line, file."""
    return spark.readStream.schema(SEGMENT_SCHEMA).json(segments)


def follow(
    spark: SparkSession,
    lines: DataFrame,
    out: str,
    bucket: str | None,
    interval: str | None,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Write rows, with ``bucket`` facts too, until one fails or, without interval, all is in.

    ``meanwhile`` is called each second, where there is an interval.
    """
    spark.streams.resetTerminated()  # Else a query of this session that ended before ends it.
    queries = [stream_rows(lines, out, interval=interval)]
    if bucket is not None:
        queries += stream_facts(lines, out, bucket, interval=interval)
    try:
        if interval is None:
            for query in queries:
                query.awaitTermination()
        else:
            while not spark.streams.awaitAnyTermination(LOOK_EVERY_S):
                meanwhile()
    finally:
        for query in queries:
            query.stop()
