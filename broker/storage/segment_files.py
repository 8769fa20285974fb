"""The files of a log's segments by name: what a log dir's thread opens, replaces, renames, removes.

It knows no formats and no offsets but those in names. A suffix behind a segment's file names says
that they are no part of the log: on their way in (`.cleaned`, `.swap`) or out (`.deleted`).

Source: LogFileUtils.java, LogSegment.changeFileSuffixes.
"""

from __future__ import annotations

from typing import Final

from broker.storage.files import LogDirFiles
from broker.storage.layout import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file_name,
)
from protocol.ports import Buffer, DiskFile

INDEX_SUFFIXES: Final = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX)
ALL_SUFFIXES: Final = (LOG_SUFFIX, *INDEX_SUFFIXES, TRANSACTION_INDEX_SUFFIX)


class PartitionFiles:
    """Where the files of one log are.

    Renaming the log changes ``name`` for all its segments, handing it over their ``files``.
    """

    __slots__ = ("files", "name")

    def __init__(self, files: LogDirFiles, name: str) -> None:
        self.files = files
        self.name = name

    def rename(self, name: str) -> None:
        """Give the directory another name, durably. An existing one is an OSError."""
        self.files.sync_replaced(self.name)
        self.files.close_below(self.name)
        self.files.disk.rename(self.name, name)
        self.files.disk.sync_dir("")
        self.name = name

    def hand_over(self, files: LogDirFiles) -> None:
        """Go on with the open files of another thread; small files are synced before."""
        if files is not self.files:
            self.files.sync_replaced(self.name)
            self.files.close_below(self.name)
            self.files = files

    def path(self, file_name: str) -> str:
        """Return the disk's name of one file of the log."""
        return f"{self.name}/{file_name}"

    def replace(self, file_name: str, data: bytes) -> None:
        """Replace one small file of the log, durable with the next sync."""
        self.files.replace(self.path(file_name), data)

    def of_segment(self, base_offset: int, suffix: str) -> str:
        """Return the disk's name of one file of a segment."""
        return f"{self.name}/{segment_file_name(base_offset, suffix)}"


class SegmentFiles:
    """The files of one segment: `.log`, `.index`, `.timeindex` and, where needed, `.txnindex`."""

    __slots__ = ("_base_offset", "_has_transactions", "directory", "suffix")

    def __init__(self, directory: PartitionFiles, base_offset: int, suffix: str = "") -> None:
        self.directory = directory
        self.suffix = suffix
        """Behind all names; empty for a segment that is part of its log."""
        self._base_offset = base_offset
        self._has_transactions: bool | None = None
        """Whether there is a `.txnindex`, once it was asked for: committed readers ask often."""

    def name(self, kind: str) -> str:
        """Return the disk's present name of the file of ``kind``, such as `.log`."""
        return f"{self.directory.name}/{self._base_offset:020d}{kind}{self.suffix}"

    def log(self) -> DiskFile:
        """Return the open `.log` file, made when it is missing."""
        return self.directory.files.handle(self.name(LOG_SUFFIX), create=True)

    def exists(self, kind: str) -> bool:
        """Tell whether there is a file of ``kind``."""
        if kind != TRANSACTION_INDEX_SUFFIX:
            return self.directory.files.disk.exists(self.name(kind))
        if self._has_transactions is None:
            self._has_transactions = self.directory.files.disk.exists(self.name(kind))
        return self._has_transactions

    def read(self, kind: str) -> bytes:
        """Return the content of one file."""
        return self.directory.files.disk.read_file(self.name(kind))

    def bring_to(self, kind: str, data: Buffer, *, makes: bool, is_durable: bool = False) -> bool:
        """Have one file say ``data``; return whether there is one then.

        A missing file is made only if ``makes``, and never for nothing. What is right is not
        written again: to read is much cheaper, and it may be durable.

        Args:
            kind: the suffix of the file.
            data: all that it is to say.
            makes: whether it is made where it is missing.
            is_durable: what had to be written is durable on return.
        """
        try:
            is_right = self.read(kind) == data
        except FileNotFoundError:
            if not (makes and data):
                return False
            is_right = False
        if not is_right:
            self.replace(kind, data, is_durable=is_durable)
        return True

    def append(self, kind: str, data: Buffer) -> None:
        """Add to one file, made when it is missing, and close it."""
        self._made(kind)
        file = self.directory.files.disk.open(self.name(kind), create=True)
        try:
            file.append([data])
        finally:
            file.close()

    def replace(self, kind: str, data: Buffer, *, is_durable: bool = False) -> None:
        """Write one file anew."""
        self._made(kind)
        disk = self.directory.files.disk
        write = disk.write_atomic if is_durable else disk.replace_file
        write(self.name(kind), data)

    def sync_indexes(self) -> None:
        """Make the index files durable; offset and time index must exist."""
        disk = self.directory.files.disk
        for kind in INDEX_SUFFIXES:
            disk.sync_file(self.name(kind))
        if self.exists(TRANSACTION_INDEX_SUFFIX):
            disk.sync_file(self.name(TRANSACTION_INDEX_SUFFIX))

    def change_suffix(self, suffix: str) -> None:
        """Rename all files, the `.log` first; not durable before the directory is synced.

        Older files of the new names make room.
        """
        files, old = self.directory.files, [self.name(kind) for kind in ALL_SUFFIXES]
        self.suffix = suffix
        for name, new in zip(old, map(self.name, ALL_SUFFIXES), strict=True):
            files.close(name)
            files.close(new)
            if files.disk.exists(name):
                if files.disk.exists(new):
                    files.disk.remove(new)
                files.disk.rename(name, new)

    def delete(self) -> None:
        """Remove those that are there."""
        files = self.directory.files
        for name in map(self.name, ALL_SUFFIXES):
            files.close(name)
            if files.disk.exists(name):
                files.disk.remove(name)

    def _made(self, kind: str) -> None:
        if kind == TRANSACTION_INDEX_SUFFIX:
            self._has_transactions = True
