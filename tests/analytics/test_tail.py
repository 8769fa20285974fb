from pathlib import Path

from analytics.tail import Tail
from tests.analytics.frames import LOG_DIR, changed, line_of, write_dump


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
