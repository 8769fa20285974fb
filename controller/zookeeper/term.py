"""The time during which one broker is the controller, and the end of it."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """Won by ``Election``."""

    controller_epoch: int
    epoch_version: int
    """Of ``/controller_epoch``: whoever is elected next raises it, and nothing is written then."""
    session: int
    """In which ``/controller`` was made."""


class TermEndedError(Exception):
    """Another one is the controller, or may be by now. A new term begins with an election."""
