from __future__ import annotations

import json
from pathlib import Path
from xml.etree.ElementTree import parse

from jbodlab.errors import ExitCode
from tests.conformance.fake_cluster import fake_cluster
from tests.jbodlab.command_line import jbodlab, one_line

CASE = "minimal/Heartbeat@v4"


def test_a_broker_that_answers_as_kafka_passes_and_another_one_exits_with_12(
    tmp_path: Path,
) -> None:
    # To an empty group id Kafka says INVALID_GROUP_ID (24).
    for code, exit_code in ((24, ExitCode.OK), (25, ExitCode.VIOLATION)):
        with fake_cluster(code=code) as server:
            told = jbodlab("conform", "--bootstrap-server", server, "--only", CASE, "--json")
            assert told.exit_code == exit_code, told.output
            form = json.loads(told.stdout)
            assert (form["against"], form["left_behind"]) == ("kafka-3.9", [])
            file = tmp_path / "report.xml"
            shown = jbodlab(
                "conform", "--bootstrap-server", server, "--only", CASE, "--junit", str(file)
            )
            assert shown.exit_code == exit_code
            assert len(list(parse(file).iter("failure"))) == (exit_code == ExitCode.VIOLATION)
    assert exit_code == 12
    assert f"again: jbodlab conform --bootstrap-server {server} --against" in shown.stdout


def test_cases_are_listed_with_what_they_look_at() -> None:
    listed = json.loads(jbodlab("conform", "--list", "--only", "frames", "--json").stdout)
    assert {each["case"] for each in listed} >= {"frames/sizes", "frames/in-pieces"}
    assert "frames/sizes (v0)" in jbodlab("conform", "--list", "--only", "frames").stdout


def test_what_is_missing_on_the_command_line_is_told() -> None:
    told = jbodlab("conform")
    assert told.exit_code == ExitCode.USAGE
    assert "--bootstrap-server HOST:PORT says which cluster to judge" in told.stderr


def test_nobody_there_is_told_in_one_line() -> None:
    told = jbodlab("conform", "--bootstrap-server", "127.0.0.1:1")
    assert told.exit_code == ExitCode.NOT_RUNNING
    assert one_line(told).startswith("127.0.0.1:1 does not answer as a Kafka broker")


def test_less_than_three_brokers_cannot_be_recorded(tmp_path: Path) -> None:
    with fake_cluster() as server:
        arguments = ("--release", "1", "--out", str(tmp_path / "x"))
        told = jbodlab("conform", "record", "--bootstrap-server", server, *arguments)
    assert told.exit_code == ExitCode.FAILED
    assert "has 1 broker(s), recording needs three" in one_line(told)
