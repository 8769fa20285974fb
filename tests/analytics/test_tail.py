from pathlib import Path

import msgspec

from analytics.tail import Tail, new_lines
from tests.analytics.frames import EVENT, LATENCY, LOG_DIR, REQUEST, changed, line_of, write_dump


def lines(folder: Path) -> list[str]:
    found = sorted(folder.glob("**/*.jsonl"))
    return [line for file in found for line in file.read_text().splitlines()]


def test_only_what_is_new_is_taken_and_a_half_line_waits_for_its_other_half(
    tmp_path: Path,
) -> None:
    dump = tmp_path / "dump"
    tail = Tail(dump, tmp_path / "window", bytes_max=10_000)
    assert tail.take() == 0
    write_dump(dump, [LOG_DIR])
    [file] = dump.glob("**/*.jsonl")
    second = line_of(changed(LOG_DIR, at_ms=2000))
    with file.open("ab") as opened:
        opened.write(second[:20])
    assert tail.take() == len(line_of(LOG_DIR)) + 1
    assert tail.take() == 0
    with file.open("ab") as opened:
        opened.write(second[20:] + b"\n")
    assert tail.take() == len(second) + 1
    assert lines(tmp_path / "window") == [line_of(LOG_DIR).decode(), second.decode()]
    tail.close()
    assert not (tmp_path / "window").exists()


def test_the_window_forgets_what_is_oldest(tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    size = len(line_of(LOG_DIR)) + 1
    tail = Tail(dump, tmp_path / "window", bytes_max=2 * size)
    for at_ms in (1000, 2000, 3000):
        write_dump(dump, [changed(LOG_DIR, at_ms=at_ms)])
        tail.take()
    assert lines(tmp_path / "window") == [
        line_of(changed(LOG_DIR, at_ms=at_ms)).decode() for at_ms in (2000, 3000)
    ]


def times(window: Path, table: str, broker: int = 1) -> list[int]:
    """Return the times of the rows of a table in the window, in order."""
    found = [msgspec.json.decode(line) for line in lines(window / table)]
    return sorted(row["at_ms"] for row in found if row.get("broker_id", 1) == broker)


def test_each_table_keeps_its_youngest_rows_of_all_brokers(tmp_path: Path) -> None:
    dump, window = tmp_path / "dump", tmp_path / "window"
    write_dump(dump, [EVENT, changed(EVENT, at_ms=2000)])
    for at_ms in range(1000, 101_000, 1000):
        write_dump(dump, [changed(row, at_ms=at_ms) for row in (LATENCY, REQUEST)])
        for broker in (1, 2):
            write_dump(dump, [changed(LOG_DIR, at_ms=at_ms, broker_id=broker)], node=broker)
    line_bytes = len(line_of(LOG_DIR)) + 1
    tail = Tail(dump, window, bytes_max=60 * line_bytes)
    assert tail.take() > 60 * line_bytes
    kept = sum(file.stat().st_size for file in window.glob("**/*.jsonl"))
    assert 50 * line_bytes < kept <= 60 * line_bytes
    assert times(window, "failover_event") == [1000, 2000]
    for table in ("latency", "request", "log_dir"):
        of_broker = times(window, table)
        assert of_broker == list(range(of_broker[0], 101_000, 1000))
        assert len(of_broker) >= 8
    others = times(window, "log_dir", broker=2)
    assert others == list(range(others[0], 101_000, 1000))
    assert abs(others[0] - times(window, "log_dir")[0]) <= 1000
    assert tail.take() == 0


def test_what_is_taken_again_and_again_lies_in_few_files(tmp_path: Path) -> None:
    dump, window = tmp_path / "dump", tmp_path / "window"
    tail = Tail(dump, window, bytes_max=1 << 20)
    for at_ms in range(1000, 21_000, 1000):
        write_dump(dump, [changed(LOG_DIR, at_ms=at_ms)])
        tail.take()
    assert len(lines(window)) == 20
    assert len(list(window.glob("**/*.jsonl"))) == 1


def test_a_file_that_is_gone_has_no_new_lines(tmp_path: Path) -> None:
    assert new_lines(tmp_path / "gone.jsonl", 0, 100) == b""
