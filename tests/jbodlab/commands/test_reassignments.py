"""Reassignment commands without a cluster. With one: tests/integration."""

from __future__ import annotations

from pathlib import Path

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab


def test_a_partition_is_a_number(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    result = jbodlab("reassignments", "cancel", "t", "-1", "--config", file)
    assert result.exit_code == ExitCode.USAGE
