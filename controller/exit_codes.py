"""How the controller process ends; scripts and the cluster launcher read these numbers.

It ends nothing itself.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of ``python -m controller``; where the broker has the same case, its number."""

    CLEAN = 0
    """Stopped on request."""
    JOURNAL_FAILED = 1
    """The disk of the journal failed: nothing can be promised any more."""
    BAD_CONFIG = 2
    """Bad command line or cluster file, or a journal that belongs to another cluster."""
    PORT_IN_USE = 3
    """The port cannot be bound."""
    DATA_DIR_IN_USE = 4
    """Another controller holds the lock of the data dir."""
    JOURNAL_CORRUPT = 5
    """A line of the journal is damaged: keep what is before it, or restore a copy."""
    JOURNAL_NEW = 6
    """The journal is new, and brokers have data of another one: put that back, or give consent."""
    UNEXPECTED_ERROR = 70
    """A defect: the traceback is in the log."""
