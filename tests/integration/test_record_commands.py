"""``produce``, ``consume``, ``load`` and ``status --watch`` against a cluster of one broker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST

TOPIC = TopicSpec(name="orders", partitions=3, replication_factor=1, configs={})


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    shape = LabShape(brokers=1, log_dirs=1, configs=FAST, topics=(TOPIC,))
    file = write_lab_spec(tmp_path_factory.mktemp("records"), shape)
    with running(Cluster(file)):
        yield file


def run(config: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jbodlab", *arguments, "--config", str(config)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )


def answer(config: Path, *arguments: str, stdin: str = "") -> Any:
    done = run(config, *arguments, "--json", stdin=stdin)
    assert done.returncode == ExitCode.OK, done.stderr
    return json.loads(done.stdout)


def test_lines_are_produced_and_consumed(config: Path) -> None:
    answer(config, "topics", "create", "lines", "--replication-factor", "1")
    produced = answer(config, "produce", "lines", "--key-separator", ":", stdin="k:v\nplain\n")
    assert [each["offset"] for each in produced] == [0, 1]
    shown = run(config, "consume", "lines", "--from-beginning", "--count", "2", "--json")
    records = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [(each["key"], each["value"]) for each in records] == [("k", "v"), (None, "plain")]
    (server,) = Cluster(config).bootstrap_servers
    words = ("--group", "readers", "--from-beginning", "--count", "1", "--bootstrap-server", server)
    assert run(config, "consume", "lines", *words).stdout == "v\n"


def test_without_a_line_nothing_is_written(config: Path) -> None:
    done = run(config, "produce", "nowhere")
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    assert done.stdout == "standard input had no line: no record was written\n"
    assert "nowhere" not in answer(config, "topics", "list")


def test_a_misspelt_topic_is_named_and_not_waited_for(config: Path) -> None:
    missing = run(config, "consume", "ordesr", "--from-beginning", "--idle", "1")
    assert (missing.returncode, missing.stdout) == (ExitCode.FAILED, "")
    assert "there is no topic ordesr" in missing.stderr
    assert "ordesr" not in answer(config, "topics", "list")


def test_a_load_tells_what_was_lost(config: Path) -> None:
    done = answer(config, "load", "orders", "--seconds", "1", "--rate", "200")
    assert done["acknowledged"] > 0
    assert (done["lost"], done["twice"], done["failed"]) == ([], [], [])
    missing = run(config, "load", "nothing")
    assert missing.returncode == ExitCode.FAILED
    assert "there is no topic nothing" in missing.stderr


def test_status_is_watched_until_somebody_ends_it(config: Path) -> None:
    command = [sys.executable, "-m", "jbodlab", "status", "--watch", "--json"]
    with subprocess.Popen([*command, "--config", str(config)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.terminate()
    assert [line["brokers"] for line in lines] == [[1], [1]]
