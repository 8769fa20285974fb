"""What a shell is told at Tab, without a cluster that runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import ShellComplete, get_completion_class

from jbodlab.cli import main
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec

TOPIC = TopicSpec(name="orders", partitions=1, replication_factor=1, configs={})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_lab_spec(tmp_path, LabShape(topics=(TOPIC,)))


def told(words: list[str], incomplete: str) -> list[str]:
    shell = ShellComplete(main, {}, "jbodlab", "_JBODLAB_COMPLETE")
    return [each.value for each in shell.get_completions(words, incomplete)]


def test_log_dirs_are_those_of_the_cluster_file(file: Path) -> None:
    words = ["log-dirs", "fail", "--config", str(file)]
    assert told(words, "data/b2") == ["data/b2/d1", "data/b2/d2", "data/b2/d3"]
    moving = ["log-dirs", "move", "--config", str(file), "orders", "0", "--to"]
    assert told(moving, "data/b1/d3") == ["data/b1/d3"]


def test_topics_of_a_cluster_that_does_not_run_are_those_of_its_file(file: Path) -> None:
    assert told(["topics", "describe", "--config", str(file)], "o") == ["orders"]
    assert told(["consume", "--config", str(file)], "x") == []
    assert told(["topics", "create", "--config", str(file)], "o") == []


def test_brokers_have_ids(file: Path) -> None:
    assert told(["brokers", "kill", "--config", str(file)], "") == ["1", "2", "3"]
    assert told(["faults", "clear", "--config", str(file), "--broker"], "2") == ["2"]


def test_scenarios_are_named_and_files_left_to_the_shell() -> None:
    assert told(["scenario", "run"], "kip-112-leader-log-dir-f") == ["kip-112-leader-log-dir-fails"]
    assert told(["scenario", "run"], "./mine") == ["./mine"]


def test_without_a_cluster_file_nothing_is_told(tmp_path: Path) -> None:
    words = ["--config", str(tmp_path / "none.yaml")]
    assert told(["log-dirs", "heal", *words], "") == []
    assert told(["topics", "delete", *words], "") == []
    assert told(["brokers", "stop", *words], "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_page_has_what_each_shell_reads(shell: str) -> None:
    page = Path(__file__).parents[3] / "docs" / "guide" / "how-to" / "shell.md"
    assert f"_JBODLAB_COMPLETE={shell}_source jbodlab" in page.read_text(encoding="utf-8")
    made = get_completion_class(shell)
    assert made is not None
    assert "_JBODLAB_COMPLETE" in made(main, {}, "jbodlab", "_JBODLAB_COMPLETE").source()
