"""Whether an answer carries an error code, at the top or in any part of it. For counting only."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeAlias

from protocol.wire.table import rows_of, struct_arrays_of

Finder: TypeAlias = Callable[[Any], bool]


def error_finder(message: type[Any]) -> Finder:
    """Return a function that tells whether a message of this class carries an error code."""
    return _finder(message) or _never


def _finder(struct: type[Any]) -> Finder | None:
    """Return None for a class without any error code."""
    has_code = any(name == "error_code" for name, _, _ in rows_of(struct))
    nested = [
        (attrgetter(name), finder)
        for name, element in struct_arrays_of(struct)
        if (finder := _finder(element)) is not None
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


def _never(_value: object) -> bool:
    return False
