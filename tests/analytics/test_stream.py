"""Lines as a stream become the rows and facts of a batch, each once, also after a cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics.stream import follow
from protocol.metrics.rows import TABLE_OF_ROW, MetricRow
from tests.analytics.frames import LOG_DIR, REQUEST, changed, line_of, made, picked

LINE = "table string, version int, line string, file string"


def arrive(spark: SparkSession, folder: Path, rows: list[MetricRow], *bad: str) -> None:
    """Add lines to those that the stream reads."""
    good = [(TABLE_OF_ROW[type(row)], 2, line_of(row).decode(), "t-0@1") for row in rows]
    lines = [*good, *(("log_dir", 2, text, "t-0@2") for text in bad)]
    made(spark, lines, LINE).coalesce(1).write.mode("append").json(f"{folder}/lines")


def lines_of(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(LINE).json(f"{folder}/lines")


@pytest.mark.sampled_among("streams of rows", kept=0)
def test_a_stream_goes_on_where_it_was_and_a_batch_that_was_cut_is_written_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    arrive(spark, tmp_path, [LOG_DIR, REQUEST], '{"at_ms": 1, "bro')
    follow(spark, lines_of(spark, tmp_path), out, None, None)
    # As if the stream had ended between the rows of its first batch and its commit.
    (tmp_path / "out" / "_checkpoint" / "rows" / "commits" / "0").unlink()
    (tmp_path / "out" / "_checkpoint" / "rows" / "commits" / ".0.crc").unlink()
    follow(spark, lines_of(spark, tmp_path), out, None, None)
    arrive(spark, tmp_path, [changed(LOG_DIR, at_ms=2000)])
    follow(spark, lines_of(spark, tmp_path), out, None, None)
    rows = spark.read.parquet(f"{out}/rows/log_dir").orderBy("at_ms")
    assert picked(rows, "at_ms", "batch") == [(1000, 0), (2000, 1)]
    assert spark.read.parquet(f"{out}/rows/request").count() == 1
    aside = spark.read.parquet(f"{out}/quarantine")
    assert picked(aside, "table", "file") == [("log_dir", "t-0@2")]
