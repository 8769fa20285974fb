"""What a hand does to the file of the controller's journal, as bytes in and bytes out."""

from __future__ import annotations

from typing import Final, Literal

JournalEdit = Literal["copy", "restore", "damage", "empty"]
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
        case "damage":
            return data[:-2] + bytes([data[-2] ^ _FLIPPED]) + data[-1:]
        case "empty":
            return b""
