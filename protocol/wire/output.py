"""Where encoders write: a bytearray that can leave large records out, to be sent as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from protocol.ports import Buffer
from protocol.wire.varint import write_varint

_BLOB_BYTES_MIN = 4096
"""Smaller records are copied: another buffer would cost more than the copy."""


class Output(bytearray):
    """Encoded bytes; ``blobs`` are (position, buffer) of records that belong there, not copied."""

    __slots__ = ("blobs",)

    def __init__(self, *, keeps_blobs_apart: bool = False) -> None:
        super().__init__()
        self.blobs: list[tuple[int, Buffer]] | None = [] if keeps_blobs_apart else None

    def parts(self) -> list[Buffer]:
        """Return the buffers that make up the message, in order."""
        if not self.blobs:
            return [self]
        view = memoryview(self)
        parts: list[Buffer] = []
        done = 0
        for position, blob in self.blobs:
            if position > done:
                parts.append(view[done:position])
                done = position
            parts.append(blob)
        if done < len(view):
            parts.append(view[done:])
        return parts


def size_of(value: Buffer | Sequence[Buffer]) -> int:
    """Return the size in bytes of a buffer or of buffers in a row."""
    if isinstance(value, tuple | list):
        return sum(map(len, cast("Sequence[Buffer]", value)))
    return len(cast("Buffer", value))


def put_bytes(out: Output, value: Buffer) -> None:
    """Append a bytes field's content."""
    out += value


def put_records(out: Output, value: Buffer | Sequence[Buffer]) -> None:
    """Append records, or note where they belong when blobs are kept apart."""
    if isinstance(value, tuple | list):
        for part in cast("Sequence[Buffer]", value):
            _put_blob(out, part)
    else:
        _put_blob(out, cast("Buffer", value))


def _put_blob(out: Output, blob: Buffer) -> None:
    if out.blobs is not None and len(blob) >= _BLOB_BYTES_MIN:
        out.blobs.append((len(out), blob))
    else:
        out += blob


def put_tagged(
    out: Output, known: list[tuple[int, Buffer]], unknown: Iterable[tuple[int, Buffer]]
) -> None:
    """Append a tagged-field section, sorted by tag."""
    fields = sorted([*known, *unknown], key=_tag)
    write_varint(out, len(fields))
    for tag, body in fields:
        write_varint(out, tag)
        write_varint(out, len(body))
        out += body


def _tag(field: tuple[int, Buffer]) -> int:
    return field[0]
