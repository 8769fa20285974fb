"""Compares what was seen with what was recorded, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final, cast

ABSENT: Final = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place at which two observations differ."""

    path: str
    """Such as ``1.answers.0.body.topics.0.errorCode``."""
    expected: Any
    got: Any


def differences(expected: Any, got: Any, path: str = "") -> Iterator[Difference]:
    """Give every place at which ``got`` is not ``expected``; lists pair by their order."""
    if isinstance(expected, dict) and isinstance(got, dict):
        left, right = cast("dict[str, Any]", expected), cast("dict[str, Any]", got)
        for key in [*left, *(each for each in right if each not in left)]:
            one, other = left.get(key, ABSENT), right.get(key, ABSENT)
            yield from differences(one, other, _under(path, key))
    elif isinstance(expected, list) and isinstance(got, list):
        pairs = zip_longest(cast("list[Any]", expected), cast("list[Any]", got), fillvalue=ABSENT)
        for index, (one, other) in enumerate(pairs):
            yield from differences(one, other, _under(path, str(index)))
    elif (expected, type(expected)) != (got, type(got)):  # pyright: ignore[reportUnknownArgumentType]
        yield Difference(path, expected, got)


def _under(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
