"""What is lost when a sync fails, and names that no sync makes durable.

A disk in memory knows what is durable of it. A real one does not tell: there only that is lost
which was certainly not durable, and names are not lost at all.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from broker.storage.unsynced_bytes import UnsyncedBytes
from protocol.faults.model import DiskMode
from protocol.ports import Disk, DiskFile


@runtime_checkable
class LosesPages(Protocol):
    """A disk that knows what of its content is durable."""

    def lose_unsynced(self, name: str) -> None:
        """Turn a file's content, or a directory's names, back to what was synced last."""
        ...

    def lose_all_unsynced(self) -> None:
        """Turn all files and directories back."""
        ...


@runtime_checkable
class LosesEntries(Protocol):
    """A disk that knows which of its names are durable."""

    def lose_entry(self, name: str) -> None:
        """Let a power cut undo what last happened to a name, whatever is synced till then.

        Another change of the same name is durable again, when synced.
        """
        ...


class EntryLoss:
    """Lost directory entries of one disk."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def check_possible(self, mode: DiskMode) -> None:
        """Do nothing when the disk can do what ``mode`` asks of it.

        Raises:
            ValueError: it is a real one, which refuses; the text says what can be done instead.
        """
        refusal = mode.row.refusal
        if refusal is not None and not isinstance(self._disk, LosesEntries):
            raise ValueError(f"mode {mode.value}: {refusal}; use it in the simulation")

    def lose(self, name: str) -> None:
        """Lose what last happened to ``name`` with the next power cut."""
        assert isinstance(self._disk, LosesEntries)
        self._disk.lose_entry(name)


class PageLoss:
    """What one disk loses when a sync of it fails."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._unsynced: UnsyncedBytes | None = None

    def watch(self) -> None:
        """Begin to note what is written, when the disk does not know it by itself."""
        if self._unsynced is None and not isinstance(self._disk, LosesPages):
            self._unsynced = UnsyncedBytes()

    def unwatch(self) -> None:
        """Note nothing any more."""
        self._unsynced = None

    def on_append(self, name: str, size_bytes: int) -> None:
        """Note an append to a file that had ``size_bytes`` before it."""
        if self._unsynced is not None:
            self._unsynced.on_append(name, size_bytes)

    def on_write(self, name: str) -> None:
        """Note that a file was written as a whole."""
        if self._unsynced is not None:
            self._unsynced.on_write(name)

    def on_truncate(self, name: str, size_bytes: int) -> None:
        """Note that a file was cut."""
        if self._unsynced is not None:
            self._unsynced.on_truncate(name, size_bytes)

    def on_rename(self, old: str, new: str) -> None:
        """Note that a file or a directory has another name."""
        if self._unsynced is not None:
            self._unsynced.on_rename(old, new)

    def on_sync(self, name: str) -> None:
        """Note that a file is durable."""
        if self._unsynced is not None:
            self._unsynced.on_sync(name)

    def on_sync_all(self) -> None:
        """Note that every file is."""
        if self._unsynced is not None:
            self._unsynced.on_sync_all()

    def lose(self, name: str, file: DiskFile | None = None) -> None:
        """Lose what of a file was not durable; ``file`` is its open handle, if there is one."""
        if isinstance(self._disk, LosesPages):
            self._disk.lose_unsynced(name)
        elif self._unsynced is not None:
            self._cut(name, self._unsynced.take(name), file)

    def lose_names(self, name: str) -> None:
        """Lose what of a directory's names was not durable; a real one keeps them."""
        if isinstance(self._disk, LosesPages):
            self._disk.lose_unsynced(name)

    def lose_all(self) -> None:
        """Lose all that was not durable."""
        if isinstance(self._disk, LosesPages):
            self._disk.lose_all_unsynced()
        elif self._unsynced is not None:
            for name, size_bytes in self._unsynced.take_all().items():
                if self._disk.exists(name):
                    self._cut(name, size_bytes, None)

    def _cut(self, name: str, size_bytes: int | None, file: DiskFile | None) -> None:
        if size_bytes is None:
            return
        if file is not None:
            file.truncate(size_bytes)
            return
        opened = self._disk.open(name, create=False)
        try:
            opened.truncate(size_bytes)
        finally:
            opened.close()
