"""A machine is kept busy for as long as the tests run, and no longer."""

from __future__ import annotations

import subprocess
import sys

import psutil

from tests.busy import busy_machine


def test_the_loops_compute_and_end_with_the_block() -> None:
    with busy_machine(2) as loops:
        processes = [psutil.Process(each.pid) for each in loops]
        while any(each.cpu_times().user == 0 for each in processes):
            pass
        assert all(each.poll() is None for each in loops)
    assert [each.poll() for each in loops] == [-9, -9]


def test_the_exit_code_is_that_of_pytest() -> None:
    command = [sys.executable, "-m", "tests.busy", "--loops", "1", "tests/no_such_file.py"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 4
