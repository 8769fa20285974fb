"""Fault commands without a cluster: words, mistakes, who is in charge."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab, one_line


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(write_lab_spec(tmp_path))


def test_a_word_without_a_value_is_shown_how_to_be_written(file: str) -> None:
    result = jbodlab("faults", "add", "eio", "--config", file)
    assert result.exit_code == ExitCode.USAGE
    assert "'eio' is not key=value, as in mode=eio" in result.stderr
    result = jbodlab("faults", "add", "mode=[", "--config", file)
    assert "has no value that can be read" in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mode=eoi", "broker=1"], "mode: must be one of"),
        (["mode=eio", "broker=1", "operations=append,reed"], "operations[1]: must be one of"),
        (["mode=eio", "broker=9"], "there is no broker 9"),
        (["mode=eio", "log_dir=data/b9/d1"], "data/b9/d1 is no log dir of"),
        (["mode=cut", "from=controller", "to=client"], "a broker must be concerned"),
        (["mode=pause", "broker=1"], "use `jbodlab brokers pause`, `resume`"),
        (["mode=power_cut", "broker=1"], "only the simulation can do that"),
    ],
)
def test_a_mistake_is_told_before_any_broker_is_asked(
    file: str, words: list[str], told: str
) -> None:
    result = jbodlab("faults", "add", *words, "--config", file)
    assert result.exit_code == ExitCode.FAILED
    assert told in result.stderr


@pytest.mark.parametrize(
    ("words", "broker"),
    [
        (["mode=eio", "log_dir=data/b2/d1"], 2),
        (["mode=bit_flip", "node=broker-3", "files=log,index"], 3),
        (["mode=cut", "from=broker-2", "to=broker-1"], 2),
        (["mode=cut", "from=controller", "to=broker-3", "both_ways=false"], 3),
    ],
)
def test_the_broker_that_is_in_charge_is_asked(file: str, words: list[str], broker: int) -> None:
    result = jbodlab("faults", "add", *words, "--config", file)
    assert result.exit_code == ExitCode.NOT_RUNNING
    assert one_line(result).startswith(f"broker {broker} does not run: start it with ")


def test_without_a_cluster_there_is_nothing_to_list_or_clear(file: str) -> None:
    for command in ("list", "clear"):
        assert jbodlab("faults", command, "--config", file).exit_code == ExitCode.NOT_RUNNING


@pytest.mark.parametrize("words", ["from=broker-1 to=broker-9", "from=brocker-1 to=broker-2"])
def test_a_cut_to_a_node_that_there_is_not_is_refused(file: str, words: str) -> None:
    result = jbodlab("faults", "add", "mode=cut", *words.split(), "--config", file)
    assert result.exit_code == ExitCode.FAILED
