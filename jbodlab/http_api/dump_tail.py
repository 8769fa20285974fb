"""Reads what nodes append to their metric rows, from one look to the next.

A dump that lies elsewhere, as one in a container, has nothing to read here. The layout is that of
``protocol.metrics.writer``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from protocol.metrics.rows import TABLE_OF_ROW, TABLE_VERSION, MetricRow

T = TypeVar("T", bound=MetricRow)
FIRST_BYTES_MAX: Final = 1 << 16


class DumpTail(Generic[T]):
    """The end of one table of a dump.

    Args:
        dump_dir: of the cluster.
        row: the class of its rows.
        is_late: whether rows of before the first look count; of each file the last ones.
    """

    def __init__(self, dump_dir: Path, row: type[T], *, is_late: bool = False) -> None:
        self._folder = dump_dir / TABLE_OF_ROW[row] / f"v{TABLE_VERSION}"
        self._decoder = msgspec.json.Decoder(row)
        self._is_late = is_late
        self._positions: dict[Path, int] | None = None

    def new_rows(self) -> list[T]:
        """Return the rows that were written since the last look; blocking."""
        known, self._positions = self._positions, {}
        found: list[T] = []
        for file in sorted(self._folder.glob("*/*.jsonl")):
            size = file.stat().st_size
            first = size if not self._is_late else max(0, size - FIRST_BYTES_MAX)
            begin = first if known is None else known.get(file, 0)
            lines, end = _whole_lines(file, begin)
            found += map(self._decoder.decode, lines)
            self._positions[file] = end
        return found


def _whole_lines(file: Path, begin: int) -> tuple[list[bytes], int]:
    """Return the lines behind ``begin`` that are written to their end, and where they end."""
    with file.open("rb") as opened:
        # One byte before, so that a line that begins there is known to.
        opened.seek(max(0, begin - 1))
        data = opened.read()
    skipped = 0 if not begin else data.find(b"\n") + 1
    if begin and not skipped:
        return [], begin
    end = data.rfind(b"\n") + 1
    at = max(0, begin - 1)
    return data[skipped:end].splitlines(), max(begin, at + end)
