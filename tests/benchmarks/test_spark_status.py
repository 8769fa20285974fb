from __future__ import annotations

import pytest

from benchmarks.spark_status import TaskTime, at_once, size_bytes


def test_tasks_are_counted_at_each_moment_from_the_first_begin_to_the_last_end():
    times = [TaskTime(10, 20), TaskTime(12, 15), TaskTime(15, 16), TaskTime(30, 31)]
    assert at_once(times) == {1: 4 + 2 + 1, 2: 3 + 1, 0: 10}


def test_without_tasks_nothing_ran():
    assert not at_once([])


@pytest.mark.parametrize(
    ("text", "size"), [("0.0 B", 0), ("1024.0 B", 1024), ("1.5 KiB", 1536), ("8.0 MiB", 8 << 20)]
)
def test_sizes_are_read_as_spark_writes_them(text: str, size: int) -> None:
    assert size_bytes(text) == size
