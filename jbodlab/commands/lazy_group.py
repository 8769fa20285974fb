"""A click group that imports a command's module when that command is asked for.

It knows no command and caches nothing but what it has loaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """Finds commands in a table; only help, which shows a line of each, loads all of them."""

    def __init__(self, *args: Any, table: Mapping[str, str], **kwargs: Any) -> None:
        """Take the same as ``click.Group``, and ``table``: name -> ``module:attribute``."""
        super().__init__(*args, **kwargs)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, sorted as click sorts them."""
        return sorted({*self._table, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, importing its module at the first time."""
        if cmd_name in self._table and cmd_name not in self.commands:
            self.add_command(_load(self._table[cmd_name]), cmd_name)
        return super().get_command(ctx, cmd_name)


def _load(place: str) -> click.Command:
    module, _, attribute = place.partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert isinstance(command, click.Command), f"{place} is no command"
    return command
