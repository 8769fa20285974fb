"""What docs/console.md shows to be asked of the HTTP API is what it answers."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import msgspec
import pytest

from jbodlab.http_api.core.changes import Kind
from jbodlab.http_api.core.operations import CONTROL, OPERATIONS, Operation

PAGE = (Path(__file__).parents[1] / "docs" / "console.md").read_text(encoding="utf-8")
CALLS = [shlex.split(line) for line in re.findall(r"(?m)^curl .*$", PAGE)]


def operation_of(words: list[str]) -> Operation:
    path = urlsplit(words[-1]).path
    method = "POST" if "--json" in words else "GET"
    if "-X" in words:
        method = words[words.index("-X") + 1]
    (found,) = [
        each
        for each in OPERATIONS
        if each.method == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", each.path), path)
    ]
    return found


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_what_is_asked_is_an_operation_and_its_body_is_understood(words: list[str]) -> None:
    operation = operation_of(words)
    assert (operation.body is not None) == ("--json" in words)
    if operation.body is not None:
        msgspec.json.decode(words[words.index("--json") + 1], type=operation.body)


def test_every_operation_is_shown() -> None:
    shown = {operation_of(words).name for words in CALLS}
    passed_on = {each.name for each in OPERATIONS if CONTROL in each.path}
    assert shown & passed_on
    assert sorted({each.name for each in OPERATIONS} - passed_on - shown) == []


def test_every_event_is_named() -> None:
    assert [kind for kind in get_args(Kind) if f"`{kind}`" not in PAGE] == []
