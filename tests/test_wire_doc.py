"""Every example of docs/wire.md runs, and what it shows is what comes out."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from protocol.apis import APIS
from tests.jbodlab.command_line import jbodlab

PAGE = (Path(__file__).parents[1] / "docs" / "wire.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_python_examples_show_what_comes_out() -> None:
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks("python")), {}, "wire", None, 0)
    assert len(examples.examples) > 20
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=failures.append)
    assert failures == []


def test_the_keys_are_those_that_there_are() -> None:
    listed = re.search(r"API keys ([\d, and\n-]+),\s", PAGE)
    assert listed is not None
    ranges = [part.split("-") for part in re.findall(r"\d+(?:-\d+)?", listed[1])]
    keys = [key for ends in ranges for key in range(int(ends[0]), int(ends[-1]) + 1)]
    assert keys == list(APIS)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]


def test_the_first_command_decodes_its_frame() -> None:
    result = jbodlab(*shlex.split(COMMANDS[0])[1:])
    assert result.exit_code == 0
    assert "request Metadata v0" in result.stdout


@pytest.mark.parametrize("line", COMMANDS[1:])
def test_the_other_commands_have_options_that_there_are(line: str) -> None:
    words = shlex.split(line.partition("<")[0])[1:]
    assert "No such option" not in jbodlab(*words).stderr
