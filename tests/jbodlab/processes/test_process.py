"""Processes are started with a log, found again, and ended."""

from __future__ import annotations

import fcntl
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from jbodlab.processes.process import UNKNOWN_CODE, Process, fatal_signal
from tests.deadlines import DEADLINE_MS

FOREVER = "import signal; print('up', flush=True); signal.pause()"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); "
    "[signal.pause() for _ in iter(int, 1)]"
)

TELLS_STACKS = "from protocol.stack_dumps import tell_stacks; tell_stacks(); "
MANY_THREADS = (
    TELLS_STACKS + "import signal, sys, threading; "
    "[threading.Thread(target=threading.Event().wait, daemon=True).start() for _ in range(60)]; "
    "print('up', file=sys.stderr, flush=True); signal.pause()"
)
OUTLIVED = (
    "import ctypes, threading; ctypes.CDLL(None); print('up', flush=True); "
    "threading.Thread(target=threading.Event().wait).start(); ctypes.CDLL(None).pthread_exit(None)"
)
"""Its first thread ends, another one does not."""
UP = b"up\n"
PIPE_BYTES = 4096
"""What 60 threads do takes more."""
CRASHES = TELLS_STACKS + "import os; os.kill(os.getpid(), 11)"


def start(code: str, folder: Path) -> Process:
    return Process.start("p", [sys.executable, "-c", code], folder / "logs" / "p.log")


def wait_for_up(process: Process) -> None:
    while process.last_line() != "up":
        assert process.wait(5) is None


def test_an_ended_process_has_its_code_and_last_words(tmp_path: Path) -> None:
    process = start("print('why'); print(); raise SystemExit(3)", tmp_path)
    assert process.wait(DEADLINE_MS) == 3
    assert process.exit_code == 3
    assert not process.is_running
    assert process.last_line() == "why"


def test_a_process_lives_until_its_last_thread_has_ended(tmp_path: Path) -> None:
    """Only then are its ports free: a process that is killed may have a thread in a system call."""
    process = start(OUTLIVED, tmp_path)
    try:
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            assert process.wait(5) is None
        found = Process.attach("p", process.pid, process.started_at, process.log_file)
        assert found is not None
        assert found.is_running
        assert found.wait(1) is None
    finally:
        process.kill()
    assert not found.is_running
    assert found.wait(DEADLINE_MS) == UNKNOWN_CODE


def test_a_running_process_is_found_again_by_pid_and_start_time(tmp_path: Path) -> None:
    process = start(FOREVER, tmp_path)
    try:
        found = Process.attach("p", process.pid, process.started_at, process.log_file)
        assert found is not None
        assert found.rss_bytes() > 0
        assert Process.attach("p", process.pid, process.started_at - 60, tmp_path) is None
    finally:
        process.kill()
    assert Process.attach("p", process.pid, process.started_at, process.log_file) is None
    assert process.rss_bytes() == 0


def test_a_process_that_stands_still_goes_on_when_it_may_and_when_it_is_stopped(
    tmp_path: Path,
) -> None:
    process = start(FOREVER, tmp_path)
    wait_for_up(process)
    process.pause()
    wait_until(lambda: process.is_paused)
    assert process.is_running
    process.resume()
    wait_until(lambda: not process.is_paused)
    process.pause()
    assert process.stop(DEADLINE_MS) == -signal.SIGTERM
    assert not process.is_paused


def wait_until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + DEADLINE_MS / 1000
    while not condition():
        assert time.monotonic() < deadline_s


def test_stop_asks_first(tmp_path: Path) -> None:
    process = start(FOREVER, tmp_path)
    wait_for_up(process)
    assert process.stop(DEADLINE_MS) == -15


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    process = start(STUBBORN, tmp_path)
    wait_for_up(process)
    assert process.stop(deadline_ms=50) == -9


def test_a_log_that_is_not_there_has_no_last_line(tmp_path: Path) -> None:
    process = start("pass", tmp_path)
    process.wait(DEADLINE_MS)
    process.log_file.unlink()
    assert process.last_line() == ""


def test_a_paused_process_stands_still_and_goes_on(tmp_path: Path) -> None:
    process = start(FOREVER, tmp_path)
    try:
        wait_for_up(process)
        process.pause()
        assert process.is_running
        assert os.waitid(os.P_PID, process.pid, os.WSTOPPED) is not None
        process.resume()
        assert os.waitid(os.P_PID, process.pid, os.WCONTINUED) is not None
    finally:
        process.kill()


def test_a_process_that_was_killed_and_is_not_reaped_does_not_run(tmp_path: Path) -> None:
    process = start(FOREVER, tmp_path)
    found = Process.attach("p", process.pid, process.started_at, process.log_file)
    assert found is not None
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # A zombie, as nobody asks for it.
    assert not found.is_running
    assert found.wait(0) == UNKNOWN_CODE
    assert Process.attach("p", process.pid, process.started_at, process.log_file) is None
    assert process.wait(0) == -signal.SIGKILL


def test_a_process_that_never_lets_go_writes_what_its_threads_do(tmp_path: Path) -> None:
    inside = "print('up', flush=True) or [0 for _ in iter(int, 1)]"
    process = start(f"{TELLS_STACKS}[{inside} for _ in 'x']", tmp_path)
    try:
        wait_for_up(process)
        assert process.write_stacks(DEADLINE_MS)
        assert "<listcomp>" in process.log_file.read_text()
        assert process.is_running
        assert process.ended_by() is None
    finally:
        process.kill()
    assert process.ended_by() == "SIGKILL"


def test_stacks_of_which_a_part_is_written_are_waited_for(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    child = subprocess.Popen([sys.executable, "-c", MANY_THREADS], stderr=writer)
    os.close(writer)
    try:
        log_file = tmp_path / "p.log"
        log_file.write_bytes(os.read(reader, len(UP)))
        process = Process.attach("p", child.pid, psutil.Process(child.pid).create_time(), log_file)
        assert process is not None
        copied = threading.Thread(target=copy, args=(reader, log_file, 1_000))
        copied.start()
        assert not process.write_stacks(200)
        copied.join()
        assert "(most recent call first)" in log_file.read_text()
        rest = threading.Thread(target=copy, args=(reader, log_file))
        rest.start()
        assert process.write_stacks(DEADLINE_MS)
    finally:
        child.kill()
        child.wait()
    rest.join()
    os.close(reader)


def copy(reader: int, log_file: Path, size_bytes: float = math.inf) -> None:
    """Write what comes through a pipe to a log: at least ``size_bytes``, or all."""
    with log_file.open("ab", buffering=0) as log:
        while size_bytes > 0 and (piece := os.read(reader, 100)):
            log.write(piece)
            size_bytes -= len(piece)


def test_a_process_that_would_end_by_the_question_is_not_asked(tmp_path: Path) -> None:
    process = start(FOREVER, tmp_path)
    try:
        wait_for_up(process)
        assert not process.write_stacks(DEADLINE_MS)
        assert process.is_running
    finally:
        process.kill()
    assert not process.write_stacks(DEADLINE_MS)


def test_a_crash_is_known_by_its_code_or_by_the_end_of_its_log(tmp_path: Path) -> None:
    process = start(CRASHES, tmp_path)
    assert process.wait(DEADLINE_MS) == -signal.SIGSEGV
    assert process.ended_by() == "SIGSEGV"
    assert process.last_line() == "Fatal Python error: Segmentation fault"
    process.exit_code = UNKNOWN_CODE
    assert process.ended_by() == "SIGSEGV"
    with process.log_file.open("a") as log:
        log.write("2026-01-02 03:04:05,678 INFO broker-1 broker.app: it runs again\n")
    assert fatal_signal(process.log_file) is None
    assert fatal_signal(tmp_path / "none.log") is None
