import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analytics.tables import Tables, collected
from tests.analytics.frames import LOG_DIR, changed, frame_of, made, picked


def test_a_table_takes_the_place_of_the_last_one_when_it_is_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    for value in ("old", "new"):
        tables = Tables(spark, out)
        tables.write("t", made(spark, [(value,)], "value string"))
        if value == "new":
            assert picked(spark.read.parquet(f"{out}/t"), "value") == [("old",)]
        tables.publish()
    assert picked(spark.read.parquet(f"{out}/t"), "value") == [("new",)]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["t"]


def test_tables_are_swapped_on_any_file_system_of_hadoop(
    viewed: str, spark: SparkSession, tmp_path: Path
) -> None:
    for value in ("old", "new"):
        tables = Tables(spark, f"{viewed}/out")
        tables.write("t", made(spark, [(value,)], "value string"))
        tables.publish()
    assert picked(spark.read.parquet(str(tmp_path / "out" / "t")), "value") == [("new",)]
    assert [path.name for path in (tmp_path / "out").glob("[!.]*")] == ["t"]


@pytest.mark.parametrize("in_one_task", [True, False])
def test_small_tables_are_read_again_in_one_partition_and_summed_without_a_shuffle(
    in_one_task: bool, spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.range(6).select(F.lit("run-1").alias("run_id"), F.col("id").alias("at_ms"))
    tables = Tables(spark, str(tmp_path), in_one_task=in_one_task)
    tables.write_rows("rows/t", rows.repartition(3))
    summed: Any = tables.stored("rows/t").groupBy("run_id").sum("at_ms")
    plan = summed._jdf.queryExecution().executedPlan().toString()
    assert ("Exchange" in plan) == (not in_one_task)
    assert picked(summed, "sum(at_ms)") == [(15,)]


def test_small_tables_are_kept_and_not_read_from_their_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = Tables(spark, str(tmp_path), in_one_task=True)
    tables.write("t", made(spark, [(1,)], "value int"))
    assert tables.stored("t").inputFiles() == []
    tables.publish()
    assert picked(spark.read.parquet(str(tmp_path / "t")), "value") == [(1,)]
    tables.write("t", made(spark, [(2,)], "value int"))
    tables.forget("t")
    assert not tables.has("t")


def test_the_job_that_writes_a_small_table_computes_what_is_kept_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = Tables(spark, str(tmp_path), in_one_task=True)
    spark.sparkContext.setJobGroup("one table", "")
    tables.write("t", spark.range(3).select(F.col("id").alias("value")))
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("one table")
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # pyright: ignore[reportArgumentType]
    assert len(jobs) == 1
    assert picked(tables.stored("t"), "value") == [(0,), (1,), (2,)]


def test_what_is_discarded_leaves_the_last_tables(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "t").mkdir(parents=True)
    tables = Tables(spark, str(out))
    tables.write("t", made(spark, [("new",)], "value string"))
    tables.discard()
    assert list((out / "t").iterdir()) == []
    assert [path.name for path in out.iterdir()] == ["t"]


def test_rows_lie_by_run_and_day_and_keep_their_columns(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = frame_of(spark, "log_dir", [LOG_DIR, changed(LOG_DIR, at_ms=90_000_000)])
    tables = Tables(spark, str(tmp_path))
    stored = tables.write_rows("rows/log_dir", rows)
    assert stored.columns == rows.columns
    assert sorted(picked(stored, "at_ms")) == [(1000,), (90_000_000,)]
    tables.publish()
    days = (tmp_path / "rows" / "log_dir" / "run_id=run-1").iterdir()
    assert sorted(path.name for path in days) == ["day=1970-01-01", "day=1970-01-02"]


def test_first_rows_of_several_tables_come_at_once_with_their_nulls(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = Tables(spark, str(tmp_path))
    tables.write("a", made(spark, [(1, None), (2, "x"), (3, "y")], "number int, text string"))
    tables.write("b", made(spark, [(True,)], "flag boolean"))
    assert collected({name: tables.stored(name) for name in ("a", "b")}, 2) == {
        "a": [{"number": 1, "text": None}, {"number": 2, "text": "x"}],
        "b": [{"flag": True}],
    }


def test_a_table_that_was_not_written_this_time_does_not_stay_and_text_is_a_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "plan_scores").mkdir()
    tables = Tables(spark, str(tmp_path))
    tables.write_text("report.html", "<p>grün</p>")
    assert not tables.has("plan_scores")
    tables.publish(["plan_scores"])
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == [
        "report.html"
    ]
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == "<p>grün</p>"


def test_what_killed_runs_left_is_removed_and_what_others_write_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    host = socket.gethostname()
    left = {
        name: tmp_path / f"_writing-{name}"
        for name in (
            f"{host}.{ended.pid}.aaaaaaaa",
            f"{host}.{os.getpid()}.bbbbbbbb",
            "elsewhere.1.cccccccc",
        )
    }
    for folder in left.values():
        folder.mkdir()
    (tmp_path / "rows").mkdir()
    Tables(spark, str(tmp_path / "none")).forget_killed()
    Tables(spark, str(tmp_path)).forget_killed()
    assert [path.exists() for path in left.values()] == [False, True, True]
    assert (tmp_path / "rows").exists()
