"""One child process: start it with a log file, watch it, end it. Knows no Kafka.

A process is known by pid and start time, so that a recycled pid is never mistaken for ours.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import psutil

from jbodlab.processes.launching import CAN_LAUNCH, Launched, launcher
from protocol.stack_dumps import FATAL_ERROR, FATAL_SIGNALS, STACKS_END, STACKS_SIGNAL

STOP_DEADLINE_MS: Final = 10_000
UNKNOWN_CODE: Final = -1
STACKS_TIMEOUT_MS: Final = 2_000
_POLL_S: Final = 0.01
_GONE: Final = "gone"
_ENDING: Final = "ending"
_ENDED: Final = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD, _GONE)
_TAIL_BYTES: Final = 64 * 1024
"""More than the stacks of all threads of a node take."""
_LOGGED: Final = re.compile(r"\d{4}-\d\d-\d\d ", re.ASCII)
"""How each line of a log begins that a node wrote while it ran."""


class Process:
    """A broker or the controller, started by this run or an earlier one."""

    def __init__(
        self,
        name: str,
        handle: psutil.Process,
        log_file: Path,
        child: subprocess.Popen[bytes] | Launched | None = None,
    ) -> None:
        self.name = name
        self.log_file = log_file
        self.exit_code: int | None = None
        """Known only of children of this run."""
        self.is_foreign = False
        """Whether its exit codes are no ones of jbodlab."""
        self._handle = handle
        self._child = child
        self._started_at = handle.create_time()

    @classmethod
    def start(cls, name: str, command: Sequence[str], log_file: Path) -> Self:
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
    def fork(cls, name: str, command: Sequence[str], log_file: Path) -> Self:
        """As ``start``, but have the launcher of this process fork a module of ``jbodlab``.

        Raises:
            LabError: FAILED, the launcher has ended.
        """
        if not CAN_LAUNCH:
            return cls.start(name, command, log_file)
        log_file.parent.mkdir(parents=True, exist_ok=True)
        child = launcher().launch(command, log_file)
        return cls(name, psutil.Process(child.pid), log_file, child)

    @classmethod
    def attach(cls, name: str, pid: int, started_at: float, log_file: Path) -> Self | None:
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
            except ChildProcessError:
                self.exit_code = UNKNOWN_CODE
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
        """Let it stand still (SIGSTOP), and wait until it does; ``resume`` lets it go on."""
        self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + STOP_DEADLINE_MS / 1000
        while self.is_running and not self.is_paused and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def stop(self, deadline_ms: int = STOP_DEADLINE_MS) -> int | None:
        """Ask, wait, and kill at the deadline; return the exit code."""
        self.terminate()
        if self.wait(deadline_ms) is None:
            self.kill()
        return self.exit_code

    def write_stacks(self, timeout_ms: int = STACKS_TIMEOUT_MS) -> bool:
        """Have it write to its log what its threads do, and wait for that; False: it does not.

        Only one that waits for the signal is asked: any other would end by it.
        """
        if not _waits_for_signal(self.pid):
            return False
        size_bytes = _size_bytes(self.log_file)
        self._signal(STACKS_SIGNAL)
        deadline = time.monotonic() + timeout_ms / 1000
        while STACKS_END not in _text_from(self.log_file, size_bytes):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def ended_by(self) -> str | None:
        """Return the name of the signal that ended it, such as "SIGSEGV"; None: none, or unknown.

        Of a process of an earlier run its log is asked.
        """
        if self.exit_code is not None and self.exit_code != UNKNOWN_CODE:
            return signal.Signals(-self.exit_code).name if self.exit_code < 0 else None
        return fatal_signal(self.log_file)

    def last_line(self) -> str:
        """Return the last line of its log that holds words; of stacks at its end, what they are."""
        cause = _fatal_cause(self.log_file)
        if cause is not None:
            return FATAL_ERROR + cause
        # The frame that Python draws around a group of errors says nothing.
        tail = _text_from(self.log_file, -4096)
        lines = [words for line in tail.splitlines() if (words := line.strip(" |+-\t"))]
        return lines[-1] if lines else ""

    def _state(self) -> str:
        """Return its state, as psutil names it; that of another process with its pid is not its."""
        try:
            state = self._handle.status() if self._handle.is_running() else _GONE
            # Its first thread has ended; while others live they hold its ports and files.
            is_ending = state == psutil.STATUS_ZOMBIE and self._handle.num_threads() > 1
        except psutil.NoSuchProcess:
            return _GONE
        return _ENDING if is_ending else state

    def _signal(self, number: int) -> None:
        if self.is_running:
            with contextlib.suppress(psutil.NoSuchProcess):  # It has just ended.
                self._handle.send_signal(number)


def fatal_signal(log_file: Path) -> str | None:
    """Return the name of the fatal signal that the last process ended by that wrote ``log_file``.

    None: its log tells of none. Nobody can write a last word at SIGKILL.
    """
    number = FATAL_SIGNALS.get(_fatal_cause(log_file) or "")
    return None if number is None else number.name


def _fatal_cause(log_file: Path) -> str | None:
    _, mark, dump = _text_from(log_file, -_TAIL_BYTES).rpartition(FATAL_ERROR)
    if not mark or any(map(_LOGGED.match, dump.splitlines())):
        return None  # Another process wrote on.
    return dump.partition("\n")[0]


def _waits_for_signal(pid: int) -> bool:
    """Tell whether a process keeps ``STACKS_SIGNAL`` for the thread that answers it.

    One that is gone does not.
    """
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    blocked = re.findall(r"^SigBlk:\s*([0-9a-f]+)$", text, re.MULTILINE)
    return any(int(mask, 16) >> (STACKS_SIGNAL - 1) & 1 for mask in blocked)


def _size_bytes(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _text_from(file: Path, position: int) -> str:
    """Return what a file has from ``position`` on, which counts from its end if it is negative."""
    try:
        with file.open("rb") as opened:
            size_bytes = opened.seek(0, 2)
            opened.seek(max(0, size_bytes + position) if position < 0 else position)
            return opened.read().decode(errors="replace")
    except OSError:
        return ""
