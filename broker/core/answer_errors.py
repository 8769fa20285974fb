"""Whether an answer carries an error code, at the top or in any part of it. For counting only."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

from protocol.wire.table import rows_of, struct_arrays_of

Finder: TypeAlias = Callable[[Any], bool]
STRUCTS_OF_A_STEP: Final = 2_048
"""That are looked at, about a millisecond."""


def error_finder(struct: type[Any]) -> Finder:
    """Return a function that tells whether a message of this class carries an error code."""
    has_code, arrays = _places(struct)
    nested = [
        (attrgetter(name), error_finder(element))
        for name, element in struct_arrays_of(struct)
        if name in arrays
    ]

    def find(value: Any) -> bool:
        if has_code and value.error_code:
            return True
        for children_of, is_failed in nested:
            for child in children_of(value) or ():
                if is_failed(child):
                    return True
        return False

    return find


def has_error_in_steps(message: Any) -> Generator[None, None, bool]:
    """Tell the same of a large message, in steps."""
    for number, code in enumerate(_codes(message), 1):
        if code:
            return True
        if number % STRUCTS_OF_A_STEP == 0:
            yield
    return False


def _codes(value: Any) -> Iterator[int]:
    """Yield the code of each struct that has or may hold one, 0 where it has none itself."""
    has_code, arrays = _places(value.__class__)
    yield value.error_code if has_code else 0
    for name in arrays:
        for child in getattr(value, name) or ():
            yield from _codes(child)


@cache
def _places(struct: type[Any]) -> tuple[bool, tuple[str, ...]]:
    """Return whether a struct has an error code itself, and its arrays of structs that may."""
    has_code = any(name == "error_code" for name, _, _ in rows_of(struct))
    arrays = (name for name, element in struct_arrays_of(struct) if any(_places(element)))
    return has_code, tuple(arrays)
