"""A group that imports what is asked for, and nothing else."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from jbodlab.commands.lazy_group import LazyGroup

TABLE = {
    "decode": ("jbodlab.commands.decode:decode", "Show what was sent."),
    "gone": ("jbodlab.commands.nowhere:gone", "Show nothing."),
    "words": ("jbodlab.commands.decode:KINDS", "Be no command."),
}


def test_names_are_told_in_the_order_of_the_table_without_an_import() -> None:
    group = LazyGroup(table=TABLE)
    group.add_command(click.Command("added"))
    assert group.list_commands(click.Context(group)) == ["decode", "gone", "words", "added"]
    assert list(group.commands) == ["added"]


def test_a_command_is_loaded_once_under_the_name_of_the_table() -> None:
    group = LazyGroup(table=TABLE)
    context = click.Context(group)
    found = group.get_command(context, "decode")
    assert found is not None
    assert found.name == "decode"
    assert group.get_command(context, "decode") is found


def test_a_name_that_is_not_there_is_no_command() -> None:
    group = LazyGroup(table=TABLE)
    assert group.get_command(click.Context(group), "encode") is None


def test_a_wrong_line_of_the_table_is_our_own_mistake() -> None:
    group = LazyGroup(table=TABLE)
    with pytest.raises(ModuleNotFoundError):
        group.get_command(click.Context(group), "gone")
    with pytest.raises(AssertionError, match="KINDS is no command"):
        group.get_command(click.Context(group), "words")


def test_help_shows_the_lines_of_the_table_and_imports_nothing() -> None:
    group = LazyGroup(table=TABLE)
    group.add_command(click.Command("added", help="Was here before."))
    shown = CliRunner().invoke(group, ["--help"]).stdout
    assert [line.split() for line in shown.partition("Commands:")[2].strip().splitlines()] == [
        ["decode", "Show", "what", "was", "sent."],
        ["gone", "Show", "nothing."],
        ["words", "Be", "no", "command."],
        ["added", "Was", "here", "before."],
    ]
    assert list(group.commands) == ["added"]
