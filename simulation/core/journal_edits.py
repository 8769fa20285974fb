"""What a hand does to the file of the controller's journal, as bytes in and bytes out."""

from __future__ import annotations

from typing import Final, Literal

JournalEdit = Literal["copy", "restore", "cut", "damage", "damage_middle", "empty"]
_FLIPPED: Final = 1


def edited(edit: JournalEdit, data: bytes, copy: bytes) -> bytes:
    """Return the journal after an edit; "copy" leaves it as it is.

    Args:
        edit: what is done.
        data: the journal.
        copy: what was copied before.
    """
    match edit:
        case "copy":
            return data
        case "restore":
            return copy
        case "cut":
            return b"".join(data.splitlines(keepends=True)[:-1])
        case "damage":
            return _flipped(data, len(data) - 2)
        case "damage_middle":
            return _flipped(data, len(data) // 2)
        case "empty":
            return b""


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ _FLIPPED]) + data[at + 1 :]
