"""Topic commands without a cluster. With one: tests/integration."""

from __future__ import annotations

from pathlib import Path

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab


def test_a_setting_needs_a_value(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    result = jbodlab("topics", "create", "t", "--set", "retention.ms", "--config", file)
    assert result.exit_code == ExitCode.USAGE
    assert "--set takes KEY=VALUE" in result.stderr
