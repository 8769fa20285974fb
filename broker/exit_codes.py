"""How the broker process ends; scripts and the cluster launcher read these numbers.

It ends nothing itself.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of ``python -m broker``."""

    CLEAN = 0
    """Stopped on request; every good log dir carries its clean-shutdown marker."""
    ALL_LOG_DIRS_FAILED = 1
    """No log dir was usable at the start, or the last one failed; Kafka halts with 1, too."""
    BAD_CONFIG = 2
    """Bad command line, cluster file or setting, or an id that the cluster file does not name."""
    PORT_IN_USE = 3
    """The listener's or the control port cannot be bound."""
    BAD_LOG_DIRS = 4
    """A log dir is in use by another process, belongs to another broker, or contradicts another."""
    REGISTRATION_REFUSED = 5
    """The controller refused this broker for good."""
    FAILURE_NOT_REPORTED = 6
    """The controller was away for too long after a log dir had failed; stopped as on request."""
    UNEXPECTED_ERROR = 70
    """A defect: the traceback is in the log."""
