"""Follows the files of a dump that is being written: only lines that are new and whole.

It reads a folder of this machine, and puts what is new into files of its own, which Spark reads; a
line that a node has half written waits for its other half.
"""

from __future__ import annotations

import shutil
from collections import deque
from pathlib import Path


class Tail:
    """One dump that is followed. Call ``take`` again and again, then ``close``."""

    def __init__(self, dump: Path, window: Path, bytes_max: int) -> None:
        """Remember what to follow.

        Args:
            dump: the folder that nodes write to.
            window: a folder of its own, where what was taken last lies; replaced.
            bytes_max: so much of it is kept, the youngest.
        """
        self._dump = dump
        self.window = window
        self._bytes_max = bytes_max
        self._offsets: dict[Path, int] = {}
        self._taken: deque[tuple[Path, int]] = deque()
        self._kept_bytes = 0
        shutil.rmtree(window, ignore_errors=True)

    def take(self) -> int:
        """Take what is new, forget what is too old; return how many bytes were new."""
        new_bytes = 0
        for file in sorted(self._dump.glob("*/v*/*/*.jsonl")):
            new_bytes += self._take_from(file)
        while self._kept_bytes > self._bytes_max and len(self._taken) > 1:
            path, size_bytes = self._taken.popleft()
            path.unlink()
            self._kept_bytes -= size_bytes
        return new_bytes

    def close(self) -> None:
        """Remove the window."""
        shutil.rmtree(self.window, ignore_errors=True)

    def _take_from(self, file: Path) -> int:
        begin = self._offsets.get(file, 0)
        whole = new_lines(file, begin, self._bytes_max)
        if not whole:
            return 0
        self._offsets[file] = begin + len(whole)
        relative = file.relative_to(self._dump)
        target = self.window / relative.with_name(f"{file.stem}-{begin}.jsonl")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(whole)
        self._taken.append((target, len(whole)))
        self._kept_bytes += len(whole)
        return len(whole)


def new_lines(file: Path, begin: int, bytes_max: int) -> bytes:
    """Return the whole lines from an offset on, in ``bytes_max`` bytes at most; b"" without any."""
    if file.stat().st_size <= begin:
        return b""
    with file.open("rb") as source:
        source.seek(begin)
        lines = source.read(bytes_max)
    return lines[: lines.rfind(b"\n") + 1]
