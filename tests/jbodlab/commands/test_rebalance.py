"""Rebalance commands without a cluster. With one: tests/integration."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab, one_line


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(write_lab_spec(tmp_path))


def test_a_plan_that_is_missing_is_told(config: str, tmp_path: Path) -> None:
    result = jbodlab("rebalance", "run", str(tmp_path / "none.json"), "--config", config)
    assert result.exit_code == ExitCode.FAILED
    assert one_line(result).endswith(
        f"none.json: `jbodlab rebalance plan --out {tmp_path}/none.json`"
    )


def test_a_way_back_that_is_missing_is_not_to_be_planned(config: str, tmp_path: Path) -> None:
    result = jbodlab("rebalance", "undo", str(tmp_path / "none.json"), "--config", config)
    assert result.exit_code == ExitCode.FAILED
    assert one_line(result).endswith("none.json: `jbodlab rebalance run` writes it")


def test_a_file_that_is_no_plan_is_told(config: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text('{"version": 3}')
    result = jbodlab("rebalance", "undo", str(file), "--config", config)
    assert result.exit_code == ExitCode.FAILED
    assert one_line(result) == f'{file} is no plan: it says no "version": 1'


def test_a_plan_is_not_written_over_one_that_can_still_be_taken_back(
    config: str, tmp_path: Path
) -> None:
    (tmp_path / "plan.rollback.json").write_text("{}")
    out = str(tmp_path / "plan.json")
    result = jbodlab("rebalance", "plan", "--out", out, "--config", config)
    assert result.exit_code == ExitCode.FAILED
    assert "leads back from an earlier run" in one_line(result)


def test_a_plan_needs_a_cluster(config: str) -> None:
    result = jbodlab("rebalance", "plan", "--config", config)
    assert result.exit_code == ExitCode.NOT_RUNNING


def test_every_command_explains_itself() -> None:
    for name in ("plan", "run", "undo"):
        text = jbodlab("rebalance", name, "--help").stdout
        assert "--json" in text
        assert len(text.splitlines()) > 10
