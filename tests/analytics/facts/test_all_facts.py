"""One set of transforms: a stream writes what a batch does, with rows that come late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics.distinct import distinct_rows
from analytics.facts.all_facts import FACTS
from analytics.facts.buckets import with_event_time
from analytics.schema import TABLE_SCHEMAS
from protocol.metrics.rows import TABLE_OF_ROW, MetricRow
from tests.analytics.frames import SAMPLES, changed, frame_of

BUCKET = "10 seconds"
ROW_OF = {TABLE_OF_ROW[type(row)]: row for row in SAMPLES}


def at(table: str, *seconds: int) -> list[MetricRow]:
    return [changed(ROW_OF[table], at_ms=second * 1000) for second in seconds]


def streamed(
    spark: SparkSession, folder: Path, name: str, batches: list[list[MetricRow]]
) -> list[tuple[Any, ...]]:
    """Return the facts that a stream has written when it has seen ``batches`` in turn."""
    fact = FACTS[name]
    for rows in batches:
        frame_of(spark, fact.source, rows).coalesce(1).write.mode("append").json(f"{folder}/rows")
        source = spark.readStream.schema(TABLE_SCHEMAS[fact.source]).json(f"{folder}/rows")
        timed = with_event_time(source).withWatermark("at", "20 seconds")
        facts: DataFrame = fact.of(distinct_rows(timed, fact.source), BUCKET)
        writer = facts.writeStream.trigger(availableNow=True).format("parquet")
        query = writer.option("checkpointLocation", f"{folder}/state").start(f"{folder}/facts")
        query.awaitTermination()
    return sorted(map(tuple, spark.read.parquet(f"{folder}/facts").collect()), key=str)


def in_one_batch(
    spark: SparkSession, name: str, rows: list[MetricRow], before_s: int
) -> list[tuple[Any, ...]]:
    fact = FACTS[name]
    facts = fact.of(with_event_time(frame_of(spark, fact.source, rows)), BUCKET)
    closed = facts.where(f"unix_seconds(bucket) + 10 <= {before_s}")
    return sorted(map(tuple, closed.collect()), key=str)


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.sampled_among("streams of facts", kept=0)
def test_a_stream_writes_the_facts_of_a_batch_with_late_rows_and_each_row_once(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    table = FACTS[name].source
    first, late, end = at(table, 1, 5, 12, 15), at(table, 3, 11, 12), at(table, 55)
    found = streamed(spark, tmp_path, name, [first, late, end])
    wanted = in_one_batch(spark, name, first + late[:2] + end, before_s=35)
    assert len(wanted) == 2
    assert found == wanted
