"""A process tells where its threads are: when it is asked, whatever it does, or it crashes."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile

import pytest

from protocol.stack_dumps import FATAL_ERROR, FATAL_SIGNALS, STACK_WORDS, STACKS_SIGNAL
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


def test_a_process_whose_loop_never_gets_its_turn_shows_all_threads_and_lives_on() -> None:
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen([sys.executable, "-c", SPINS], stdout=subprocess.PIPE, stderr=log) as one,
    ):
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == b"up\n"
            one.send_signal(STACKS_SIGNAL)
            told = ""
            while told.count(STACK_WORDS) < 2 or "never_lets_go" not in told:
                with pytest.raises(subprocess.TimeoutExpired):
                    one.wait(0.01)
                log.seek(0)
                told = log.read()
            assert "waits_for_good" in told
        finally:
            one.kill()


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
