"""One child process: start it with a log file, watch it, end it. Knows no Kafka.

A process is known by pid and start time, so that a recycled pid is never mistaken for ours.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil

STOP_DEADLINE_MS: Final = 10_000
UNKNOWN_CODE: Final = -1
_POLL_S: Final = 0.01
_GONE: Final = "gone"
_ENDED: Final = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD, _GONE)


class Process:
    """A broker or the controller, started by this run or an earlier one."""

    def __init__(
        self,
        name: str,
        handle: psutil.Process,
        log_file: Path,
        child: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.name = name
        self.log_file = log_file
        self.exit_code: int | None = None
        """Known only of children of this run."""
        self._handle = handle
        self._child = child
        self._started_at = handle.create_time()

    @classmethod
    def start(cls, name: str, command: Sequence[str], log_file: Path) -> Process:
        """Start ``command`` in a session of its own; its output is appended to ``log_file``."""
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return cls(name, psutil.Process(child.pid), log_file, child)

    @classmethod
    def attach(cls, name: str, pid: int, started_at: float, log_file: Path) -> Process | None:
        """Find a process that an earlier run started; None when it is gone."""
        try:
            process = cls(name, psutil.Process(pid), log_file)
        except psutil.NoSuchProcess:
            return None
        same = abs(process.started_at - started_at) < 1
        return process if same and process.is_running else None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._handle.pid

    @property
    def started_at(self) -> float:
        """Seconds since the Unix epoch, as the operating system tells them."""
        return self._started_at

    @property
    def is_running(self) -> bool:
        """Whether it lives. One that has ended does not, even if nobody has reaped it yet."""
        return self.wait(0) is None and self._state() not in _ENDED

    @property
    def is_paused(self) -> bool:
        """Whether it stands still."""
        return self._state() == psutil.STATUS_STOPPED

    def rss_bytes(self) -> int:
        """Return its resident memory; 0 when it is gone."""
        try:
            return self._handle.memory_info().rss
        except psutil.NoSuchProcess:
            return 0

    def wait(self, timeout_ms: int) -> int | None:
        """Wait for its end; return the exit code, or None when it lives on.

        The code of a process that this run did not start is not known: UNKNOWN_CODE.
        """
        if self._child is not None:
            try:
                self.exit_code = self._child.wait(timeout_ms / 1000)
            except subprocess.TimeoutExpired:
                return None
            return self.exit_code
        # Its parent may never reap it: then it is in the table of processes for good.
        deadline = time.monotonic() + timeout_ms / 1000
        while self._state() not in _ENDED:
            if time.monotonic() >= deadline:
                return None
            time.sleep(max(0.0, min(_POLL_S, deadline - time.monotonic())))
        self.exit_code = UNKNOWN_CODE
        return self.exit_code

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); one that stands still goes on to do so."""
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it without asking (SIGKILL) and wait until it is gone."""
        self._signal(signal.SIGKILL)
        self.wait(STOP_DEADLINE_MS)

    def pause(self) -> None:
        """Let it stand still (SIGSTOP); ``resume`` lets it go on."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def stop(self, deadline_ms: int = STOP_DEADLINE_MS) -> int | None:
        """Ask, wait, and kill at the deadline; return the exit code."""
        self.terminate()
        if self.wait(deadline_ms) is None:
            self.kill()
        return self.exit_code

    def last_line(self) -> str:
        """Return the last line of its log that holds words."""
        try:
            tail = self.log_file.read_bytes()[-4096:].decode(errors="replace")
        except OSError:
            return ""
        # The frame that Python draws around a group of errors says nothing.
        lines = [words for line in tail.splitlines() if (words := line.strip(" |+-\t"))]
        return lines[-1] if lines else ""

    def _state(self) -> str:
        """Return its state, as psutil names it; that of another process with its pid is not its."""
        try:
            return self._handle.status() if self._handle.is_running() else _GONE
        except psutil.NoSuchProcess:
            return _GONE

    def _signal(self, number: int) -> None:
        if self.is_running:
            with contextlib.suppress(psutil.NoSuchProcess):  # It has just ended.
                self._handle.send_signal(number)
