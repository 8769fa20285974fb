import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analytics.__main__ import ExitCode, main
from analytics.read import SETTINGS_FOLDERS
from tests.analytics.frames import SAMPLES, write_dump
from tests.deadlines import DEADLINE_S


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
        *("--from", "--plain", "--archive"),
    ):
        assert option in result.stdout
