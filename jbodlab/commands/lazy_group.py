"""A click group that imports a command's module when that command is asked for, not for its help.

It knows no command and caches nothing but what it has loaded.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Finds commands in a table, which has the line of each in the help of the group, too."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        """Take the same as ``click.Group``, and ``table``.

        Args:
            args: of ``click.Group``.
            table: name -> (``module:attribute``, what the command says of itself in a line).
            kwargs: of ``click.Group``.
        """
        super().__init__(*args, **kwargs)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table, behind them those that were added."""
        return list(dict.fromkeys([*self._table, *super().list_commands(ctx)]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, importing its module at the first time."""
        if cmd_name in self._table and cmd_name not in self.commands:
            self.add_command(_load(self._table[cmd_name][0]), cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command; those of the table need not be imported for that."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._line(ctx, name)) for name in self.list_commands(ctx)])

    def _line(self, ctx: click.Context, name: str) -> str:
        if name in self._table:
            return self._table[name][1]
        command = self.get_command(ctx, name)
        assert command is not None, name
        return command.get_short_help_str(80)


def _load(place: str) -> click.Command:
    module, _, attribute = place.partition(":")
    gc.disable()  # What is imported stays: looking for garbage among it would be a fifth of it.
    try:
        command = getattr(importlib.import_module(module), attribute)
    finally:
        gc.enable()
    assert isinstance(command, click.Command), f"{place} is no command"
    return command
