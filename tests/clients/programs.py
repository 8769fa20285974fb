"""The client programs of the report card, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.clients.builds import go_program

ADMIN: Final = "admin"
PRODUCE: Final = "produce"
GROUP: Final = "group"
TRANSACTIONS: Final = "transactions"
FOUR: Final = (ADMIN, PRODUCE, GROUP, TRANSACTIONS)
MEANINGS: Final = {
    ADMIN: "creates a topic, changes, describes and deletes it",
    PRODUCE: "idempotent: every record once, in the order of its key",
    GROUP: "two members share, one leaves, a third goes on at the committed offsets; the group is "
    "listed, described, deleted",
    TRANSACTIONS: "consume, transform, produce; each third transaction aborted: every record once",
}


@dataclass(frozen=True, slots=True)
class Program:
    """One client in a program of its own."""

    client: str
    """As people call it; unique without regard to case."""
    prepare: Callable[[Path], list[str]]
    """Takes the folder for what is fetched and compiled, returns what starts the program.

    Raises ``NotRunError``.
    """
    items: tuple[str, ...] = FOUR


PROGRAMS: Final = (
    Program("franz-go", partial(go_program, "franz")),
    Program("sarama", partial(go_program, "sarama")),
)
