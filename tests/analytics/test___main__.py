import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import analytics
from analytics.__main__ import ExitCode, main
from analytics.job import run_job
from analytics.read import SETTINGS_FOLDERS
from analytics.results import RESULTS
from benchmarks.made_up_dump import write_made_up_dump
from benchmarks.spark_cluster import SUBMIT, spark_cluster, spark_environment
from tests.analytics.frames import SAMPLES, write_dump
from tests.deadlines import DEADLINE_S

MAIN = Path(analytics.__file__).with_name("__main__.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "analytics", *arguments],
        env={name: os.environ[name] for name in os.environ if name not in SETTINGS_FOLDERS},
        capture_output=True,
        text=True,
        check=False,
        timeout=5 * DEADLINE_S,
    )


@pytest.mark.sampled_among("the longest stories in processes of their own", kept=1)
@pytest.mark.integration
def test_the_whole_job_prints_json_and_nothing_else(tmp_path: Path) -> None:
    write_dump(tmp_path / "dump", SAMPLES)
    done = run(
        *("--dump", str(tmp_path / "dump"), "--out", str(tmp_path / "out")),
        *("--master", "local[1]", "--plain", "--no-archive", "--json"),
    )
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    report = json.loads(done.stdout)
    assert [row["log_dir"] for row in report["log_dirs"]] == ["/d1"]
    assert (tmp_path / "out" / "rows" / "replica" / "_SUCCESS").exists()


def rows_of(spark: SparkSession, out: Path, name: str) -> list[str]:
    """Return the rows of a table as text, sorted: a table's order is no matter of who made it."""
    stored = spark.read.parquet(f"{out}/{name}")
    text = F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("text")
    return sorted(row["text"] for row in stored.select(text).collect())


@pytest.mark.sampled_among("clusters of Spark's own", kept=0)
@pytest.mark.integration
def test_two_workers_of_a_cluster_make_the_rows_of_one_machine(
    spark: SparkSession, tmp_path: Path
) -> None:
    dump, out, own = tmp_path / "dump", tmp_path / "out", tmp_path / "own"
    written = write_made_up_dump(dump, 10_000)
    with spark_cluster(tmp_path / "executors", workers=2) as cluster:
        # No --master of ours: what spark-submit says has to hold.
        done = subprocess.run(
            [
                *(SUBMIT, "--master", cluster.url, "--conf", "spark.sql.shuffle.partitions=2"),
                *(MAIN, "--dump", dump, "--out", out, "--json", "--no-archive"),
            ],
            env=spark_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=5 * DEADLINE_S,
        )
        assert done.returncode == 0, done.stderr
        assert len(cluster.workers_with_executors()) == 2
    assert sum(json.loads(done.stdout)["row_counts"].values()) == written
    run_job(spark, str(dump), str(own))
    names = [name for name in RESULTS if name != "plan_scores"]
    folders = [
        path.relative_to(own) for each in ("rows", "facts") for path in own.glob(f"{each}/*")
    ]
    for name in [*names, *map(str, folders)]:
        assert rows_of(spark, out, name) == rows_of(spark, own, name), name


def test_a_missing_java_is_one_line_and_its_own_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["--dump", "d", "--out", "o"])
    assert result.exit_code == ExitCode.JAVA_MISSING
    assert result.stderr.startswith("analytics: no java in JAVA_HOME")
    assert result.stderr.count("\n") == 1


@pytest.mark.integration
def test_a_dump_that_is_not_there_is_one_line_and_its_own_exit_code(tmp_path: Path) -> None:
    # Spark would not start for such a master, and say so: it is not asked.
    done = run("--dump", str(tmp_path / "no"), "--out", "o", "--master", "no such master")
    assert done.returncode == ExitCode.UNREADABLE_DUMP
    assert done.stderr == f"analytics: cannot read {tmp_path}/no: it does not exist\n"


@pytest.mark.parametrize(
    "source",
    [
        (),
        ("--dump", "d", "--from", "kafka://a:1"),
        ("--from", "kafka://a:1", "--live"),
    ],
)
def test_a_report_has_one_source_and_only_a_dump_is_followed(source: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*source, "--out", "o"])
    assert result.exit_code == 2
    assert "give --dump FOLDER or --from kafka://HOST:PORT" in result.stderr


def test_an_address_that_names_no_topic_is_one_line_before_spark_starts() -> None:
    result = CliRunner().invoke(main, ["--from", "host:9092", "--out", "o"])
    assert result.exit_code == ExitCode.UNREADABLE_DUMP
    assert result.stderr.startswith("analytics: 'host:9092' names no topic")
    assert result.stderr.count("\n") == 1


def test_every_option_explains_itself() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for option in (
        *("--dump", "--out", "--master", "--bucket", "--plan", "--live", "--tables", "--json"),
        *("--from", "--plain", "--new", "--archive"),
    ):
        assert option in result.stdout


@pytest.mark.parametrize("source", [("--from", "kafka://a:1"), ("--dump", "d", "--live")])
def test_only_a_report_of_a_dump_reads_what_is_new(source: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*source, "--out", "o", "--new"])
    assert result.exit_code == 2
    assert "--new reads a dump folder" in result.stderr


def test_what_is_no_plan_is_one_line_and_its_own_exit_code_before_spark_starts(
    tmp_path: Path,
) -> None:
    (tmp_path / "plan.json").write_text("{}")
    place = ["--dump", str(tmp_path), "--out", "o", "--plan", f"{tmp_path}/plan.json"]
    result = CliRunner().invoke(main, place)
    assert result.exit_code == ExitCode.BAD_PLAN
    assert result.stderr.startswith(f"analytics: {tmp_path}/plan.json is no plan: it has no")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("form", ["--plain", "--live"])
def test_a_run_is_chosen_for_a_whole_report(form: str) -> None:
    result = CliRunner().invoke(main, ["--dump", "d", "--out", "o", "--run", "r", form])
    assert result.exit_code == 2
    assert "give --run without --plain" in result.stderr


@pytest.mark.parametrize("form", ["--plain", "--live"])
def test_a_plan_is_scored_by_a_whole_report(form: str) -> None:
    result = CliRunner().invoke(main, ["--dump", "d", "--out", "o", "--plan", "p", form])
    assert result.exit_code == 2
    assert "give --plan without --plain" in result.stderr


def test_a_dump_that_is_elsewhere_is_not_followed() -> None:
    result = CliRunner().invoke(main, ["--dump", "hdfs://h/dump", "--out", "o", "--live"])
    assert result.exit_code == 2
    assert "hdfs://h/dump is no folder of this machine" in result.stderr
