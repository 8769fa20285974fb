"""Follows the files of a dump that is being written: only lines that are new and whole.

It reads a folder of this machine, and puts what is new into files of its own, which Spark reads; a
line that a node has half written waits for its other half.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PIECES: Final = 128
"""So many files the window has about, when it is full: what is forgotten is forgotten by file."""
_AT_MS: Final = re.compile(rb'"at_ms":(\d+)')


@dataclass(slots=True)
class _Piece:
    """Lines of one file of the dump, one after the other."""

    path: Path
    first_at_ms: int
    size_bytes: int = 0


class Tail:
    """One dump that is followed. Call ``take`` again and again, then ``close``."""

    def __init__(self, dump: Path, window: Path, bytes_max: int) -> None:
        """Remember what to follow.

        Args:
            dump: the folder that nodes write to.
            window: a folder of its own, where what was taken last lies; replaced.
            bytes_max: so much of it is kept. Each table has the same share of it, and what small
                tables leave goes to the others; of a table the youngest rows are kept.
        """
        self._dump = dump
        self.window = window
        self._bytes_max = bytes_max
        self._piece_bytes = max(1, bytes_max // PIECES)
        self._offsets: dict[Path, int] = {}
        self._open: dict[Path, _Piece] = {}
        self._pieces: dict[str, list[_Piece]] = defaultdict(list)
        """By table."""
        self._count = 0
        shutil.rmtree(window, ignore_errors=True)

    def take(self) -> int:
        """Take what is new, forget what is too old; return how many bytes were new."""
        new_bytes = 0
        for file in dump_files(self._dump):
            new_bytes += self._take_from(file)
            while self._kept_bytes() > self._bytes_max and self._forget_one():
                pass
        return new_bytes

    def close(self) -> None:
        """Remove the window."""
        shutil.rmtree(self.window, ignore_errors=True)

    def _take_from(self, file: Path) -> int:
        begin = self._begin_of(file)
        whole = new_lines(file, begin, self._bytes_max)
        self._offsets[file] = begin + len(whole)
        for lines in _cut(whole, self._piece_bytes):
            self._keep(file, lines)
        return len(whole)

    def _begin_of(self, file: Path) -> int:
        """Return where to read on: near the end of a file with more than the window holds."""
        begin = self._offsets.get(file, 0)
        skipped = _size_bytes(file) - self._bytes_max
        if skipped <= begin:
            return begin
        # The first line there may be half a line: it ends where the first whole one begins.
        rest = _read(file, skipped - 1, self._bytes_max)
        return skipped + rest.find(b"\n") if b"\n" in rest else begin

    def _keep(self, file: Path, lines: bytes) -> None:
        piece = self._open.get(file)
        if piece is None or piece.size_bytes >= self._piece_bytes:
            piece = self._open[file] = self._new_piece(file, lines)
        with piece.path.open("ab") as target:
            target.write(lines)
        piece.size_bytes += len(lines)

    def _new_piece(self, file: Path, lines: bytes) -> _Piece:
        relative = file.relative_to(self._dump)
        pieces = self._pieces[relative.parts[0]]
        folder = self.window / relative.parent
        folder.mkdir(parents=True, exist_ok=True)
        found = _AT_MS.search(lines)
        self._count += 1
        path = folder / f"{file.stem}-{self._count}.jsonl"
        pieces.append(_Piece(path, int(found[1]) if found else 0))
        return pieces[-1]

    def _kept_bytes(self) -> int:
        return sum(map(_held_bytes, self._pieces.values()))

    def _forget_one(self) -> bool:
        """Forget the oldest lines of the table that has most; return whether there was one."""
        largest = max(self._pieces.values(), key=_held_bytes)
        if len(largest) < 2:
            return False
        oldest = min(largest, key=lambda piece: piece.first_at_ms)
        largest.remove(oldest)
        oldest.path.unlink()
        self._open = {file: piece for file, piece in self._open.items() if piece is not oldest}
        return True


def dump_files(dump: Path) -> list[Path]:
    """Return the files of a dump of this machine, in the order of their names."""
    return sorted(dump.glob("*/v*/*/*.jsonl"))


def new_lines(file: Path, begin: int, bytes_max: int) -> bytes:
    """Return the whole lines from an offset on, in ``bytes_max`` bytes at most; b"" without any.

    A file that is gone has none.
    """
    if _size_bytes(file) <= begin:
        return b""
    lines = _read(file, begin, bytes_max)
    return lines[: lines.rfind(b"\n") + 1]


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _read(file: Path, begin: int, bytes_max: int) -> bytes:
    try:
        with file.open("rb") as source:
            source.seek(begin)
            return source.read(bytes_max)
    except FileNotFoundError:
        return b""


def _cut(whole: bytes, piece_bytes: int) -> Iterator[bytes]:
    """Give whole lines in pieces of so many bytes, or of one line where it is longer."""
    begin = 0
    while begin < len(whole):
        end = whole.find(b"\n", begin + piece_bytes - 1) + 1 or len(whole)
        yield whole[begin:end]
        begin = end


def _held_bytes(pieces: list[_Piece]) -> int:
    return sum(piece.size_bytes for piece in pieces)
