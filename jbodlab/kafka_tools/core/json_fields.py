"""Reading the JSON files of Kafka's tools, with the tools' words for what is wrong with them.

It knows no file's format.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar, cast

from jbodlab.kafka_tools.core.failures import JSON_MAPPING, JSON_PARSE, ToolFailure

T = TypeVar("T", bound=Hashable)


def parse(text: str) -> Any:
    """Return what a JSON text says.

    Raises:
        ToolFailure: it is empty or no JSON; the message is this parser's, not Jackson's.
    """
    if not text.strip():
        raise ToolFailure(JSON_PARSE, "The input string shouldn't be empty")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ToolFailure(JSON_PARSE, str(error)) from error


def as_object(value: Any) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ToolFailure: it is something else.
    """
    if not isinstance(value, dict):
        raise _wrong("JSON object", value)
    return cast("dict[str, Any]", value)  # JSON has no other keys


def as_list(value: Any) -> list[Any]:
    """Return a JSON array.

    Raises:
        ToolFailure: it is something else.
    """
    if not isinstance(value, list):
        raise _wrong("JSON array", value)
    return cast("list[Any]", value)  # whatever they are, the caller checks them


def as_integer(value: Any) -> int:
    """Return a number of 32 bits.

    Raises:
        ToolFailure: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise _wrong("`Integer` value", value)
    return value


def as_text(value: Any) -> str:
    """Return a string.

    Raises:
        ToolFailure: it is something else.
    """
    if not isinstance(value, str):
        raise _wrong("`String` value", value)
    return value


def field_of(fields: dict[str, Any], name: str) -> Any:
    """Return one field.

    Raises:
        ToolFailure: the object does not have it.
    """
    if name not in fields:
        raise ToolFailure(JSON_MAPPING, f"No such field exists: `{name}`")
    return fields[name]


def duplicates(values: Sequence[T]) -> list[T]:
    """Return what is there more than once, in the order of its first appearance."""
    return [value for value, count in Counter(values).items() if count > 1]


def _wrong(expected: str, value: Any) -> ToolFailure:
    received = json.dumps(value, separators=(",", ":"))
    return ToolFailure(JSON_MAPPING, f"Expected {expected}, received {received}")
