import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from analytics.follow import main
from tests.analytics.frames import SAMPLES, write_dump
from tests.deadlines import DEADLINE_S


def test_what_names_no_topic_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--from", "hdfs://x", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("analytics: 'hdfs://x' names no topic")
    assert result.stderr.count("\n") == 1


def test_a_missing_java_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["--from", "kafka://h:1", "--out", "o"])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_every_option_explains_itself() -> None:
    text = CliRunner().invoke(main, ["--help"]).stdout
    for option in ("--from", "--dump", "--out", "--bucket", "--every", "--once", "--master"):
        assert option in text


@pytest.mark.parametrize("source", [(), ("--from", "kafka://h:1", "--dump", "d")])
def test_a_stream_has_one_source(source: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*source, "--out", "o"])
    assert result.exit_code == 2
    assert "give --from kafka://HOST:PORT or --dump FOLDER" in result.stderr


@pytest.mark.sampled_among("streams of rows", kept=0)
@pytest.mark.integration
def test_a_dump_is_followed_to_its_end_and_a_fact_keeps_few_states(tmp_path: Path) -> None:
    """Spark's own number of states, 200 for each fact, took six times as long as all else."""
    dump, out = tmp_path / "dump", tmp_path / "out"
    write_dump(dump, SAMPLES)
    command = [sys.executable, "-m", "analytics.follow", "--dump", str(dump), "--out", str(out)]
    options = ["--once", "--bucket", "10 seconds", "--master", "local[1]"]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, timeout=5 * DEADLINE_S
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(out.glob("rows/client/run_id=run-1/day=1970-01-01/batch=0/*.parquet"))
    states = out / "_checkpoint" / "facts" / "broker_facts" / "state" / "0"
    assert len(list(states.glob("[0-9]*"))) == 2


def test_a_dump_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--dump", f"{tmp_path}/no", "--out", "o"])
    assert (result.exit_code, result.stderr) == (
        1,
        f"analytics: cannot read {tmp_path}/no: it does not exist\n",
    )


def test_a_dump_that_is_elsewhere_is_not_followed() -> None:
    result = CliRunner().invoke(main, ["--dump", "hdfs://h/dump", "--out", "o"])
    assert result.exit_code == 2
    assert "hdfs://h/dump is no folder of this machine" in result.stderr
