"""What cases reach is asked once for each code and place; a dead process costs no other case."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.mutation_testing.probes import Places
from tests.mutation_testing.reach import Reach

PATH = "broker/core/isr.py"
PLACES: Places = {PATH: ["7", "9"]}


class Looks:
    """Looks at cases, each by what its name says, and writes down which."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, kind: str, names: Sequence[str], places: Places) -> list[dict[str, Any]]:
        with self._file.open("a", encoding="utf-8") as told:
            told.write(" ".join(names) + "\n")
        if "dies" in names:
            os._exit(3)
        noted = {path: list(spots[:1]) for path, spots in places.items()}
        return [
            {"cpu_s": 20.0 if name == "100" else 2.0, "found": [], "noted": noted} for name in names
        ]

    def taken(self) -> list[str]:
        """Return the names of each process since this was asked last."""
        told = self._file.read_text(encoding="utf-8").splitlines() if self._file.exists() else []
        self._file.unlink(missing_ok=True)
        return told


@pytest.fixture
def looks(tmp_path: Path) -> Looks:
    return Looks(tmp_path / "looks.txt")


def reach(looks: Looks, folder: Path, code: str = "1") -> Reach:
    return Reach("seeds", folder, lambda name: f"{code} of {name}", looks)


def test_what_is_known_is_not_asked_again(looks: Looks, tmp_path: Path) -> None:
    found = reach(looks, tmp_path).of(["a", "b"], PLACES, jobs=1)

    assert [(case.name, case.cpu_s, case.noted) for case in found] == [
        ("a", 2.0, {PATH: ["7"]}),
        ("b", 2.0, {PATH: ["7"]}),
    ]
    assert looks.taken() == ["a b"]
    assert reach(looks, tmp_path).of(["b", "c", "a"], {PATH: ["9"]}, jobs=1)[0] == found[1]
    assert looks.taken() == ["c"]


@pytest.mark.parametrize("places", [{PATH: ["8"]}, {**PLACES, "broker/core/tail.py": ["7"]}])
def test_other_places_are_asked_about(places: Places, looks: Looks, tmp_path: Path) -> None:
    reach(looks, tmp_path).of(["a"], PLACES, jobs=1)
    reach(looks, tmp_path).of(["a"], places, jobs=1)

    assert looks.taken() == ["a", "a"]


def test_other_code_is_asked_about(looks: Looks, tmp_path: Path) -> None:
    reach(looks, tmp_path).of(["a"], PLACES, jobs=1)
    reach(looks, tmp_path, "2").of(["a"], PLACES, jobs=1)

    assert looks.taken() == ["a", "a"]


def test_cases_share_processes_and_each_is_alone_where_one_dies(
    looks: Looks, tmp_path: Path
) -> None:
    names = [*"abcdefg", "dies", "h"]
    found = reach(looks, tmp_path).of(names, PLACES, jobs=1)

    assert looks.taken() == ["a b c d e f", "g dies h", "g", "dies", "h"]
    assert [case.name for case in found] == names
    assert {case.name: case.found for case in found if case.found} == {
        "dies": ["ended with exit code 3"]
    }


def test_numbered_cases_are_given_until_they_have_taken_their_time(
    looks: Looks, tmp_path: Path
) -> None:
    found = list(reach(looks, tmp_path).within(13.0, 98, PLACES, jobs=1))

    assert [case.name for case in found] == ["98", "99", "101", "102", "103", "104", "105"]
    assert looks.taken() == ["98 99 100 101 102 103", "104 105"]
