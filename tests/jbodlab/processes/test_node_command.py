"""Command lines of nodes name modules that are there, wherever the rooms are installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from jbodlab.processes.node_command import node_command

FILE = Path("/lab/cluster.yaml")


@pytest.mark.parametrize("name", ["controller", "broker-7"])
def test_a_node_is_run_by_this_python_as_a_module_that_can_be_run(name: str) -> None:
    python, flag, module, *options = node_command(name, FILE, "run-1")
    assert (python, flag) == (sys.executable, "-m")
    assert find_spec(f"{module}.__main__") is not None
    assert options[:4] == ["--config", str(FILE), "--run-id", "run-1"]


def test_a_broker_is_told_which_of_the_file_it_is() -> None:
    assert node_command("broker-7", FILE, "run-1")[-2:] == ["--id", "7"]
    assert "--id" not in node_command("controller", FILE, "run-1")
