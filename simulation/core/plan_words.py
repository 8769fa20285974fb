"""The vocabulary of scenario files: which words there are, and which field of a value each one is.

Everything is told by the classes themselves: a class's word is its name, a field's word its name
without ``_`` at the end and without ``_ms``, whose value is then a text such as ``500ms``.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, get_args

from simulation.core import actions, conditions
from simulation.core.actions import Action
from simulation.core.conditions import Condition

_OWN_WORDS: Final = {
    conditions.AllOf: "all",
    conditions.AnyOf: "any",
    conditions.FileIn: "file",
    conditions.LogDirIs: "log_dir",
    conditions.NodeIs: "node",
}
_BESIDE: Final[dict[type, tuple[str, ...]]] = {
    actions.Until: ("within_ms",),
    actions.Holds: ("for_ms",),
    actions.When: ("steps",),
}
_DURATION: Final = re.compile(r"(-?\d+) ?(ms|s|min)")
_MS_OF_UNIT: Final = {"ms": 1, "s": 1000, "min": 60_000}


@dataclass(frozen=True, slots=True)
class Word:
    """One field of a class, as files write it."""

    word: str
    field: str
    """Its name in the class."""
    type_: Any
    """Its resolved type, with what a text means (``references``) still on it."""
    is_duration: bool
    is_beside: bool
    """Written beside the word of the class, not below it."""
    default: Any
    """MISSING: it must be given."""

    @property
    def is_required(self) -> bool:
        """Whether a file must have it."""
        return self.default is dataclasses.MISSING


@cache
def words_of(class_: type) -> tuple[Word, ...]:
    """Return the fields of a class in order."""
    types = typing.get_type_hints(class_, include_extras=True)
    return tuple(
        Word(
            word=field.name.removesuffix("_ms").removesuffix("_"),
            field=field.name,
            type_=types[field.name],
            is_duration=field.name.endswith("_ms"),
            is_beside=field.name == "answers" or field.name in _BESIDE.get(class_, ()),
            default=_default(field),
        )
        for field in dataclasses.fields(class_)
    )


def word_of(class_: type) -> str:
    """Return the word of an action or condition."""
    found = _OWN_WORDS.get(class_)
    return found or re.sub(r"(?<!^)(?=[A-Z])", "_", class_.__name__).lower()


ACTIONS: Final[dict[str, type[Action]]] = {word_of(class_): class_ for class_ in get_args(Action)}
CONDITIONS: Final[dict[str, type[Condition]]] = {
    word_of(class_): class_ for class_ in get_args(Condition)
}


def duration_ms(text: str) -> int | None:
    """Return the milliseconds of ``500ms``, ``2s`` or ``1min``; None for any other text."""
    found = _DURATION.fullmatch(text)
    return None if found is None else int(found[1]) * _MS_OF_UNIT[found[2]]


def duration_text(ms: int) -> str:
    """Return how a file writes a time, in the largest unit that fits."""
    for unit in ("min", "s"):
        if ms and ms % _MS_OF_UNIT[unit] == 0:
            return f"{ms // _MS_OF_UNIT[unit]}{unit}"
    return f"{ms}ms"


# Any: the default of any field of any class.
def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
