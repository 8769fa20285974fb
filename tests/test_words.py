"""One word per thing: the glossary of docs/architecture.md, and that the code keeps to it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").partition("\n## Words\n")[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in GLOSSARY.partition("\n## ")[0].splitlines()
    if line.startswith("| ")
][1:]
RETIRED = {
    "bury": "close",
    "complaints": "problems, findings",
    "darken": "power off",
    "felt": "impact",
    "hasty": "before sync",
    "knock": "force complete",
    "lookout": "observer",
    "loose": "orphan",
    "owed": "due",
    "scene": "run context, fault scope",
    "seat": "candidate, usable broker",
    "sight": "sample source, observation",
    "surface": "broker control",
    "wish": "request",
}
"""Words that named things once, and what these are called now."""
ROOMS = ("protocol", "broker", "controller", "analytics", "conformance", "simulation", "jbodlab")
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for room in ROOMS
    for path in sorted((ROOT / room).rglob("*.py"))
}
A_CLASS = re.compile(r"^ *class (\w+)", re.MULTILINE)
A_NAME = re.compile(
    r"^ *(?:(?:async )?def|class) (\w+)|^ *(?:self\.)?(\w+)(?:: [^=\n]+)? = ", re.MULTILINE
)


def test_no_word_is_explained_twice() -> None:
    words = [word for row in ROWS for word in row[0].split(", ")]
    assert len(words) > 30
    assert sorted(words) == sorted(set(words))


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_a_word_means_stands_where_the_glossary_says(row: list[str]) -> None:
    (place,) = re.findall(r"`([^`]+)`", row[2])
    assert (ROOT / place).exists()


def parts_of(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"([A-Z])", r"_\1", name).lower())


def test_no_class_name_stands_twice_in_the_simulation() -> None:
    places: dict[str, list[str]] = {}
    for path, text in SOURCES.items():
        for name in A_CLASS.findall(text) if path.startswith("simulation/") else []:
            places.setdefault(name, []).append(path)
    assert len(places) > 200
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_nothing_is_named_by_a_word_that_was_given_up() -> None:
    names = [
        (path, first or second)
        for path, text in SOURCES.items()
        for first, second in A_NAME.findall(text)
    ]
    assert len(names) > 10_000
    found = {
        f"{path}: {name}": RETIRED[part]
        for path, name in names
        for part in parts_of(name)
        if part in RETIRED
    }
    assert found == {}
