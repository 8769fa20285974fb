"""Starts nodes by a launcher, which has imported all that they need and forks: see its module.

One launcher serves all clusters of a process, from the first start on to the end of the process.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.interrupts import interrupts_deferred

CAN_LAUNCH: Final = hasattr(os, "pidfd_open")
"""Whether this system tells the end of a process that is not a child: Linux from 5.3 on does."""
_MODULE: Final = f"{__name__.partition('.')[0]}.launcher"
_TIMEOUT_S: Final = 60
_TITLE_ROOM: Final = {"JBODLAB_TITLE_ROOM": "." * 4096}
"""A process writes its title over its first arguments and environment: so long may it be."""
_READ_AT_START: Final = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
"""How the variables begin that an interpreter reads when it starts, and a fork no more."""


class Order(NamedTuple):
    """A process to fork, as ``python -m`` would have started it; or one that has ended."""

    module: str = ""
    arguments: list[str] = []  # noqa: RUF012 - msgspec copies it
    title: str = ""
    """Its command line, as ``ps`` shows it."""
    log_file: str = ""
    folder: str = ""
    """What it works in."""
    environ: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    ended_pid: int = 0
    """Of a child whose exit code is asked for; 0: fork."""


class Launched:
    """A process that a launcher has forked. Its launcher is told here what has become of it."""

    def __init__(self, pid: int, launcher: Launcher) -> None:
        self.pid = pid
        self._launcher = launcher
        self._end = os.pidfd_open(pid)
        self._asking = threading.Lock()
        self._code: int | None = None

    def __del__(self) -> None:
        """Close what tells of its end."""
        os.close(self._end)

    def wait(self, timeout: float) -> int:
        """Wait so many seconds for its end; return its exit code, as ``subprocess`` has it.

        It may be called from several threads.

        Raises:
            TimeoutExpired: it lives.
            ChildProcessError: it ended, and so did the launcher, which alone knew how.
        """
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        if not poll.poll(max(0.0, timeout) * 1000):
            raise subprocess.TimeoutExpired([str(self.pid)], timeout)
        # The launcher can tell it once: a child that was reaped is nobody's any more.
        with self._asking, interrupts_deferred():
            if self._code is None:
                self._code = self._launcher.exit_code_of(self.pid)
        return self._code


class Launcher:
    """The caller's end of a launcher. It may be called from any thread."""

    def __init__(self) -> None:
        """Start it, and wait for nothing: it loads meanwhile."""
        ours, theirs = socket.socketpair()
        with theirs, ours:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **_TITLE_ROOM},
                start_new_session=True,
            )
            ours.settimeout(_TIMEOUT_S)
            self._channel = ours.makefile("rwb")
        self._turn = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it takes orders."""
        return not self._channel.closed and self._process.poll() is None

    def launch(self, command: Sequence[str], log_file: Path) -> Launched:
        """Fork what ``command`` says, ``[python, "-m", module, ...]``, in a session of its own.

        Its output is appended to ``log_file``.

        Raises:
            LabError: FAILED, the launcher has ended.
            OSError: there can be no such log file.
        """
        log_file.touch()
        _, _, module, *arguments = command
        order = Order(
            module=module,
            arguments=arguments,
            title=" ".join(command),
            log_file=str(log_file.absolute()),
            folder=os.getcwd(),
            environ=dict(os.environ),
        )
        return Launched(self._exchange(order), self)

    def exit_code_of(self, pid: int) -> int:
        """Return how a process ended that this launcher has forked.

        Raises:
            ChildProcessError: the launcher has ended before it was asked.
        """
        try:
            return self._exchange(Order(ended_pid=pid))
        except LabError as error:
            raise ChildProcessError(str(error)) from error

    def close(self) -> None:
        """End it; what it has forked lives on."""
        with self._turn:
            self._channel.close()
            self._process.kill()  # It may still be loading.
            self._process.wait()

    def _exchange(self, order: Order) -> int:
        with self._turn, interrupts_deferred():
            try:
                self._channel.write(msgspec.json.encode(order) + b"\n")
                self._channel.flush()
                answer = self._channel.readline()
            except (OSError, ValueError):
                answer = b""
        if not answer:
            raise LabError(
                ExitCode.FAILED, f"the launcher of processes, pid {self._process.pid}, has ended"
            )
        return int(answer)


_choice: Final = threading.Lock()
_launchers: Final[dict[tuple[int, tuple[tuple[str, str], ...]], Launcher]] = {}


def launcher() -> Launcher:
    """Return the launcher of this process, started if need be: its nodes see this environment."""
    read = sorted(each for each in os.environ.items() if each[0].startswith(_READ_AT_START))
    key = os.getpid(), tuple(read)
    with _choice:
        known = _launchers.get(key)
        if known is None or not known.is_running:
            known = _launchers[key] = Launcher()
            atexit.register(known.close)
        return known
