"""What one log dir keeps open: file handles and loaded indexes, within bounds.

It knows no formats. Only the log dir's thread uses it.
"""

from __future__ import annotations

import contextlib
import errno
from collections import OrderedDict
from typing import Protocol

from protocol.ports import Buffer, Disk, DiskFile


class Unloadable(Protocol):
    """Something held in memory that can be read from the disk again."""

    def unload(self) -> None:
        """Drop what was loaded."""
        ...


class LogDirFiles:
    """The open files of one log dir, bounded: thousands of partitions share the descriptors."""

    def __init__(
        self, disk: Disk, *, handles_max: int = 1024, loaded_bytes_max: int = 32 << 20
    ) -> None:
        self.disk = disk
        self._handles_max = handles_max
        self._handles: OrderedDict[str, DiskFile] = OrderedDict()
        self._loaded_bytes_max = loaded_bytes_max
        self._loaded_bytes = 0
        self._loaded: OrderedDict[Unloadable, int] = OrderedDict()
        self._unsynced: dict[str, None] = {}

    @property
    def open_count(self) -> int:
        """How many handles are open."""
        return len(self._handles)

    @property
    def unsynced_count(self) -> int:
        """How many replaced files wait for their sync."""
        return len(self._unsynced)

    def handle(self, name: str, *, create: bool = False) -> DiskFile:
        """Return the open file ``name``, opening it when it is not.

        Another may be closed for it.
        """
        handle = self._handles.get(name)
        if handle is not None:
            self._handles.move_to_end(name)
            return handle
        handle = self._open(name, create=create)
        self._handles[name] = handle
        if len(self._handles) > self._handles_max:
            self._handles.popitem(last=False)[1].close()
        return handle

    def _open(self, name: str, *, create: bool) -> DiskFile:
        """Open a file; the process being out of descriptors is no fault of the disk."""
        try:
            return self.disk.open(name, create=create)
        except OSError as exc:
            if exc.errno not in {errno.EMFILE, errno.ENFILE} or not self._handles:
                raise
        for _ in range((len(self._handles) + 1) // 2):
            self._handles.popitem(last=False)[1].close()
        return self.disk.open(name, create=create)

    def close(self, name: str) -> None:
        """Close the handle of ``name`` if it is open."""
        handle = self._handles.pop(name, None)
        if handle is not None:
            handle.close()

    def close_below(self, dir_name: str) -> None:
        """Close every handle below a directory and forget what was to be synced there."""
        prefix = dir_name + "/"
        for name in [name for name in self._handles if name.startswith(prefix)]:
            self.close(name)
        for name in [name for name in self._unsynced if name.startswith(prefix)]:
            del self._unsynced[name]

    def close_all(self) -> None:
        """Close every handle: the log dir failed. Never fails; may hang."""
        while self._handles:
            with contextlib.suppress(OSError):
                self._handles.popitem()[1].close()

    def replace(self, name: str, data: Buffer) -> None:
        """Replace a small file at once and sync it with the next ``sync_replaced``.

        Whole after a crash of the process; a power cut before the sync may lose it. Source:
        KAFKA-16541.
        """
        self.disk.replace_file(name, data)
        self._unsynced[name] = None

    def forget(self, name: str) -> None:
        """Close ``name`` and do not sync it: it is about to be removed."""
        self.close(name)
        self._unsynced.pop(name, None)

    def sync_replaced(self, dir_name: str | None = None, *, count_max: int = 1 << 20) -> int:
        """Sync up to ``count_max`` replaced files, of one directory or of all.

        Return how many are left.
        """
        prefix = "" if dir_name is None else dir_name + "/"
        names = [name for name in self._unsynced if name.startswith(prefix)]
        for name in names[:count_max]:
            self.disk.sync_file(name)
            del self._unsynced[name]
        return len(names[count_max:])

    def sync_all(self) -> None:
        """Make everything durable, of however many files."""
        self.disk.sync_all()
        self._unsynced.clear()

    def loaded(self, owner: Unloadable, size_bytes: int) -> None:
        """Note that ``owner`` holds ``size_bytes``.

        The longest unused owners unload beyond the bound.
        """
        self._loaded_bytes += size_bytes - self._loaded.pop(owner, 0)
        self._loaded[owner] = size_bytes
        while self._loaded_bytes > self._loaded_bytes_max and len(self._loaded) > 1:
            oldest, oldest_bytes = self._loaded.popitem(last=False)
            self._loaded_bytes -= oldest_bytes
            oldest.unload()

    def unloaded(self, owner: Unloadable) -> None:
        """Note that ``owner`` holds nothing any more."""
        self._loaded_bytes -= self._loaded.pop(owner, 0)
