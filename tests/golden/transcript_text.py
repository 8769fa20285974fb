"""A transcript as its file has it: a line for each request, each plan, each line of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def transcript_text(content: Mapping[str, Any]) -> str:
    """Return the text of a transcript's file."""
    members = [f'"{key}": {_member(key, value)}' for key, value in content.items()]
    return "{\n" + ",\n".join(members) + "}\n"


def _member(key: str, value: Any) -> str:
    match key:
        case "plans":
            return _lines(map(json.dumps, value))
        case "tools":
            return "[\n" + ",\n".join(map(_run, value)) + "\n]"
        case "requests":
            told = [
                f'"{broker}": {_lines(map(json.dumps, each))}' for broker, each in value.items()
            ]
            return "{\n" + ",\n".join(told) + "}"
        case _:
            return json.dumps(value)


def _run(run: Mapping[str, Any]) -> str:
    head = json.dumps({key: value for key, value in run.items() if key != "out"})
    return f'{head[:-1]}, "out": {_lines(map(json.dumps, run["out"]))}}}'


def _lines(values: Iterable[str]) -> str:
    return "[\n" + ",\n".join(values) + "]"
