"""Command lines of Kafka's tools: what an option is, reading words by a table, the list of options.

Options are long ones, ``--name value`` or ``--name=value``, and may be shortened as long as it is
clear which one is meant. Which options go together is each tool's own rule.
"""

from __future__ import annotations

import textwrap
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from jbodlab.kafka_tools.core.failures import NUMBER_FORMAT, ToolFailure, UsageFailure

_WIDTH: Final = 80
_NAMES_WIDTH: Final = 40


@dataclass(frozen=True, slots=True)
class Option:
    """One row of a tool's table."""

    name: str
    description: str
    argument: str = ""
    """What follows it; empty for a switch."""
    is_bare_too: bool = False
    """Whether it may be given without its argument, which is then empty."""


JSON: Final = Option("json", "Write what the command found or did as one JSON document.")
HELP: Final = Option("help", "Print usage information.")
VERSION: Final = Option("version", "Display the version of jbodlab.")
EVERYWHERE: Final = (HELP, VERSION, JSON)


class Words:
    """A command line that was read: which options were given, and what follows them."""

    def __init__(self, given: Mapping[str, Sequence[str]], rest: Sequence[str] = ()) -> None:
        self._given = given
        self.rest = rest
        """The words that follow no option."""

    def __bool__(self) -> bool:
        return bool(self._given)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        return name in self._given

    def given(self, names: Sequence[str]) -> list[str]:
        """Return those of ``names`` that were given, in that order."""
        return [name for name in names if name in self._given]

    def values(self, name: str) -> Sequence[str]:
        """Return what follows an option, once per time it was given."""
        return self._given.get(name, ())

    def value(self, name: str, default: str = "") -> str:
        """Return what follows an option.

        Raises:
            ToolFailure: it was given more than once.
        """
        values = self.values(name)
        if len(values) > 1:
            raise ToolFailure(
                "joptsimple.MultipleArgumentsForOptionException",
                f"Found multiple arguments for option {name}, but you asked for only one",
            )
        return values[0] if values else default

    def number(self, name: str, default: int, bits: int = 32) -> int:
        """Return the number that follows an option.

        Raises:
            ToolFailure: it is none, is too large for ``bits``, or was given more than once.
        """
        text = self.value(name, str(default))
        digits = text.removeprefix("-")
        bound = 1 << (bits - 1)
        if digits.isascii() and digits.isdigit() and -bound <= int(text) < bound:
            return int(text)
        cause = ToolFailure(NUMBER_FORMAT, f'For input string: "{text}"')
        raise ToolFailure(
            "joptsimple.OptionArgumentConversionException",
            f"Cannot parse argument '{text}' of option {name}",
            ToolFailure("joptsimple.internal.ReflectionException", cause.headline, cause),
        )


def read_words(words: Sequence[str], table: Sequence[Option]) -> Words:
    """Read a command line.

    Raises:
        ToolFailure: an option that the table does not have, or one without its argument.
    """
    given: dict[str, list[str]] = {}
    alone: list[str] = []
    rest = deque(words)
    while rest:
        word = rest.popleft()
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            alone.append(word)
            continue
        name, separator, value = word.lstrip("-").partition("=")
        option = _find(name, table, is_short=not word.startswith("--"))
        values = given.setdefault(option.name, [])
        if option.argument:
            values.append(value if separator else _next(rest, option))
    return Words(given, alone)


def check_required(words: Words, names: Sequence[str]) -> None:
    """Check that options were given.

    Raises:
        UsageFailure: the first that was not.
    """
    for name in names:
        if not words.has(name):
            raise UsageFailure(f'Missing required argument "[{name}]"')


def check_forbidden(words: Words, used: str, others: Sequence[str]) -> None:
    """Check that an option, when it was given, was not given together with others.

    Raises:
        UsageFailure: the first that was.
    """
    if not words.has(used):
        return
    for other in words.given(others):
        raise UsageFailure(f'Option "[{used}]" can\'t be used with option "[{other}]"')


def option_list(table: Sequence[Option]) -> str:
    """Return the table for people, sorted by name, at most 80 columns wide."""
    lines = [f"{'Option':<{_NAMES_WIDTH}}Description", f"{'------':<{_NAMES_WIDTH}}-----------"]
    for option in sorted(table, key=lambda each: each.name):
        name = f"--{option.name}" + _argument_of(option)
        described = textwrap.wrap(option.description, _WIDTH - _NAMES_WIDTH)
        if len(name) >= _NAMES_WIDTH:
            lines.append(name)
            name = ""
        lines += [f"{name:<{_NAMES_WIDTH}}{described[0]}"]
        lines += [" " * _NAMES_WIDTH + line for line in described[1:]]
    return "\n".join(lines)


def _argument_of(option: Option) -> str:
    if not option.argument:
        return ""
    return f" [{option.argument}]" if option.is_bare_too else f" <{option.argument}>"


def _find(name: str, table: Sequence[Option], *, is_short: bool) -> Option:
    exact = [option for option in table if option.name == name]
    begun = [option for option in table if option.name.startswith(name) and not is_short]
    if exact or len(begun) == 1:
        return (exact or begun)[0]
    raise ToolFailure(
        "joptsimple.UnrecognizedOptionException", f"{name} is not a recognized option"
    )


def _next(rest: deque[str], option: Option) -> str:
    if option.is_bare_too and (not rest or rest[0].startswith("-")):
        return ""
    if not rest:
        raise ToolFailure(
            "joptsimple.OptionMissingRequiredArgumentException",
            f"Option {option.name} requires an argument",
        )
    return rest.popleft()
