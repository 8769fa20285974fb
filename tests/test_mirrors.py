"""Files of tests and the sources that they are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mirrors import files_about, source_of

SOURCES = ("broker/fetch.py", "broker/fetch_room.py", "controller/fetch.py")


@pytest.mark.parametrize(
    ("test", "source"),
    [
        ("tests/broker/test_fetch.py", "broker/fetch.py"),
        ("tests/broker/test_fetch_memory.py", "broker/fetch.py"),
        ("tests/broker/test_fetch_room.py", "broker/fetch_room.py"),
        ("tests/broker/test_fetch_room_short.py", "broker/fetch_room.py"),
        ("tests/broker/test_fetcher.py", None),
        ("tests/controller/test_fetch_room.py", "controller/fetch.py"),
        ("tests/simulation/test_fetch.py", None),
    ],
)
def test_a_file_of_tests_is_about_the_source_with_the_longest_begin_of_its_name(
    test: str, source: str | None
) -> None:
    assert source_of(test, SOURCES.__contains__) == source


def test_all_files_of_tests_about_a_source_are_found_the_one_of_its_name_first(
    tmp_path: Path,
) -> None:
    tests = ("test_fetch_all.py", "test_fetch.py", "test_fetch_room.py", "test_fetcher.py")
    for name in (*SOURCES, *(f"tests/broker/{test}" for test in tests)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    of_fetch = ["tests/broker/test_fetch.py", "tests/broker/test_fetch_all.py"]
    assert files_about("broker/fetch.py", tmp_path) == of_fetch
    assert files_about("broker/fetch_room.py", tmp_path) == ["tests/broker/test_fetch_room.py"]
    assert files_about("controller/fetch.py", tmp_path) == []
