from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.scenario_files import load_plan, shipped_files


@pytest.mark.parametrize("file", shipped_files(), ids=lambda file: file.stem)
def test_a_shipped_scenario_is_called_as_its_file(file: Path) -> None:
    assert load_plan(str(file)).name == file.stem


def test_a_shipped_scenario_is_found_by_its_name() -> None:
    name = shipped_files()[0].stem

    assert load_plan(name) == load_plan(str(shipped_files()[0]))


def test_a_name_that_nothing_has_is_told_with_the_closest_one() -> None:
    with pytest.raises(LabError) as caught:
        load_plan("kip-112-leader-logdir-fails")

    assert caught.value.exit_code is ExitCode.BAD_CONFIG
    assert "did you mean kip-112-leader-log-dir-fails?" in str(caught.value)


def test_a_file_that_is_not_there_or_holds_mistakes_is_a_lab_error(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    with pytest.raises(LabError, match="cannot be read"):
        load_plan(str(file))
    file.write_text("name: x")
    with pytest.raises(LabError, match="shows: is missing") as caught:
        load_plan(str(file))
    assert caught.value.exit_code is ExitCode.BAD_CONFIG
