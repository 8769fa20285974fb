"""Every golden file says what it was made from, by what, and is as it was then.

``MANIFEST.json`` is a list: ``of`` whose bytes they are, ``by`` what they were made, ``again`` the
command that makes them anew and compares (null: what made them is not in this repository, or was
one run that no other repeats), and the sha256 of each file, named from ``tests`` on.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.__main__ import FILES, class_of, is_writable, main
from tests.golden.vectors import load_vectors

TESTS = Path(__file__).parents[1]
MANIFEST: list[dict[str, Any]] = json.loads(Path(__file__).with_name("MANIFEST.json").read_text())
AGAIN = "python -m tests.golden"
NO_DATA = {".py", ".pyc", ".java", ".md"}


def golden_files() -> list[str]:
    """Return what stands below ``tests/golden``, and other lines of JSON that Kafka wrote."""
    inside = [path for path in (TESTS / "golden").rglob("*") if path.name != "MANIFEST.json"]
    paths = [*inside, *TESTS.rglob("*_3_9_2.jsonl")]
    return [
        str(path.relative_to(TESTS))
        for path in sorted(paths)
        if path.is_file() and path.suffix not in NO_DATA
    ]


def test_every_golden_file_stands_in_the_manifest_once() -> None:
    named = [name for made in MANIFEST for name in made["sha256"]]
    assert sorted(named) == golden_files()


@pytest.mark.parametrize("made", MANIFEST, ids=lambda made: made["by"][:40])
def test_golden_files_are_as_they_were_made(made: dict[str, Any]) -> None:
    assert made["of"]
    assert made["by"]
    found = {
        name: hashlib.sha256((TESTS / name).read_bytes()).hexdigest() for name in made["sha256"]
    }
    assert found == made["sha256"]


def test_what_can_be_made_anew_is_what_the_command_writes() -> None:
    again = [name for made in MANIFEST if made["again"] for name in made["sha256"]]
    assert {made["again"] for made in MANIFEST} == {AGAIN, None}
    assert sorted(again) == sorted(f"golden/{name}.jsonl.gz" for name in FILES)


def test_kafkas_classes_are_named_after_api_and_kind() -> None:
    names = [class_of({"api": "Fetch", "kind": kind}) for kind in ("request", "response", "data")]
    assert names == ["FetchRequestData", "FetchResponseData", "Fetch"]


@pytest.mark.parametrize("name", FILES)
def test_most_vectors_are_said_by_their_json_alone(name: str) -> None:
    vectors = load_vectors(name)
    assert sum(map(is_writable, vectors)) > 0.9 * len(vectors)


def test_a_file_that_the_command_does_not_write_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["records"])
    assert "records is none of messages, stored, frames" in capsys.readouterr().err
