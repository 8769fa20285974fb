from __future__ import annotations

from benchmarks.isolation import Dirs, Run, row_of


def test_a_row_compares_the_good_log_dirs_before_and_after_the_fault() -> None:
    dirs = Dirs({0: "/d1", 1: "/d2", 2: "/d3"}, bad=2)
    run = Run()
    run.before_ms = {0: [1.0] * 100, 1: [1.0] * 100, 2: [1.0]}
    run.after_ms = {0: [1.5] * 100, 1: [1.5] * 99 + [9.0], 2: [2000.0]}
    row = row_of(dirs, run, "slow", shared=False)
    assert (row["p99 before, ms"], row["p99 after, ms"], row["ratio"]) == (1.0, 1.5, 1.5)
    assert (row["longest, ms"], row["fault"], row["connections"]) == (9.0, "slow", "one each")
