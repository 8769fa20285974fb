"""What the members of a group do in every Python program: share, leave, go on where it was."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Protocol

from tests.clients.python.ledger import DEADLINE_S, HALF, PARTITIONS, Ledger, MissedError, thread

Send = Callable[[bytes, bytes], None]


class Member(Protocol):
    """Reads a topic as one of a group until it is closed, and commits what it has read."""

    owned: int
    """How many partitions it has."""
    read: int
    """How many records it has read."""

    def close(self) -> None:
        """Leave the group."""
        ...


def share(join: Callable[[], Member], topic: str, ledger: Ledger, send: Send) -> None:
    """Have two members read what is written meanwhile, and one of them leave."""
    half = PARTITIONS // 2
    with closing(join()) as first:
        writing = thread(lambda: ledger.write(topic, send), ledger)
        ledger.until("the first member reads", lambda: first.read > 0)
        with closing(join()) as second:
            ledger.until(
                "both share the partitions", lambda: (first.owned, second.owned) == (half, half)
            )
            writing.join(DEADLINE_S)
        ledger.until("all is read", lambda: ledger.is_read and first.owned == PARTITIONS)


def resume(join: Callable[[], Member], ledger: Ledger, send: Send) -> None:
    """Have a new member read what is written from now on, and nothing that was committed."""
    again = ledger.again
    for _ in range(HALF):
        send(*ledger.next())
    with closing(join()):
        ledger.until("what was written last is read", lambda: ledger.is_read)
    if ledger.again > again:
        raise MissedError(f"{ledger.again - again} committed records were read again")
