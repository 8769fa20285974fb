"""What every command shares: JSON or a picture, and the cluster file."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.commands.output import Lab
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.lab_spec import write_lab_spec


def test_results_are_json_or_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_lab_spec(tmp_path)
    Lab(file, is_json=True).emit({"a": 1}, "shown")
    Lab(file, is_json=False).emit({"a": 1}, "shown")
    assert capsys.readouterr().out == '{\n  "a": 1\n}\nshown\n'


def test_the_cluster_file_is_read_once(tmp_path: Path) -> None:
    lab = Lab(write_lab_spec(tmp_path), is_json=False)
    assert lab.cluster is lab.cluster


def test_a_cluster_that_does_not_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError) as caught:
        Lab(write_lab_spec(tmp_path), is_json=False).require_running()
    assert caught.value.exit_code is ExitCode.NOT_RUNNING
