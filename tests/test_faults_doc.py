"""docs/faults.md names every word there is, and what it shows to be typed is right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from jbodlab.cli import main
from protocol.faults.document import MODES, read_fault
from protocol.faults.model import DiskMode, FileClass, Operation
from protocol.faults.requests import RequestMode
from protocol.faults.toxics import TOXICS

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
]


def test_every_mode_operation_and_class_of_file_is_told() -> None:
    rows = re.findall(r"(?m)^\| `([a-z_]+)` \|", TEXT)
    assert [mode for mode in MODES if mode not in rows] == []
    words = [each.value for each in (*Operation, *FileClass)]
    assert [word for word in words if f"`{word}`" not in TEXT] == []


@pytest.mark.parametrize("mode", DiskMode, ids=lambda mode: mode.value)
def test_what_a_disk_mode_does_is_told_as_its_row_says(mode: DiskMode) -> None:
    (row,) = re.findall(rf"(?m)^\| `{mode.value}` \|(.*)\|$", TEXT)
    in_real_processes, in_the_simulation, _ = (cell.strip() for cell in row.split("|"))
    if mode.row.refusal is None:
        assert in_real_processes == mode.row.told
    else:
        assert in_real_processes == f"refused: {mode.row.refusal}"
        assert in_the_simulation == mode.row.told


@pytest.mark.parametrize("mode", RequestMode, ids=lambda mode: mode.value)
def test_what_a_mode_of_requests_does_is_told_as_its_row_says(mode: RequestMode) -> None:
    assert f"\n| `{mode.value}` | {mode.row.told} |\n" in TEXT
    language = (ROOT / "docs" / "scenario-language.md").read_text(encoding="utf-8")
    assert f"({', '.join(each.value for each in RequestMode)})" in language


def test_every_word_of_toxiproxy_is_told() -> None:
    rows = re.findall(r"(?m)^\| `([a-z_]+)`: `", TEXT)
    assert sorted(rows) == sorted(TOXICS)


def test_every_disk_mode_is_a_word_of_the_scenario_language() -> None:
    text = (ROOT / "docs" / "scenario-language.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"Of disks: .*?`mode` \((.*?)\)", text, re.DOTALL)
    assert [word.strip() for word in words.split(",")] == [mode.value for mode in DiskMode]


def test_every_example_is_a_fault() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    contents = yaml.safe_load(block)["faults"]
    assert [read_fault(each, other_keys=("at_ms", "until_ms"))[1] for each in contents] == [
        [] for _ in range(4)
    ]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_parses(words: list[str]) -> None:
    group, name, *arguments = words[1:]
    found = main.get_command(click.Context(main), group)
    assert isinstance(found, click.Group)
    found.commands[name].make_context(name, arguments)
