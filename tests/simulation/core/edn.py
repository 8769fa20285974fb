"""Reads as much of EDN as histories are written in; keywords and symbols stay text."""

from __future__ import annotations

import re
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""[\s,]*(?:;[^\n]*\n[\s,]*)*(?P<token>[\[\]{}]|"(?:\\.|[^"\\])*"|[^\s,\[\]{}"]+)"""
)


def read_edn(text: str) -> Any:
    """Return the one value in ``text``."""
    tokens = [found["token"] for found in _TOKEN.finditer(text)]
    value, end = _value(tokens, 0)
    assert end == len(tokens), f"{tokens[end:]} behind the value"
    return value


def _value(tokens: list[str], at: int) -> tuple[Any, int]:
    token = tokens[at]
    if token == "[":
        return _until(tokens, at + 1, "]")
    if token == "{":
        parts, end = _until(tokens, at + 1, "}")
        assert len(parts) % 2 == 0, "a map without a value"
        return dict(zip(parts[::2], parts[1::2], strict=True)), end
    if token.startswith('"'):
        return re.sub(r"\\(.)", r"\1", token[1:-1]), at + 1
    if re.fullmatch(r"-?\d+", token):
        return int(token), at + 1
    assert token == "nil" or re.fullmatch(r":[a-z-]+", token), token
    return (None if token == "nil" else token), at + 1


def _until(tokens: list[str], at: int, end: str) -> tuple[list[Any], int]:
    parts: list[Any] = []
    while tokens[at] != end:
        part, at = _value(tokens, at)
        parts.append(part)
    return parts, at + 1
