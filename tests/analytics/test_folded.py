"""Reports of new files alone: the tables of a report of everything."""

from __future__ import annotations

import shutil
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analytics.folded import FOLDED, ODD, only_new, table_of
from analytics.job import Wanted, run_job
from analytics.report import Report
from analytics.results import RESULTS
from analytics.schema import TABLE_SCHEMAS
from analytics.source import opened
from benchmarks.made_up_dump import write_made_up_dump
from tests.analytics.frames import LOG_DIR, REQUEST, changed, line_of, write_dump, write_line

NEW = Wanted(is_only_new=True, is_plain=True)


def rows_of(spark: SparkSession, out: Path, name: str) -> list[str]:
    """Return the rows of a table as text, sorted."""
    if not list((out / name).rglob("*.parquet")):
        return []
    text = F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("text")
    stored = spark.read.parquet(f"{out}/{name}")
    return sorted(row["text"] for row in stored.select(text).collect())


def lines_read(spark: SparkSession, dump: Path, out: Path) -> dict[str, int]:
    """Return how many lines the next report would read, of tables that have some."""
    with opened(spark, str(dump)) as source:
        folding = only_new(spark, source, str(dump), str(out))
    of_tables = [
        folding.source.lines_of(table).select(F.lit(table).alias("table"))
        for table in TABLE_SCHEMAS
    ]
    counted = reduce(DataFrame.unionAll, of_tables).groupBy("table").count()
    return {row["table"]: row["count"] for row in counted.collect()}


def log_dir_file(dump: Path) -> Path:
    [file] = dump.glob("log_dir/v*/*/*.jsonl")
    return file


def by_table(report: Report) -> tuple[object, ...]:
    return report.row_counts, report.duplicate_counts, report.checks


@pytest.mark.parametrize(
    ("file", "table"),
    [
        ("file:///dump/log_dir/v2/broker=1/1-0.jsonl", "log_dir"),
        ("file:///replica/v1/dump/client/v3/broker=1/1-0.jsonl", "client"),
        ("file:///dump/others/v2/broker=1/1-0.jsonl", ""),
    ],
)
def test_a_file_is_of_the_table_that_its_folder_names(file: str, table: str) -> None:
    assert table_of(file) == table


@pytest.mark.sampled_among("whole reports", kept=0)
def test_only_what_is_new_is_read_and_tables_are_those_of_all(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out, at_once = tmp_path / "a dump", tmp_path / "out", tmp_path / "at once"
    write_dump(dump, [LOG_DIR, REQUEST])
    write_line(dump, "request", "no row", node=3)
    file = log_dir_file(dump)
    whole_line = line_of(changed(LOG_DIR, at_ms=9000))
    cut = whole_line[: len(whole_line) // 2]
    file.write_bytes(file.read_bytes() + cut)
    first = run_job(spark, str(dump), str(out), NEW)
    assert [(row["table"], row["row_count"]) for row in first.checks] == [
        ("log_dir", 1),
        ("request", 1),
    ]
    assert lines_read(spark, dump, out) == {}
    # A file grows, its cut line with it; another one is copied, a third one is new.
    file.write_bytes(file.read_bytes() + whole_line[len(cut) :] + b"\n")
    [request] = dump.glob("request/v*/broker=1/*.jsonl")
    shutil.copy(request, request.with_name("copied.jsonl"))
    write_dump(dump, [changed(LOG_DIR, broker_id=2)], node=2)
    assert lines_read(spark, dump, out) == {"log_dir": 3, "request": 1}
    second = run_job(spark, str(dump), str(out), NEW)
    whole = run_job(spark, str(dump), str(at_once), Wanted(is_plain=True))
    assert by_table(second) == by_table(whole)
    assert second.duplicate_counts["request"] == 1
    for name in ("log_dirs", "requests", "quarantine", "rows/log_dir", "rows/request"):
        assert rows_of(spark, out, name) == rows_of(spark, at_once, name), name
    assert not (at_once / FOLDED).exists()
    assert not (at_once / ODD).exists()


@pytest.mark.sampled_among("whole reports", kept=0)
def test_a_file_that_is_gone_stays_known_and_one_that_shrank_has_all_read_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, [LOG_DIR, REQUEST])
    run_job(spark, str(dump), str(out), NEW)
    log_dir_file(dump).unlink()
    write_dump(dump, [changed(REQUEST, at_ms=2000)], node=2)
    assert lines_read(spark, dump, out) == {"request": 1}
    report = run_job(spark, str(dump), str(out), NEW)
    assert (report.row_counts["log_dir"], report.row_counts["request"]) == (1, 2)
    [shrunk, _] = sorted(dump.glob("request/v*/*/*.jsonl"))
    shrunk.write_bytes(b"{}\n")
    assert lines_read(spark, dump, out) == {"request": 2}
    with opened(spark, str(dump)) as source:
        assert only_new(spark, source, str(dump), str(out)).rows == {}


def test_lines_are_counted_ahead_only_in_files_that_are_not_read_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A running broker adds rows meanwhile: what is read is counted while it is read."""
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, [LOG_DIR, REQUEST])
    with opened(spark, str(dump)) as source:
        assert only_new(spark, source, str(dump), str(out)).kept_lines == {}
        run_job(spark, str(dump), str(out), NEW)
        file = log_dir_file(dump)
        file.write_bytes(file.read_bytes() + line_of(changed(LOG_DIR, at_ms=9000)) + b"\n")
        assert only_new(spark, source, str(dump), str(out)).kept_lines == {"request": 1}


@pytest.mark.sampled_among("whole reports", kept=0)
def test_after_a_report_of_everything_all_is_read_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, [REQUEST])
    run_job(spark, str(dump), str(out), NEW)
    run_job(spark, str(dump), str(out), Wanted(is_plain=True))
    assert lines_read(spark, dump, out) == {"request": 1}
    run_job(spark, str(dump), str(out), NEW)
    remembered = (out / FOLDED).read_text(encoding="utf-8")
    (out / f".{FOLDED}.crc").unlink()
    (out / FOLDED).write_text(remembered.replace("at_ms:bigint", "at_ms:int"), encoding="utf-8")
    assert lines_read(spark, dump, out) == {"request": 1}


@pytest.mark.sampled_among("dumps for two engines", kept=0)
def test_a_dump_and_then_its_second_run_make_every_table_of_both_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out, at_once = tmp_path / "dump", tmp_path / "out", tmp_path / "at once"
    wanted = Wanted("10 seconds", is_only_new=True)
    write_made_up_dump(dump, 4_000, runs=1)
    run_job(spark, str(dump), str(out), wanted)
    both = tmp_path / "both"
    write_made_up_dump(both, 8_000, runs=2)
    for file in sorted(both.glob("*/v*/*/*.jsonl")):
        later = dump / file.relative_to(both).with_name(f"later-{file.name}")
        later.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, later)
    second = run_job(spark, str(dump), str(out), wanted)
    whole = run_job(spark, str(dump), str(at_once), Wanted("10 seconds"))
    assert by_table(second) == by_table(whole)
    folders = [path.relative_to(at_once) for path in at_once.glob("*/*") if path.is_dir()]
    names = {str(path) for path in folders if path.parts[0] in ("rows", "facts")}
    for name in [*sorted(names), *(name for name in RESULTS if name != "plan_scores")]:
        assert rows_of(spark, out, name) == rows_of(spark, at_once, name), name
