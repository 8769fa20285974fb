"""What the journal promises of its lines: all that was durable is read, and what is cut was not.

A group of decisions is written at once: of the last one any part may be missing or damaged, and
whatever stands before a later group was durable.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

from controller import journal as journals
from controller.core.decision import Decision, Durable
from controller.journal import Journal, JournalCorruptError, Replayed, decode_entry
from simulation.contracts.contract import Broken, of_function, of_method


@of_function(journals.replay)
def replay(data: bytes, path: Path) -> Generator[None, Replayed, Broken]:
    """A journal is read up to the first line that is not whole, and what is behind was not durable.

    It is refused only where a line is damaged and a later group is there.
    """
    whole, size_bytes = _whole(data)
    is_refused = _has_group_after(data[size_bytes:], whole)
    try:
        replayed = yield
    except JournalCorruptError as error:
        return None if is_refused else f"{path} has no later group, it is refused: {error}"
    if is_refused:
        return f"{path} is damaged at {size_bytes} and has later groups, it is taken"
    read = (replayed.next_sequence, replayed.size_bytes, replayed.torn_bytes)
    wanted = (whole, size_bytes, len(data) - size_bytes)
    return None if read == wanted else f"{path} has {wanted}, read are {read}"


def _whole(data: bytes) -> tuple[int, int]:
    """Return how many whole lines a journal begins with, in order, and their bytes."""
    count = size_bytes = 0
    for line in data.split(b"\n")[:-1]:
        try:
            entry = decode_entry(line)
        except ValueError:
            break
        if entry.sequence != count:
            break
        count, size_bytes = count + 1, size_bytes + len(line) + 1
    return count, size_bytes


def _has_group_after(data: bytes, sequence: int) -> bool:
    """Tell whether a whole line is there of a group that began behind ``sequence``."""
    for line in data.split(b"\n"):
        try:
            if decode_entry(line).group > sequence:
                return True
        except ValueError:
            continue
    return False


@of_method(Journal, "append")
def append(journal: Journal, decisions: Sequence[Decision]) -> Generator[None, Durable, Broken]:
    """Each decision that changes anything has a line when it is durable; the last one is told."""
    before, size_bytes = journal._next_sequence, journal._size_bytes  # noqa: SLF001 -- its own
    durable = yield
    count = sum(bool(each.records) for each in decisions)
    if journal._next_sequence - before != count:  # noqa: SLF001 -- as above
        return f"{count} decisions have {journal._next_sequence - before} lines"  # noqa: SLF001
    if (journal._size_bytes > size_bytes) is not (count > 0):  # noqa: SLF001 -- as above
        return f"{count} lines grow it from {size_bytes} to {journal._size_bytes} bytes"  # noqa: SLF001
    is_told = durable == Durable(decisions[-1].journal_number)
    return None if is_told else f"{decisions[-1].journal_number} is the last, told is {durable}"
