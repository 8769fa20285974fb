"""The report needs a dump; the Spark job itself is shown in tests/analytics."""

from __future__ import annotations

from pathlib import Path

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import write_lab_spec
from tests.jbodlab.command_line import jbodlab, one_line


def test_without_a_dump_the_report_says_where_it_looked(tmp_path: Path) -> None:
    result = jbodlab("report", "--config", str(write_lab_spec(tmp_path)))
    assert result.exit_code == ExitCode.FAILED
    assert f"there is no dump in {tmp_path}/data/metrics" in result.stderr.replace("\n", " ")
    assert "jbodlab up" in one_line(result)
