"""What a broker knows of the controller's journal, as it lies in each of its log dirs. No IO.

Kafka's brokers look at directories and at files whose names they know, and skip this one.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from protocol.ids import ZERO_UUID, uuid_from_text, uuid_text

JOURNAL_CHECKPOINT: Final = "controller-journal-checkpoint"
_VERSION: Final = "0"


class CorruptJournalCheckpoint(OSError):  # noqa: N818 -- says what it met
    """The file cannot be read; other log dirs have it too."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EIO, f"malformed {JOURNAL_CHECKPOINT}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCheckpoint:
    """The highest of everything that was ever heard."""

    generation: int = 0
    """Grows with every change: the newest file says which journal it is."""
    journal_id: bytes = ZERO_UUID
    """All zero: none was heard of."""
    controller_epoch: int = 0
    journal_number: int = -1
    producer_ids_end: int = 0
    """The end of the highest block of producer ids that this broker was given."""


def newest(found: Iterable[JournalCheckpoint]) -> JournalCheckpoint:
    """Return what several log dirs know together: some were offline when others were written."""
    every = sorted(found, key=lambda each: each.generation) or [JournalCheckpoint()]
    last = every[-1]
    same = [each for each in every if each.journal_id == last.journal_id]
    epoch, number = max((each.controller_epoch, each.journal_number) for each in same)
    return replace(
        last,
        controller_epoch=epoch,
        journal_number=number,
        producer_ids_end=max(each.producer_ids_end for each in every),
    )


def render_journal_checkpoint(known: JournalCheckpoint) -> bytes:
    """Return the content of the file."""
    lines = [
        _VERSION,
        f"generation={known.generation}",
        f"journal_id={uuid_text(known.journal_id)}",
        f"controller_epoch={known.controller_epoch}",
        f"journal_number={known.journal_number}",
        f"producer_ids_end={known.producer_ids_end}",
    ]
    return "".join(f"{line}\n" for line in lines).encode()


def parse_journal_checkpoint(data: bytes) -> JournalCheckpoint:
    """Read the file.

    Raises:
        CorruptJournalCheckpoint: it is cut, or says something else.
    """
    version, *lines = data.decode(errors="replace").splitlines() or [""]
    if version != _VERSION:
        raise CorruptJournalCheckpoint(f"version {version!r}")
    texts: dict[str, str] = {}
    for line in lines:
        name, _, text = line.partition("=")
        texts[name] = text
    try:
        return JournalCheckpoint(
            generation=int(texts["generation"]),
            journal_id=uuid_from_text(texts["journal_id"]),
            controller_epoch=int(texts["controller_epoch"]),
            journal_number=int(texts["journal_number"]),
            producer_ids_end=int(texts["producer_ids_end"]),
        )
    except (KeyError, ValueError) as error:
        raise CorruptJournalCheckpoint(f"{error}") from error
