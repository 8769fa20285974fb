import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analytics import columns as c
from analytics.answers.plan_scores import PLAN
from analytics.chosen import Chosen
from analytics.errors import EmptyDump, UnknownRun
from analytics.job import Wanted, run_job
from analytics.results import (
    ALL_FACTS,
    ANSWERS,
    BUCKET,
    PLAIN,
    RESULTS,
    SHOWN_FACTS,
    facts_steps,
    plan_step,
)
from analytics.schema import TABLE_SCHEMAS
from analytics.steps import Step, work_off
from benchmarks.duckdb_oracle import oracle_tables
from benchmarks.duckdb_tables import QUERIES, comparable, tables_of
from benchmarks.made_up_dump import write_made_up_dump, write_made_up_plan
from protocol.metrics.rows import RowOrigin
from tests.analytics.frames import (
    LATENCY,
    LOG_DIR,
    REPLICA,
    SAMPLES,
    changed,
    frame_of,
    made,
    write_dump,
    write_line,
)

TEXT = (Path(__file__).parents[2] / "docs" / "analytics.md").read_text(encoding="utf-8")
KEYS = {
    *(*c.RUN, c.BROKER_ID, c.LOG_DIR, c.TOPIC, c.PARTITION, c.API, c.FAILURE_ID),
    *(c.SOURCE_LOG_DIR, c.TARGET_LOG_DIR, c.STARTED_AT_MS, c.SCOPE, c.NAME, c.OPERATION),
    *(c.AT_MS, c.INTERVAL_MS, c.BUCKET, c.BUCKET_MS),
}

ROW_KEYS = KEYS - {c.AT_MS} | {
    *(c.STEP, c.MEASURE, c.SEEN_BY, c.BEGAN_MS, c.CHECK, c.TABLE, c.DETAIL, c.CAUSE, c.SIZE_CLASS)
}
NEAR = {
    # A series of Student's quantile is right to within a hundredth.
    **dict.fromkeys((c.CI_LOW, c.CI_HIGH), 1e-2),
}


def named(table: str) -> set[str]:
    """Return the words in code of a table's line."""
    [line] = re.findall(rf"^\| `{table}` \|.*$", TEXT, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", line))


def by_key(rows: Sequence[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return rows by the columns that tell them apart."""
    found = {
        tuple((name, exact(row[name])) for name in sorted(row) if name in ROW_KEYS): {
            name: exact(value) for name, value in row.items()
        }
        for row in rows
    }
    assert len(found) == len(rows)
    return found


def exact(value: Any) -> Any:
    """Return a time as ms; DuckDB's sums are of many types."""
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    is_number = type(value) not in {type(None), str, bool, list}
    return float(value) if is_number else value


def nearly(rows: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Return what equals ``rows``, with numbers as near as two engines are."""
    return {
        key: {
            name: pytest.approx(value, rel=NEAR.get(name, 1e-9), abs=1e-9)
            if isinstance(value, float)
            else value
            for name, value in row.items()
        }
        for key, row in rows.items()
    }


def compiled_and_adaptive_plans(spark: SparkSession) -> int:
    """Return how many plans Spark has run so far that it compiled and planned anew on the way."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    session: Any = spark
    ran: Any = session._jsparkSession.sharedState().statusStore().executionsList()
    plans: list[str] = [ran.apply(place).physicalPlanDescription() for place in range(ran.size())]
    return sum("AdaptiveSparkPlan" in plan and "*(1)" in plan for plan in plans)


@pytest.mark.sampled_among("whole reports", kept=0)
def test_a_dump_becomes_tables_and_what_does_not_fit_is_kept(
    spark_in_production: SparkSession, tmp_path: Path
) -> None:
    spark = spark_in_production
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, SAMPLES)
    write_dump(dump, [changed(LOG_DIR, at_ms=2000, used_bytes=77)], node=2)
    write_dump(dump, [REPLICA], node=3)
    write_line(dump, "log_dir", '{"at_ms": 1, "bro')
    report = run_job(spark, str(dump), str(out), Wanted("10 seconds"))
    assert report.row_counts == {
        "log_dir": 2,
        "replica": 1,
        "failover_event": 1,
        "move_progress": 1,
        "reassignment_progress": 1,
        "request": 1,
        "latency": 1,
        "client": 1,
    }
    assert {table for table, count in report.duplicate_counts.items() if count} == {"replica"}
    assert [row["used_bytes"] for row in report.log_dirs] == [77]
    assert [(row["check"], row["table"], row["row_count"]) for row in report.checks] == [
        ("lines set aside", "log_dir", 1),
        ("unfinished failover", "failover_event", 1),
    ]
    assert [len(rows) for rows in (report.failovers, report.moves, report.requests)] == [1, 1, 1]
    assert sorted(path.name for path in out.glob("[!.]*")) == [
        *sorted([*set(RESULTS) - {"plan_scores"}, "facts", "quarantine", "report.html", "rows"])
    ]
    assert sorted(path.name for path in (out / "facts").iterdir()) == sorted(ALL_FACTS)
    assert report.page == f"{out}/report.html"
    assert "1 log dir failure" in (out / "report.html").read_text(encoding="utf-8")
    days = out / "rows" / "log_dir" / "run_id=run-1"
    assert [path.name for path in days.iterdir()] == ["day=1970-01-01"]
    stored = spark.read.parquet(str(out / "rows" / "log_dir"))
    assert stored.schema["used_bytes"].metadata == {"unit": "bytes"}
    assert spark.read.parquet(str(out / "quarantine")).select("line").collect() == [
        ('{"at_ms": 1, "bro',)
    ]


@pytest.mark.sampled_among("whole reports", kept=0)
def test_no_page_and_no_facts_of_an_earlier_report_stay_beside_newer_results(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, SAMPLES)
    run_job(spark, str(dump), str(out), Wanted("10 seconds"))
    assert len(list((out / "facts").iterdir())) == len(ALL_FACTS)
    run_job(spark, str(dump), str(out), Wanted())
    left = sorted(path.name for path in (out / "facts").iterdir())
    assert left == sorted(SHOWN_FACTS)
    run_job(spark, str(dump), str(out), Wanted(is_plain=True))
    assert not list((out / "facts").iterdir())
    assert not (out / "report.html").exists()


@pytest.mark.sampled_among("whole reports", kept=0)
def test_a_report_is_about_the_run_that_is_chosen(spark: SparkSession, tmp_path: Path) -> None:
    dump, out = tmp_path / "dump", str(tmp_path / "out")
    for number in (1, 2, 3):
        rows = [changed(LOG_DIR, at_ms=number * 10_000), changed(LATENCY, at_ms=number * 10_000)]
        write_dump(dump, rows, origin=RowOrigin(cluster_id="c", run_id=f"run-{number}"))
    wanted = Wanted(chosen=Chosen(run="run-2", against="run-3"))
    report = run_job(spark, str(dump), out, wanted)
    assert [row[c.RUN_ID] for row in report.runs] == ["run-1", "run-3", "run-2"]
    assert [(row[c.RUN_ID], row[c.BASE_RUN_ID]) for row in report.comparisons] == [
        ("run-2", "run-3")
    ]
    assert "<h1>c, run run-2</h1>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(UnknownRun, match="there is no run run-4"):
        run_job(spark, str(dump), out, Wanted(chosen=Chosen(against="run-4")))


@pytest.mark.sampled_among("whole reports", kept=0)
def test_a_copied_file_of_a_dump_that_is_not_known_to_be_small_counts_once(
    spark_in_production: SparkSession, viewed: str, tmp_path: Path
) -> None:
    dump = tmp_path / "dump"
    write_dump(dump, SAMPLES)
    write_dump(dump, [REPLICA, changed(REPLICA, at_ms=2000)], node=3)
    report = run_job(spark_in_production, f"{viewed}/dump", str(tmp_path / "out"), Wanted())
    assert report.row_counts["replica"] == 2
    assert {table for table, count in report.duplicate_counts.items() if count} == {"replica"}
    rows = spark_in_production.read.parquet(str(tmp_path / "out" / "rows" / "replica"))
    assert sorted(row[c.AT_MS] for row in rows.collect()) == [1000, 2000]


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


def test_the_documentation_tells_every_column_of_every_table(spark: SparkSession) -> None:
    rows = {f"rows/{table}": Step(partial(frame_of, spark, table, [])) for table in TABLE_SCHEMAS}
    facts = {f"facts/{name}": step for name, step in facts_steps(ALL_FACTS).items()}
    steps = {BUCKET: Step(lambda: "10 seconds"), "plan_scores": plan_step(made(spark, [], PLAN))}
    with ThreadPoolExecutor(1) as executor:
        found = work_off(executor, rows | facts | steps | PLAIN | ANSWERS)
    del found[BUCKET]
    assert set(RESULTS) - set(found) == {"checks"}
    for name, frame in found.items():
        table = name.rpartition("/")[2]
        assert set(frame.columns) - KEYS <= named(table), table
    assert named("checks") == {"checks", c.CHECK, c.TABLE, c.DETAIL, c.ROW_COUNT}


@pytest.mark.parametrize(("rows_min", "is_elsewhere"), [(10_000, True), (100_000, False)])
@pytest.mark.sampled_among("dumps for two engines", kept=0)
def test_every_table_is_what_another_engine_makes_of_the_same_dump(
    rows_min: int,
    *,
    is_elsewhere: bool,
    spark_in_production: SparkSession,
    tmp_path: Path,
    viewed: str,
) -> None:
    """A dump of another file system is read with code generation and adaptive plans."""
    dump, out, plan = tmp_path / "dump", tmp_path / "out", tmp_path / "plan.json"
    written = write_made_up_dump(dump, rows_min)
    write_made_up_plan(plan)
    wanted = Wanted(bucket="10 seconds", plan=str(plan))
    place = f"{viewed}/dump" if is_elsewhere else str(dump)
    before = compiled_and_adaptive_plans(spark_in_production)
    report = run_job(spark_in_production, place, str(out), wanted)
    assert (compiled_and_adaptive_plans(spark_in_production) > before) == is_elsewhere
    assert sum(report.row_counts.values()) == written >= rows_min
    for name, rows in tables_of(dump).items():
        stored = spark_in_production.read.parquet(f"{out}/{name}")
        assert comparable([tuple(row) for row in stored.collect()]) == rows, name
    others = oracle_tables(dump, plan, bucket_s=10)
    assert {*RESULTS, *ALL_FACTS} == others.keys() | QUERIES.keys()
    for name, rows in others.items():
        folder = "facts/" if name in ALL_FACTS else ""
        stored = spark_in_production.read.parquet(f"{out}/{folder}{name}")
        found = [row.asDict() for row in stored.drop(c.DAY).collect()]
        assert rows, name
        assert by_key(found) == nearly(by_key(rows)), name
