"""What a shell is told when somebody presses Tab where a scenario is wanted.

Apart from what asks clusters, which takes a moment to load.
"""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def complete_scenarios(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete scenarios that come with jbodlab, and files."""
    from jbodlab.worlds.scenario_files import shipped_files  # noqa: PLC0415 - quick for others

    named = beginning(incomplete, ((file.stem, "") for file in shipped_files()))
    return named or [CompletionItem(incomplete, type="file")]


def beginning(incomplete: str, words: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """Return the words, each with its help, that begin as what was typed."""
    return [
        CompletionItem(word, help=words_of_help or None)
        for word, words_of_help in words
        if word.startswith(incomplete)
    ]
