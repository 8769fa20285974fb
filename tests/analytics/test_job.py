from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analytics.errors import EmptyDump
from analytics.job import run_job
from tests.analytics.frames import LOG_DIR, SAMPLES, changed, write_dump, write_line


def test_a_dump_becomes_tables_and_what_does_not_fit_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, SAMPLES)
    write_dump(dump, [changed(LOG_DIR, at_ms=2000, used_bytes=77)], node=2)
    write_line(dump, "log_dir", '{"at_ms": 1, "bro')
    report = run_job(spark, str(dump), str(out))
    assert report.row_counts == {
        "log_dir": 2,
        "replica": 1,
        "failover_event": 1,
        "move_progress": 1,
        "request": 1,
    }
    assert [row["used_bytes"] for row in report.log_dirs] == [77]
    assert [row["malformed_count"] for row in report.malformed] == [1]
    assert [len(rows) for rows in (report.failovers, report.moves, report.requests)] == [1, 1, 1]
    assert sorted(path.name for path in out.iterdir()) == [
        "failover_steps",
        "failovers",
        "log_dirs",
        "malformed",
        "moves",
        "partitions",
        "quarantine",
        "requests",
        "rows",
    ]
    stored = spark.read.parquet(str(out / "rows" / "log_dir"))
    assert stored.schema["used_bytes"].metadata == {"unit": "bytes"}
    assert spark.read.parquet(str(out / "quarantine")).select("line").collect() == [
        ('{"at_ms": 1, "bro',)
    ]


def test_an_empty_dump_leaves_the_tables_of_the_last_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "kept").write_text("")
    (tmp_path / "dump").mkdir()
    with pytest.raises(EmptyDump):
        run_job(spark, str(tmp_path / "dump"), str(out))
    assert [path.name for path in out.iterdir()] == ["kept"]
