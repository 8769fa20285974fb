import json
from pathlib import Path
from typing import Any

from analytics.segments import Segments
from tests.analytics.frames import LOG_DIR, REQUEST, changed, line_of, write_dump, write_line


def segments_in(folder: Path) -> list[list[dict[str, Any]]]:
    """Return the records of each segment that Spark sees, in their order."""
    files = sorted(folder.glob("[!_.]*"), key=lambda path: int(path.stem))
    return [list(map(json.loads, file.read_text("utf-8").splitlines())) for file in files]


def test_a_segment_has_what_is_new_and_whole_as_a_stream_reads_it(tmp_path: Path) -> None:
    dump, folder = tmp_path / "dump", tmp_path / "segments"
    segments = Segments(dump, folder)
    assert segments.take() == 0
    write_dump(dump, [LOG_DIR])
    write_line(dump, "client", "no \u2028 row", version=1)
    [file] = dump.glob("log_dir/*/*/*.jsonl")
    half = line_of(changed(LOG_DIR, at_ms=2000))
    file.write_bytes(file.read_bytes() + half[:20])
    assert segments.take() == 2
    assert segments.take() == 0
    file.write_bytes(file.read_bytes() + half[20:] + b"\n")
    assert segments.take() == 1
    first, second = segments_in(folder)
    assert [(row["table"], row["version"]) for row in first] == [("client", 1), ("log_dir", 2)]
    assert [row["line"] for row in first] == ["no \u2028 row", line_of(LOG_DIR).decode()]
    assert second == [{"table": "log_dir", "version": 2, "line": half.decode(), "file": str(file)}]


def test_who_comes_later_goes_on_and_cuts_a_segment_anew_that_was_not_finished(
    tmp_path: Path,
) -> None:
    dump, folder = tmp_path / "dump", tmp_path / "segments"
    write_dump(dump, [LOG_DIR])
    Segments(dump, folder).take()
    write_dump(dump, [REQUEST])
    # As if a second one had ended before its segment was in its place.
    (folder / "_2.offsets").write_text('{"request/v2/broker=1/1000-0.jsonl": 1000}')
    (folder / "_2.new").write_text("{")
    assert Segments(dump, folder).take() == 1
    assert Segments(dump, folder).take() == 0
    assert [[row["table"] for row in each] for each in segments_in(folder)] == [
        ["log_dir"],
        ["request"],
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["1.json", "2.json", "_2.offsets"]
