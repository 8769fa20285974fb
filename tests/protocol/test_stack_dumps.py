"""A process tells where its threads are: when it is asked, whatever it does, or it crashes."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protocol.stack_dumps import FATAL_ERROR, FATAL_SIGNALS, STACK_WORDS, STACKS_END, STACKS_SIGNAL
from tests.deadlines import DEADLINE_S

_TELLS = "from protocol.stack_dumps import tell_stacks; tell_stacks()\n"
SPINS = f"""{_TELLS}
import sys, threading
def waits_for_good():
    threading.Event().wait()
def never_lets_go():
    sys.stdout.write("up\\n"); sys.stdout.flush()
    while True:
        pass
threading.Thread(target=waits_for_good, daemon=True).start()
never_lets_go()
"""


@contextmanager
def _process(program: str, log_file: Path) -> Generator[subprocess.Popen[bytes]]:
    """Run a program that says "up" first; it is killed at the end."""
    with (
        log_file.open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            yield process
        finally:
            process.kill()


def _asked(process: subprocess.Popen[bytes], log_file: Path) -> str:
    """Ask for the stacks and return what is told, when it is told whole."""
    position = log_file.stat().st_size
    process.send_signal(STACKS_SIGNAL)
    told = ""
    while not told.endswith(f"{STACKS_END}\n"):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.001)
        told = log_file.read_bytes()[position:].decode()
    return told


def test_a_process_whose_loop_never_gets_its_turn_shows_all_threads_and_lives_on(
    tmp_path: Path,
) -> None:
    with _process(SPINS, tmp_path / "log") as process:
        told = _asked(process, tmp_path / "log")
    assert "never_lets_go" in told
    assert "waits_for_good" in told


CHANGES_ITS_STACKS = f"""{_TELLS}
import sys, threading
def goes_down(depth):
    return 0 if depth == 0 else goes_down(depth - 1)
def works():
    while True:
        goes_down(900)
        eval("(lambda: goes_down(3))()")
for _ in range(3):
    threading.Thread(target=works, daemon=True).start()
sys.stdout.write("up\\n"); sys.stdout.flush()
threading.Event().wait()
"""


def test_a_process_whose_threads_go_on_meanwhile_survives_being_asked(tmp_path: Path) -> None:
    with _process(CHANGES_ITS_STACKS, tmp_path / "log") as process:
        for _ in range(50):
            assert _asked(process, tmp_path / "log").count(STACK_WORDS) == 5


@pytest.mark.parametrize("number", dict.fromkeys(FATAL_SIGNALS.values()))
def test_a_fatal_signal_leaves_its_cause_and_the_stack(number: signal.Signals) -> None:
    crashes = (
        f"{_TELLS}import os\ndef it_ends_here(): os.kill(os.getpid(), {number:d})\nit_ends_here()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", crashes],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert ended.returncode == -number
    (line,) = [each for each in ended.stderr.splitlines() if each.startswith(FATAL_ERROR)]
    assert FATAL_SIGNALS[line.removeprefix(FATAL_ERROR)] is number
    assert "it_ends_here" in ended.stderr
