"""What of a real disk's files was not synced since a fault was set that is to lose it.

A file system does not tell what is durable. So only that is lost which was certainly not: what was
written since the fault began and not synced since then. It touches no disk.
"""

from __future__ import annotations


class UnsyncedBytes:
    """Up to where each file is durable, for files that were written meanwhile."""

    def __init__(self) -> None:
        self._durable_bytes: dict[str, int] = {}

    def on_append(self, name: str, size_bytes: int) -> None:
        """Note an append to a file that had ``size_bytes`` before it."""
        self._durable_bytes.setdefault(name, size_bytes)

    def on_write(self, name: str) -> None:
        """Note that a file was written as a whole."""
        self._durable_bytes[name] = 0

    def on_truncate(self, name: str, size_bytes: int) -> None:
        """Note that a file was cut."""
        durable_bytes = self._durable_bytes.get(name, size_bytes)
        self._durable_bytes[name] = min(durable_bytes, size_bytes)

    def on_sync(self, name: str) -> None:
        """Note that a file is durable."""
        self._durable_bytes.pop(name, None)

    def on_sync_all(self) -> None:
        """Note that every file is."""
        self._durable_bytes.clear()

    def on_rename(self, old: str, new: str) -> None:
        """Note that a file or a directory has another name."""
        prefix = old + "/"
        self._durable_bytes = {
            new + name[len(old) :] if name == old or name.startswith(prefix) else name: size
            for name, size in self._durable_bytes.items()
        }

    def take(self, name: str) -> int | None:
        """Return the size that is left when ``name`` loses what is not durable; None: all of it."""
        return self._durable_bytes.pop(name, None)

    def take_all(self) -> dict[str, int]:
        """Return the sizes that are left of all files."""
        lost, self._durable_bytes = self._durable_bytes, {}
        return lost
