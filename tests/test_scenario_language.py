"""docs/scenario-language.md says what the code does, and its examples run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.jbodlab.command_line import jbodlab
from tests.simulation.core.language import PAGE, page_with, vocabulary

TEXT = PAGE.read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return found


COMMANDS = [line.partition("#")[0].strip() for line in block("sh").splitlines()]
IN_MEMORY = [line for line in COMMANDS if "--world" not in line]


def test_the_vocabulary_is_that_of_the_code() -> None:
    assert page_with(vocabulary()) == TEXT, "write it: python -m tests.simulation.core.language"


def test_the_example_comes_out_as_it_must(tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(block("yaml"))

    result = jbodlab("scenario", "run", str(file))

    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("line", IN_MEMORY)
def test_the_commands_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text(block("yaml"))
    program, *arguments = shlex.split(line)

    assert program == "jbodlab"
    assert jbodlab(*arguments).exit_code == 0
