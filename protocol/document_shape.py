"""The shape of a written document, checked leaf by leaf: all mistakes are told, with their path.

Shapes are msgspec structs (already loaded for metric rows, so a broker pays nothing more for it).
It knows no file and no meaning: what words mean to each other is checked by who owns the document.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_origin

import msgspec
from msgspec import Struct

Path: TypeAlias = tuple[str | int, ...]
Leaves: TypeAlias = dict[Path, Any]
"""Every value of a document that has the right shape, by where it stands; of a list its length."""

_WORDS: Final = {
    "float | str": 'the name of a release, such as "2.4"',
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a mapping",
}
_PATTERNS: Final = {
    r"^[a-zA-Z0-9._-]{1,249}$": "1 to 249 letters, digits, '.', '_' or '-'",
    r"^([*]|[a-z][a-z0-9-]*)$": 'the name of a node, such as "broker-1"',
}
"""What the patterns of shapes say, in words."""


def shape_mistakes(value: Any, shape: Any, path: Path, leaves: Leaves) -> Iterator[str]:
    """Compare ``value`` with ``shape``, one sentence per mistake; what fits goes into ``leaves``.

    Leaves with a default that are absent are noted with their default, when it is a plain value.
    """
    if _is_struct(shape):
        yield from _struct_mistakes(value, shape, path, leaves)
    elif get_origin(shape) is list:
        yield from _list_mistakes(value, get_args(shape)[0], path, leaves)
    else:
        try:
            leaves[path] = msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            yield f"{place(path)}: {_explain(str(error), value, shape)}"


def place(path: Path) -> str:
    """Return where something stands, as in ``brokers[0].port``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the file"


def shown(value: Any) -> str:
    """Return a value as a mistake names it."""
    return "empty" if value is None else repr(value)


def did_you_mean(word: str, known: list[str]) -> str:
    """Return a hint at the known word that is meant, with a space before it, or nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _is_struct(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, Struct)


def _struct_mistakes(value: Any, shape: type[Struct], path: Path, leaves: Leaves) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place(path)}: must be a mapping of keys, is {shown(value)}"
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(shape)}
    entries = cast("dict[Any, Any]", value)  # YAML allows any key
    for name in entries:
        if name not in fields:
            hint = did_you_mean(str(name), list(fields))
            yield f"{place((*path, str(name)))}: unknown key{hint}"
    for name, field in fields.items():
        if name in entries:
            yield from shape_mistakes(entries[name], field.type, (*path, name), leaves)
        elif field.required:
            yield f"{place((*path, name))}: is missing"
        elif isinstance(field.default, (int, str)):
            leaves[*path, name] = field.default


def _list_mistakes(value: Any, shape: Any, path: Path, leaves: Leaves) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{place(path)}: must be a list, is {shown(value)}"
        return
    elements = cast("list[Any]", value)  # checked one by one below
    leaves[path] = len(elements)
    for index, element in enumerate(elements):
        yield from shape_mistakes(element, shape, (*path, index), leaves)


def _explain(error: str, value: Any, shape: Any) -> str:
    wanted = re.split(" - at |, got ", error, maxsplit=1)[0].removeprefix("Expected ")
    wanted = re.sub(r"(int|float) (?=[<>])", "", wanted.replace("`", "").removesuffix(" | null"))
    wanted = _WORDS.get(wanted, wanted)
    if wanted.startswith("str matching regex"):
        wanted = next((said for text, said in _PATTERNS.items() if text in error), wanted)
    if wanted.startswith("Invalid enum value"):
        wanted = f"one of {', '.join(_choices(shape))}"
    return f"must be {wanted}, is {shown(value)}"


def _choices(shape: Any) -> list[str]:
    """Return the words that an Enum, a Literal, or one of them or None, may be."""
    if isinstance(shape, type) and issubclass(shape, Enum):
        return [str(member.value) for member in shape]
    if get_origin(shape) is Literal:
        return [str(each) for each in get_args(shape)]
    return [word for each in get_args(shape) for word in _choices(each)]
