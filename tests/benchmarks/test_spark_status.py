from __future__ import annotations

from benchmarks.spark_status import TaskTime, at_once


def test_tasks_are_counted_at_each_moment_from_the_first_begin_to_the_last_end():
    times = [TaskTime(10, 20), TaskTime(12, 15), TaskTime(15, 16), TaskTime(30, 31)]
    assert at_once(times) == {1: 4 + 2 + 1, 2: 3 + 1, 0: 10}


def test_without_tasks_nothing_ran():
    assert not at_once([])
