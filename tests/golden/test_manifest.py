"""Every golden file says what it was made from, by what, and is as it was then.

``MANIFEST.json`` is a list: ``of`` whose bytes they are, ``by`` what they were made, ``again`` the
command that makes them anew (null: nothing can, and ``why_not`` tells why), and the sha256 of each
file, named from ``tests`` on.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from protocol.records.build import NewRecord, build_batch
from tests.golden.__main__ import MAKERS, main
from tests.golden.kafka_story import LOG_DIRS
from tests.golden.made import Made
from tests.golden.make_dumps import comparable
from tests.golden.make_log_dirs import described, differences, unpacked
from tests.golden.make_messages import FILES, class_of, is_writable
from tests.golden.make_records import batches_asked
from tests.golden.record_vectors import record_vectors
from tests.golden.vectors import load_vectors

TESTS = Path(__file__).parents[1]
MANIFEST: list[dict[str, Any]] = json.loads(Path(__file__).with_name("MANIFEST.json").read_text())
AGAIN = "python -m tests.golden "
REFUSALS = "python -m tests.golden.produce_refusals"
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


def test_what_can_be_made_anew_is_what_the_command_makes() -> None:
    commands = {made["again"] for made in MANIFEST} - {None, REFUSALS}
    names = [name for command in commands for name in command.removeprefix(AGAIN).split()]
    assert sorted(names) == sorted(MAKERS)


def test_what_cannot_be_made_anew_says_why() -> None:
    assert {bool(made.get("why_not")) is (made["again"] is None) for made in MANIFEST} == {True}


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
        main(["controller"])
    assert "controller is none of messages, stored, frames" in capsys.readouterr().err


def made_of(differing: list[str], written: list[str]) -> Made:
    return Made("2 made anew", differing, lambda: written.append("written"))


@pytest.mark.parametrize(
    ("differing", "options", "code", "writes"),
    [
        ([], ["--write"], 0, []),
        (["line 1"], [], 1, []),
        (["line 1"], ["--write"], 1, ["written"]),
    ],
)
def test_what_differs_is_told_and_written_only_when_asked(
    differing: list[str],
    options: list[str],
    code: int,
    writes: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written: list[str] = []
    monkeypatch.setitem(MAKERS, "records", lambda: made_of(differing, written))
    assert main(["records", *options]) == code
    told = f"records: 2 made anew, {len(differing)} differ\n"
    assert capsys.readouterr().out == told + "".join(f"  {line}\n" for line in differing)
    assert written == writes


def test_records_are_asked_for_with_the_times_that_their_producers_set() -> None:
    (vector,) = [each for each in record_vectors() if each["name"] == "v2-gzip-append-five"]
    (batch,) = batches_asked(vector)
    assert {record["timestamp"] for record in vector["records"]} == {batch["maxTimestamp"]}
    assert [record["timestamp"] for record in batch["records"]] == [
        1_700_000_000_000 + 1000 * number for number in range(5)
    ]


def test_findings_of_a_dump_are_compared_in_any_order() -> None:
    dump = "Dumping a\noffset: 2\noffset: 1\n"
    findings = ["Mismatches in :a\n", "Found timestamp mismatch in :b\n"]
    assert comparable(dump + "".join(findings)) == comparable(dump + "".join(reversed(findings)))
    assert comparable(dump) != comparable("Dumping a\noffset: 1\noffset: 2\n")


def test_log_dirs_are_alike_whatever_their_run_calls_and_cleans(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for root, deleted, producer in ((first, "aa", "x.snapshot"), (second, "bb", "x.log.deleted")):
        for name, value in (("orders-0", b"v"), (f"gone-0.{deleted}-delete", b"w")):
            folder = root / "d1" / name
            folder.mkdir(parents=True)
            segment = build_batch([NewRecord(value, timestamp_ms=1)])
            (folder / f"{0:020d}.log").write_bytes(segment)
            (folder / producer).write_bytes(b"")
        for log_dir in LOG_DIRS:
            (root / log_dir).mkdir(exist_ok=True)
    assert list(differences("clean", described(first), described(second))) == []

    (second / "d1" / "orders-0" / f"{0:020d}.log").write_bytes(
        build_batch([NewRecord(b"v", timestamp_ms=2)])
    )
    (second / "d2" / "more-0").mkdir()
    told = [
        line.split(" for ")[0] for line in differences("k", described(first), described(second))
    ]
    assert [line.split()[:3] for line in told] == [
        ["k", "d1/orders-0:", "sha256"],
        ["k", "d2/more-0:", "only"],
    ]


def test_what_kafka_wrote_is_compared_in_all_its_logs(tmp_path: Path) -> None:
    found = described(unpacked("clean", tmp_path))
    counts = {name: log.get("records") for name, log in found.items()}
    assert counts["d1/plain-0"] == 1500
    assert counts["d2/txn-0"] == 465
    assert counts["d1/moving-0-delete"] == counts["d2/moving-0"] == 3000
    assert len(found) == 16
