"""Whether an answer carries an error code, at the top or in any part of it. For counting only."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

Finder: TypeAlias = Callable[[Any], bool]


def error_finder(message: type) -> Finder:
    """Return a function that tells whether a message of this class carries an error code."""
    return _finder(message) or _never


def _finder(message: type) -> Finder | None:
    """Return None for a class without any error code."""
    has_code = any(field.name == "error_code" for field in dataclasses.fields(message))
    nested = [
        (attrgetter(name), finder)
        for name, struct in _structs_of(message)
        if (finder := _finder(struct)) is not None
    ]
    if not has_code and not nested:
        return None

    def find(value: Any) -> bool:
        if has_code and value.error_code:
            return True
        for children_of, is_failed in nested:
            for child in children_of(value) or ():
                if is_failed(child):
                    return True
        return False

    return find


def _structs_of(message: type) -> list[tuple[str, type]]:
    """Return the fields that hold arrays of structs, with the class of their elements."""
    hints = typing.get_type_hints(message)
    return [
        (field.name, argument)
        for field in dataclasses.fields(message)
        for argument in _arguments(hints[field.name])
        if dataclasses.is_dataclass(argument)
    ]


def _arguments(hint: Any) -> list[type]:
    """Return the element classes of ``list[X]`` and ``list[X] | None``, however nested."""
    found: list[type] = []
    for argument in typing.get_args(hint):
        if isinstance(argument, type) and not typing.get_args(argument):
            found.append(argument)
        else:
            found.extend(_arguments(argument))
    return found


def _never(_value: object) -> bool:
    return False
