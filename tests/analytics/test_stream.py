"""Lines as a stream become the rows and facts of a batch, each once, also after a cut."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from analytics.segments import Segments
from analytics.stream import dump_lines, follow
from protocol.metrics.rows import TABLE_OF_ROW, MetricRow
from tests.analytics.frames import LOG_DIR, REQUEST, changed, line_of, made, picked, write_dump
from tests.deadlines import DEADLINE_S

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


@pytest.mark.sampled_among("streams of rows", kept=0)
def test_a_row_that_a_node_writes_shows_while_its_dump_is_followed(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, [LOG_DIR])
    segments = Segments(dump, out / "_segments")
    segments.take()
    written = [1000]
    deadline = time.monotonic() + DEADLINE_S

    def shown() -> list[int]:
        """Return the rows of micro-batches that are over."""
        if not list(out.glob("rows/log_dir/run_id=*/day=*/batch=*/*.parquet")):
            return []
        over = {path.name for path in (out / "_checkpoint" / "rows" / "commits").glob("[0-9]*")}
        rows = spark.read.parquet(f"{out}/rows/log_dir").orderBy("at_ms")
        return [at_ms for at_ms, batch in picked(rows, "at_ms", "batch") if str(batch) in over]

    def write_next() -> None:
        """Append a row to the file that was read already, when the last one shows."""
        assert time.monotonic() < deadline
        there = shown()
        assert there in (written, written[:-1])
        if there == [1000, 2000, 3000]:
            raise KeyboardInterrupt
        if there == written:
            written.append(written[-1] + 1000)
            write_dump(dump, [changed(LOG_DIR, at_ms=written[-1])])
            segments.take()

    with pytest.raises(KeyboardInterrupt):
        follow(
            spark, dump_lines(spark, f"{out}/_segments"), str(out), None, "0 seconds", write_next
        )
