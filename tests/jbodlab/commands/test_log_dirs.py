"""Log dir commands without a cluster: paths, options, tables. With one: tests/integration."""

from __future__ import annotations

from pathlib import Path

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from protocol.cluster_file.spec import load_cluster_spec
from tests.jbodlab.command_line import jbodlab, one_line
from tests.jbodlab.fake_node import fake_node


def test_an_unknown_log_dir_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    result = jbodlab("log-dirs", "fail", "data/b9/d1", "--config", file)
    assert result.exit_code == ExitCode.FAILED
    assert "data/b9/d1 is no log dir" in result.stderr
    assert "there are data/b1/d1, data/b1/d2, data/b1/d3, data/b2/d1, " in one_line(result)


def test_slow_needs_its_delay_and_nothing_else_takes_it(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    for options in (("--mode", "slow"), ("--delay-ms", "5")):
        result = jbodlab("log-dirs", "fail", "data/b1/d1", *options, "--config", file)
        assert result.exit_code == ExitCode.USAGE
        assert "--delay-ms belongs to --mode slow" in result.stderr


def test_a_fault_for_a_broker_that_does_not_run_says_so(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    result = jbodlab("log-dirs", "fail", "data/b1/d1", "--config", file)
    assert result.exit_code == ExitCode.NOT_RUNNING
    assert one_line(result).startswith(
        "broker 1 does not run: start it with `jbodlab brokers start 1`"
    )


def test_a_broker_that_runs_in_a_container_is_asked(tmp_path: Path) -> None:
    file = write_lab_spec(tmp_path)
    broker = load_cluster_spec(file).broker(1)
    with fake_node({}, broker.advertised_port):
        result = jbodlab("log-dirs", "fail", "data/b1/d1", "--config", str(file))
    assert result.exit_code == ExitCode.NOT_RUNNING
    assert one_line(result).startswith("broker 1 does not answer on its control port 127.0.0.1:")
