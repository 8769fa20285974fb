"""The launcher's process: it ends with its caller. What it forks: test_launching.py."""

from __future__ import annotations

import socket
import subprocess
import sys

from jbodlab import launcher
from tests.deadlines import DEADLINE_MS


def test_a_launcher_ends_when_its_caller_hangs_up() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", launcher.__name__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
        )
    ours.close()
    assert process.wait(DEADLINE_MS / 1000) == 0
