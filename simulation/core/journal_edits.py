"""What a hand does to the file of the controller's journal, as bytes in and bytes out."""

from __future__ import annotations

from typing import Final, Literal

JournalEdit = Literal["copy", "restore", "cut", "damage", "damage_middle", "empty", "tear"]
_FLIPPED: Final = 1
_TORN_LINE: Final = b'00000000 [7, 7, [["Topic'


def edited(edit: JournalEdit, data: bytes, copy: bytes) -> bytes:
    """Return the journal after an edit; "copy" leaves it as it is.

    Args:
        edit: what is done.
        data: the journal.
        copy: what was copied before.
    """
    match edit:
        case "copy" | "tear":
            return data + (_TORN_LINE if edit == "tear" else b"")
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
