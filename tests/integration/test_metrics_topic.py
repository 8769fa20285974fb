"""The metrics topic of a cluster whose disks fail, read by Spark's own Kafka connector."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from kafka.structs import TopicPartition

from analytics import follow
from analytics.errors import ConnectorMissing
from analytics.kafka_connector import connector_jars
from jbodlab.load import reader
from jbodlab.processes.lab_spec import LabShape
from protocol.metrics.rows import TABLES
from protocol.metrics.topic import METRICS_TOPIC
from tests.clients.disks import VICTIM, fail_disk_of_leader
from tests.deadlines import DEADLINE_MS, DEADLINE_S
from tests.integration.labs import FAST, PATIENT_MS, Lab, running_lab
from tests.jbodlab import command_line

SHAPE = LabShape(
    metrics_to_topic=True, metrics_interval_ms=200, session_timeout_ms=PATIENT_MS, configs=FAST
)
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "how-to" / "secure.md"
(PROGRAM,) = re.findall(
    r"```python\n(from pyspark.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
)
Rows: TypeAlias = Counter[tuple[str, str]]
"""Metric table and row, as JSON with its columns sorted."""


@pytest.fixture
def connector() -> None:
    try:
        connector_jars()
    except ConnectorMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def lab(tmp_path: Path, connector: None) -> Generator[Lab]:
    with running_lab(tmp_path / "lab", SHAPE) as running:
        yield running


def source(lab: Lab) -> str:
    return f"kafka://{','.join(lab.servers)}"


@contextmanager
def spark_process(log: Path, module: str, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", module, "--master", "local[1]", *arguments]
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def finished(process: subprocess.Popen[bytes], log: Path) -> bytes:
    said, _ = process.communicate(timeout=10 * DEADLINE_S)
    assert process.returncode == 0, log.read_text()
    return said


def wait(lab: Lab, condition: Callable[[], bool], what: str) -> None:
    lab.cluster.wait_until(lambda _: condition(), what, 10 * DEADLINE_MS)


def rows_in_topic(lab: Lab) -> Rows:
    """Return what is in the topic now, as kafka-python reads it."""
    consumer = reader(lab.servers)
    try:
        partitions = [TopicPartition(METRICS_TOPIC, number) for number in range(SHAPE.brokers)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions, timeout_ms=DEADLINE_MS)
        found: Rows = Counter()
        while any(consumer.position(each) < ends[each] for each in partitions):
            for records in consumer.poll(1000).values():
                found.update(
                    (each.key.decode().split("/")[0], canonical(json.loads(each.value)))
                    for each in records
                )
        return found
    finally:
        consumer.close()


def rows_in_parquet(out: Path, below: str = "batch=*/") -> Rows:
    """Return what lies below ``rows``, as DuckDB reads it; staging folders are left out.

    ``below`` is where files are in a day's folder: a stream has one for each micro-batch.
    """
    import duckdb  # noqa: PLC0415 - whoever has loaded it complains of leaks when it ends

    found: Rows = Counter()
    for table in TABLES:
        files = f"{out}/rows/{table}/run_id=*/day=*/{below}*.parquet"
        if not any(out.glob(files.removeprefix(f"{out}/"))):
            continue
        folders = "day, batch" if below else "day"
        query = f"SELECT * EXCLUDE ({folders}) FROM read_parquet('{files}')"
        read = duckdb.connect().execute(query)
        names = [column[0] for column in read.description or ()]
        found.update(
            (table, canonical(dict(zip(names, row, strict=True)))) for row in read.fetchall()
        )
    return found


def report(lab: Lab, out: Path, log: Path) -> dict[str, Any]:
    """Return what ``jbodlab report`` says of the topic."""
    command = [sys.executable, "-m", "jbodlab", "report", "--json"]
    command += ["--config", str(lab.cluster.config_path), "--from", source(lab), "--out", str(out)]
    with log.open("ab") as errors:
        said = subprocess.check_output(command, stderr=errors, timeout=10 * DEADLINE_S)
    return json.loads(said)["report"]


def canonical(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def newest_ms(rows: Rows) -> int:
    return max((json.loads(row)["at_ms"] for _, row in rows), default=0)


def told_by_the_controller(rows: Rows) -> set[str]:
    found = [json.loads(row) for table, row in rows if table == "failover_event"]
    return {row["step"] for row in found if row["node"] == "controller"}


def wait_until_told_by_the_controller(lab: Lab) -> None:
    wanted = {"controller_noticed", "replicas_offline", "leaders_elected", "brokers_told"}
    wait(lab, lambda: told_by_the_controller(rows_in_topic(lab)) >= wanted, "it is told")


def test_the_controller_tells_the_topic_of_a_failover_below_it(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab", SHAPE) as lab:
        fail_disk_of_leader(lab, METRICS_TOPIC)
        wait_until_told_by_the_controller(lab)


@pytest.mark.sampled_among("the metrics topic on Spark", kept=0)
@pytest.mark.timeout(40 * DEADLINE_S)
def test_a_disk_fails_below_the_metrics_topic_and_stream_and_report_have_each_row_once(
    lab: Lab, tmp_path: Path
) -> None:
    out, log = tmp_path / "out", tmp_path / "spark.log"
    stream = ("--from", source(lab), "--out", str(out))
    with spark_process(log, follow.__name__, *stream, "--every", "1 second"):
        wait(lab, lambda: bool(rows_in_parquet(out)), "the stream has written rows")
        fail_disk_of_leader(lab, METRICS_TOPIC)
        failed_ms = newest_ms(rows_in_topic(lab))
        wait(lab, lambda: newest_ms(rows_in_parquet(out)) > failed_ms, "rows of after the failure")
    # It was killed in the middle of whatever it did; it goes on where it was.
    before = rows_in_topic(lab)
    with spark_process(log, follow.__name__, *stream, "--once") as process:
        finished(process, log)
    stored, after = rows_in_parquet(out), rows_in_topic(lab)
    assert lab.offline_dirs(VICTIM)
    assert max(after.values()) == 1, "an idempotent producer writes nothing twice"
    assert before <= stored <= after
    assert {table for table, _ in stored} >= {"log_dir", "replica", "failover_event", "request"}
    wait_until_told_by_the_controller(lab)
    found = report(lab, tmp_path / "report", log)
    reported, last = rows_in_parquet(tmp_path / "report", below=""), rows_in_topic(lab)
    assert after <= reported <= last
    assert sum(found["row_counts"].values()) == reported.total()
    # It would be stale if its broker's partition were read to an earlier end than the others.
    assert [row["state"] for row in found["log_dirs"]].count("offline") == 1
    assert not any(found["duplicate_counts"].values())
    assert [row["is_finished"] for row in found["failovers"]] == [True]


@pytest.mark.sampled_among("the metrics topic on Spark", kept=0)
@pytest.mark.usefixtures("connector")
@pytest.mark.timeout(40 * DEADLINE_S)
def test_the_topic_of_a_secured_cluster_is_read_by_a_client_file(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab", replace(SHAPE, brokers=1, secure=True)) as lab:
        lab_file = tmp_path / "lab" / "cluster.yaml"
        folder = lab_file.parent / "data" / "secure" / "clients"
        command = [sys.executable, "-m", "jbodlab", "report", "--json", "--from", source(lab)]
        command += ["--config", str(tmp_path / "none.yaml"), "--out", str(tmp_path / "report")]
        ends = [*command, "--command-config", str(folder / "admin.properties")]
        said = subprocess.check_output(ends, timeout=10 * DEADLINE_S)
        assert json.loads(said)["report"]["row_counts"]["log_dir"] > 0
        command_line.jbodlab("topics", "create", "orders", "--config", str(lab_file))
        assert "|hello|" in said_by_spark(PROGRAM, folder)


def said_by_spark(program: str, folder: Path) -> str:
    """Run a program of the guide with the connector, beside the client files."""
    jars = ",".join(map(str, connector_jars()))
    submit = f"--master local[1] --jars {jars} pyspark-shell"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": submit},
        stdout=subprocess.PIPE,
        text=True,
        timeout=10 * DEADLINE_S,
        check=True,
    ).stdout
