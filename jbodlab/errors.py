"""How a command ends: exit codes, and the exceptions that carry one to the shell.

Prints nothing: ``jbodlab.cli`` does.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of ``jbodlab``; scripts may rely on the numbers."""

    OK = 0
    FAILED = 1
    """The cluster answered with an error."""
    USAGE = 2
    """The command line is wrong (click's own number)."""
    BAD_CONFIG = 3
    """The cluster file is missing or holds mistakes."""
    PORT_IN_USE = 4
    """A port of the cluster file belongs to another process."""
    NOT_RUNNING = 5
    """Nothing of this cluster runs, or the broker asked does not."""
    PROCESS_DIED = 6
    """A process ended while it was waited for."""
    TIMED_OUT = 7
    """Something did not happen before its deadline."""
    MISSING_JAVA = 8
    """Spark or Apache Kafka needs Java, and there is none."""
    MISSING_PACKAGE = 9
    """An optional Python package is not installed, or Maven is not, or could not fetch."""
    MALFORMED = 10
    """What was to be decoded is no message of Kafka's protocol."""
    STOPPED = 11
    """A run was stopped on the way; it can be gone on with."""
    VIOLATION = 12
    """Something was found that must never be: by a checker, a plan's own steps, or the matrix."""
    INTERRUPTED = 130
    """Ctrl-C, as a shell tells it of any program."""


class LabError(Exception):
    """One clear line for the user: what is wrong and what to do."""

    def __init__(self, exit_code: ExitCode, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class BrokerAwayError(ConnectionError):
    """One broker cannot be reached, hung up, or did not answer in time; says which."""
