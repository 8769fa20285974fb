"""What README.md and the pages of docs tell people to type exists."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from jbodlab.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in sorted(ROOT.glob("docs/**/*.md"))
}
PYTHON = [
    pytest.param(page, block, id=f"{page}-{number}")
    for page, text in PAGES.items()
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL), start=1)
    if not block.startswith(">>>")
]
"""Not the sessions: other tests run them."""


def command_lines(program: str, text: str = README) -> list[list[str]]:
    """Return the words of every command of a code block that begins with ``program``."""
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    commands = [each for line in lines for each in re.split("[#<]| [|&>]+|$", line)]
    return [shlex.split(each) for each in commands if each.strip().startswith(f"{program} ")]


@pytest.mark.parametrize("words", command_lines("make"), ids=" ".join)
def test_every_make_target_exists(words: list[str]) -> None:
    targets = re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text())
    assert words[1] in targets


@pytest.mark.parametrize(
    "words", command_lines("jbodlab", README + "\n".join(PAGES.values())), ids=" ".join
)
def test_every_jbodlab_command_parses(words: list[str]) -> None:
    command: click.Command = main
    arguments = words[1:]
    context = click.Context(main)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}"
        command = found
    command.make_context(words[0], arguments, resilient_parsing=False)


@pytest.mark.parametrize(("page", "block"), PYTHON)
def test_every_block_of_python_compiles(page: str, block: str) -> None:
    compile(block, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_link_leads_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_setting_up_takes_two_commands_and_demo_and_tests_one_each() -> None:
    assert [words[:2] for words in command_lines("make")] == [
        ["make", "setup"],
        ["make", "demo"],
        ["make", "test"],
    ]
