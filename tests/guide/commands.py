"""The page of all commands, as click knows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from jbodlab.cli import main
from tests.simulation.core.language import table

VERBATIM = "\b"
"""What begins a paragraph that click does not wrap."""


def commands_page() -> list[str]:
    """Return the parts of the page."""
    return [
        "# Commands",
        "Every command explains itself with `--help`. A command writes what it finds to stdout "
        "and errors, one line each, to stderr; its [exit code](exit-codes.md) says what kind of "
        "error it was.",
        *_below(main, click.Context(main, info_name="jbodlab")),
    ]


def _below(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None
        if command.hidden:
            continue
        below = click.Context(command, parent=context, info_name=name)
        yield f"{'##' if group is main else '###'} {below.command_path}"
        usage = " ".join([below.command_path, *command.collect_usage_pieces(below)])
        yield f"```text\n{usage}\n```"
        yield from _paragraphs(command.help or "")
        if rows := list(_options(command, below)):
            yield table(("option", "meaning"), rows)
        if isinstance(command, click.Group):
            yield from _below(command, below)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if paragraph.startswith(VERBATIM):
            lines = inspect.cleandoc(paragraph.removeprefix(VERBATIM).strip("\n"))
            yield f"```text\n{lines}\n```"
        else:
            yield escaped(" ".join(paragraph.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or "--help" in record[0]:
            continue
        words, meaning = record
        if meaning or isinstance(parameter, click.Option):
            yield f"`{escaped_bars(words)}`", escaped(meaning)


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is, but for what stands between backquotes."""
    parts = text.split("`")
    for index in range(0, len(parts), 2):
        parts[index] = re.sub(r"([*_<>\[\]])", r"\\\1", parts[index])
    return escaped_bars("`".join(parts))


def escaped_bars(text: str) -> str:
    """Return text that ends no cell of a table."""
    return text.replace("|", "\\|")
