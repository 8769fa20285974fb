"""Process commands without processes: what they refuse. With processes: tests/integration."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from protocol.cluster_file.spec import load_cluster_spec
from tests.jbodlab.command_line import jbodlab, one_line


def test_a_taken_port_is_named_with_its_holder_and_its_key(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    port = load_cluster_spec(file).broker(2).port
    with socket.create_server(("127.0.0.1", port)):
        result = jbodlab("up", "--config", str(file))
    assert result.exit_code == ExitCode.PORT_IN_USE
    assert f"port {port} of broker-2 is in use by " in result.stderr
    assert "brokers[1].port" in result.stderr


def test_an_unknown_broker_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    result = jbodlab("brokers", "restart", "9", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.FAILED
    assert one_line(result).startswith("there is no broker 9")
    assert one_line(result).endswith("only 1, 2, 3")


def test_killing_what_does_not_run_is_refused(tmp_path: Path) -> None:
    result = jbodlab("brokers", "kill", "1", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.NOT_RUNNING
    assert one_line(result).startswith("broker 1 does not run: see `jbodlab status`")


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_a_broker_that_could_not_register_is_not_started(tmp_path: Path, verb: str) -> None:
    result = jbodlab("brokers", verb, "2", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.NOT_RUNNING
    assert one_line(result).startswith("a broker cannot register, for the controller does not run")


def test_status_of_nothing_lists_the_processes_and_fails(tmp_path: Path) -> None:
    result = jbodlab("status", "--json", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.NOT_RUNNING
    names = [row["name"] for row in json.loads(result.stdout)["processes"]]
    assert names == ["controller", "broker-1", "broker-2", "broker-3"]


def test_status_names_logs_from_the_folder_of_the_cluster_file(tmp_path: Path) -> None:
    result = jbodlab("status", "--config", str(write_lab_spec(tmp_path)))
    assert "not running data/run/cluster/broker-1.log" in result.stdout


def test_down_of_nothing_is_no_error(tmp_path: Path) -> None:
    result = jbodlab("down", "--config", str(write_lab_spec(tmp_path)))
    assert (result.exit_code, result.stdout) == (ExitCode.OK, "nothing was running\n")
