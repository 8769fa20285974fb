from pathlib import Path

import pytest

from jbodlab.errors import ExitCode, LabError
from jbodlab.worlds.experiment_files import load_experiment, shipped_experiments
from simulation.simulated_run import draw_streams


@pytest.mark.parametrize("name", shipped_experiments())
def test_every_shipped_experiment_has_a_plan_for_each_of_its_cells(name: str) -> None:
    experiment = load_experiment(name)
    assert experiment.name == name
    plans = [experiment.plan(seed, draw_streams(seed)) for seed in range(experiment.cell_count)]
    assert len({plan.cluster.heartbeat_interval_ms for plan in plans}) > 1


def test_an_unknown_name_is_told_which_there_are() -> None:
    with pytest.raises(LabError, match="there are unreported-log-dir, or name a file") as caught:
        load_experiment("none-such")
    assert caught.value.exit_code is ExitCode.BAD_CONFIG


def test_mistakes_in_a_file_are_told_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("name: mine\n")
    with pytest.raises(LabError, match=f"{file}: .* mistake"):
        load_experiment(str(file))
