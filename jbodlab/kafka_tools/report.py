"""Where a tool writes: Kafka's lines as they come, or one JSON document at the end.

It knows no tool's texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click


class Report:
    """With ``is_json`` nothing is written before ``finish``. Knows the tool's own arguments."""

    def __init__(self, *, is_json: bool, arguments: Sequence[str] = ()) -> None:
        self.is_json = is_json
        self.arguments = arguments
        self._document: dict[str, Any] = {}

    def say(self, text: str, *, end: str = "\n") -> None:
        """Write for people, to stdout."""
        if not self.is_json:
            click.echo(text + end, nl=False)

    def complain(self, text: str) -> None:
        """Write to stderr."""
        click.echo(text, err=True)

    def note(self, key: str, value: Any) -> None:
        """Put something into the document."""
        self._document[key] = value

    def finish(self) -> None:
        """Write the document, when one was asked for."""
        if self.is_json:
            click.echo(json.dumps(self._document, indent=2))
