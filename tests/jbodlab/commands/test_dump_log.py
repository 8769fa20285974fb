"""``jbodlab dump-log``, line by line beside Kafka's DumpLogSegments."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from click.testing import Result

from jbodlab.errors import ExitCode
from tests.archives import unpack
from tests.jbodlab.command_line import jbodlab

GOLDEN = Path(__file__).parents[2] / "golden"
DUMPS = GOLDEN / "dumps"
SEGMENT = "formats-0/00000000000000000000.log"
INDEXES = sorted(str(path.relative_to(DUMPS)) for path in DUMPS.glob("indexes-0/*index"))


@pytest.fixture
def dumps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DUMPS)


def compare(result: Result, kafkas: str, root: Path) -> None:
    """Compare all lines; Kafka's tool prints findings last, in the order of its hash maps."""
    expected = kafkas.replace("ROOT", str(root)).splitlines()
    printed = result.stdout.splitlines()
    findings = [line for line in result.stderr.splitlines() if not line.startswith("jbodlab:")]
    assert printed == expected[: len(printed)]
    assert set(findings) == set(expected[len(printed) :])


@pytest.mark.usefixtures("dumps")
@pytest.mark.parametrize(
    ("expected", "options"),
    [
        ("formats.txt", ["--print-data-log", "--files", SEGMENT]),
        ("formats.shallow.txt", ["--files", SEGMENT]),
        ("indexes.txt", ["--files", ",".join(INDEXES)]),
        ("indexes.verify.txt", ["--verify-index-only", *INDEXES]),
    ],
)
def test_every_line_is_that_of_kafkas_tool(expected: str, options: list[str]) -> None:
    compare(jbodlab("dump-log", *options), (DUMPS / expected).read_text(), DUMPS)


def test_every_line_is_kafkas_for_the_log_dirs_that_kafka_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(GOLDEN / "log_dirs" / "clean.tar.xz", tmp_path)
    expected = lzma.decompress((GOLDEN / "log_dirs" / "clean.dump.txt.xz").read_bytes()).decode()
    files = [
        line.removeprefix("Dumping ")
        for line in expected.splitlines()
        if line.startswith("Dumping ")
    ]
    monkeypatch.chdir(tmp_path)
    result = jbodlab("dump-log", "--print-data-log", "--files", ",".join(files))
    compare(result, expected, tmp_path)


@pytest.mark.usefixtures("dumps")
def test_the_sanity_check_tells_what_a_broker_would_rebuild() -> None:
    result = jbodlab("dump-log", "--index-sanity-check", *INDEXES)
    sane = {
        line.split()[0]: "passed" in line for line in result.stdout.splitlines() if "san" in line
    }
    assert [name for name in INDEXES if sane.get(name) is False] == [
        "indexes-0/00000000000000001000.timeindex",
        "indexes-0/00000000000000003000.index",
        "indexes-0/00000000000000003000.timeindex",
        "indexes-0/00000000000000004000.index",
        "indexes-0/00000000000000004000.timeindex",
    ]
    assert "11 bytes are no multiple of 8" in result.stderr
    assert result.exit_code == ExitCode.MALFORMED


@pytest.mark.usefixtures("dumps")
def test_json_has_a_line_per_row_and_the_bytes_as_they_are() -> None:
    result = jbodlab("dump-log", "--json", "--print-data-log", SEGMENT)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert {row["file"] for row in rows} == {SEGMENT}
    records = [row for row in rows if row.get("kind") == "record"]
    assert (records[0]["key"], records[0]["payload"]) == (None, "dmFsdWUgMA==")
    assert records[0]["crc"] == 1517611637
    assert [row["headerKeys"] for row in records if row["offset"] == 27] == [["h", "g"]]
    assert rows[-1]["invalidBytes"] == 70


@pytest.mark.usefixtures("dumps")
def test_max_bytes_ends_the_reading() -> None:
    lines = jbodlab("dump-log", "--max-bytes", "600", SEGMENT).stdout.splitlines()
    assert len(lines) == 2 + 8
    assert "invalid bytes" not in lines[-1]


@pytest.mark.usefixtures("dumps")
def test_without_metadata_only_contents_are_left() -> None:
    options = ["--print-data-log", "--skip-record-metadata", "--max-bytes", "120"]
    lines = jbodlab("dump-log", *options, SEGMENT).stdout.splitlines()
    assert lines[3] == "| payload: value 0"
    assert lines[5] == "| key: k1 payload: value 1"


@pytest.mark.usefixtures("dumps")
def test_a_directory_stands_for_the_files_in_it() -> None:
    lines = jbodlab("dump-log", "indexes-0").stdout.splitlines()
    dumped = [line.removeprefix("Dumping ") for line in lines if line.startswith("Dumping ")]
    assert dumped == sorted(str(path) for path in Path("indexes-0").iterdir())


def test_a_file_that_is_missing_or_damaged_does_not_stop_the_others(tmp_path: Path) -> None:
    damaged = tmp_path / "replication-offset-checkpoint"
    damaged.write_text("0\n2\norders 0 1\n")
    missing = tmp_path / "00000000000000000000.log"
    unknown = tmp_path / "notes.txt"
    unknown.touch()
    result = jbodlab("dump-log", str(damaged), str(missing), str(unknown))
    assert "malformed checkpoint" in result.stderr
    assert "No such file" in result.stderr
    assert f"Ignoring unknown file {unknown}" in result.stderr
    assert result.exit_code == ExitCode.MALFORMED


def test_a_partition_that_lies_elsewhere_is_told_and_not_ignored(tmp_path: Path) -> None:
    elsewhere = tmp_path / "orders-0"
    result = jbodlab("dump-log", str(elsewhere))
    assert f"Cannot be read: {elsewhere}\n  No such file or directory" in result.stderr
    assert result.exit_code == ExitCode.MALFORMED


def test_no_files_are_a_mistake() -> None:
    assert jbodlab("dump-log").exit_code == 2
