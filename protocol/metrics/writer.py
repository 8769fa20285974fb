"""Appends metric rows to JSON-line files that Spark can read. It decides not what to measure.

Layout: ``<dump_dir>/<table>/v<TABLE_VERSION>/broker=<node>/<start_ms>-<n>.jsonl``; ``broker=`` is
the partition column, for the controller as well (its own id stands there).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import aiofiles
import aiofiles.os
import msgspec

from protocol.metrics.rows import TABLE_OF_ROW, TABLE_VERSION, MetricRow, RowOrigin
from protocol.metrics.topic import record_value

ROTATE_BYTES: Final = 16 * 1024 * 1024


class RowWriter(Protocol):
    """Where the rows of one process go: to files, or nowhere in a simulation."""

    async def write(self, rows: Iterable[MetricRow]) -> None:
        """Append ``rows``; may raise OSError."""
        ...

    async def close(self) -> None:
        """Close the files."""
        ...


NewRowWriter: TypeAlias = Callable[[str, int, int], RowWriter]
"""(dump folder, id of the node, wall clock at its start in ms) -> the writer of a process."""


@dataclass(slots=True)
class _OpenFile:
    """The file of one table that is being written."""

    file: Any  # aiofiles' handle: its stubs differ per open mode
    size_bytes: int = 0


class MetricWriter:
    """Writes rows of any table of ``protocol.metrics.rows``; one per process, used by one task."""

    def __init__(
        self,
        dump_dir: str,
        node: int,
        now_ms: int,
        origin: RowOrigin = RowOrigin(),  # noqa: B008 - frozen
        rotate_bytes: int = ROTATE_BYTES,
    ) -> None:
        """Remember where to write; nothing is created before the first row.

        Args:
            dump_dir: the folder that all nodes of a cluster share.
            node: id of the broker or controller.
            now_ms: wall clock at start, part of the file names.
            origin: what every line begins with.
            rotate_bytes: a file that has reached this size is closed and the next one begun.
        """
        self._dump_dir = Path(dump_dir)
        self._node = node
        self._start_ms = now_ms
        self._line_begins = line_begins(origin)
        self._rotate_bytes = rotate_bytes
        self._open: dict[str, _OpenFile] = {}
        self._count: dict[str, int] = {}

    async def write(self, rows: Iterable[MetricRow]) -> None:
        """Append ``rows`` in order, one write per table.

        Raises:
            KeyError: a row of a class that is no metric table.
            OSError: the dump folder cannot be written.
        """
        by_table: dict[str, list[bytes]] = {}
        for row in rows:
            line = record_value(self._line_begins, row)
            by_table.setdefault(TABLE_OF_ROW[type(row)], []).append(line)
        for table, lines in by_table.items():
            await self._append(table, b"\n".join(lines) + b"\n")

    async def close(self) -> None:
        """Close every file; a later ``write`` begins new ones."""
        for table in list(self._open):
            await self._close(table)

    async def _append(self, table: str, block: bytes) -> None:
        target = self._open.get(table) or await self._begin(table)
        await target.file.write(block)
        await target.file.flush()
        target.size_bytes += len(block)
        if target.size_bytes >= self._rotate_bytes:
            await self._close(table)

    async def _begin(self, table: str) -> _OpenFile:
        folder = self._dump_dir / table / f"v{TABLE_VERSION}" / f"broker={self._node}"
        await aiofiles.os.makedirs(folder, exist_ok=True)
        number = self._count.get(table, 0)
        self._count[table] = number + 1
        file = await _opened(folder / f"{self._start_ms}-{number}.jsonl")
        self._open[table] = opened = _OpenFile(file)
        return opened

    async def _close(self, table: str) -> None:
        await self._open.pop(table).file.close()


def line_begins(origin: RowOrigin) -> bytes:
    """Return what stands before the columns of a row: its line is this and the row without "{"."""
    return msgspec.json.encode(origin)[:-1] + b","


async def _opened(path: Path) -> Any:
    """Open a file in its thread; a caller that is cancelled meanwhile leaves none open."""
    opening = asyncio.get_running_loop().create_task(_open_to_append(path))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await (await opening).close()
        raise


async def _open_to_append(path: Path) -> Any:
    return await aiofiles.open(path, "ab")
