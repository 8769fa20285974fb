"""MemoryDisk: a disk in memory that knows what a power cut would leave. Nothing blocks.

Content is durable after a sync of the file, a name after a sync of its directory: what POSIX
promises and not more.
"""

from __future__ import annotations

import copy
import errno
import os
import random
from collections.abc import Callable, Iterator, Sequence

from broker.storage.memory_tree import (
    MemoryDir,
    MemoryFile,
    MemoryNode,
    files_below,
    left_by_power_cut,
    lose_unsynced_below,
    sync_below,
)
from protocol.ports import Buffer, DiskFile, DiskUsage

_TOTAL_BYTES = 1 << 40


class MemoryDisk:
    """One log dir without a file system. Implements ``Disk``."""

    def __init__(self, root: str = "/memory", capacity_bytes: int = _TOTAL_BYTES) -> None:
        self._root = root
        self._capacity_bytes = capacity_bytes
        self._tree = MemoryDir()
        self._locked = False
        self._detached = False
        self.operations_count = 0
        self.clock_ms = 0
        """The time that files get when they are written."""
        self.is_edited = False
        """Whether somebody has changed files behind the back of who uses the disk."""
        self.before_change: Callable[[str, str], None] | None = None
        """Called with operation and name before everything that a crash could come before."""

    @property
    def root(self) -> str:
        """A name for messages."""
        return self._root

    def for_second_thread(self) -> MemoryDisk:
        """Return itself: nothing blocks here, so one count of operations does."""
        return self

    def power_cut(self, chance: random.Random | None = None) -> None:
        """Lose all that is not durable; with ``chance`` a drawn part of it stays."""
        self._tree = left_by_power_cut(self._tree, chance)
        self._locked = False

    def drop_lock(self) -> None:
        self._locked = False

    def copy(self) -> MemoryDisk:
        """Return another disk with the same state: what is durable here is durable there."""
        made = MemoryDisk(self._root, self._capacity_bytes)
        made._tree = copy.deepcopy(self._tree)
        made._locked = self._locked
        made.clock_ms = self.clock_ms
        made.is_edited = self.is_edited
        return made

    def kill(self) -> None:
        """End the process that had the disk: what it wrote stays, its lock goes."""
        self._locked = False

    def detach(self) -> None:
        """Let the root be another directory from now on; open files go on working."""
        self._detached = True

    def prepare(self) -> None:
        self.check_root()

    def check_root(self) -> None:
        if self._detached:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), self._root)

    def open(self, name: str, *, create: bool) -> DiskFile:
        parent, base = self._parent(name)
        node = parent.children.get(base)
        if node is None and create:
            self.changes("create", name)
            node = MemoryFile(modified_ms=self.clock_ms)
            parent.change({base: node})
        return _OpenFile(self, self._as_file(node, name), name)

    def read_file(self, name: str) -> bytes:
        return bytes(self._as_file(self._find(name), name).data)

    def write_file(self, name: str, data: Buffer) -> None:
        self.reserve(len(data))
        parent, base = self._parent(name)
        node = parent.children.get(base) or MemoryFile()
        file = self._as_file(node, name)
        self.changes("write", name)
        if base not in parent.children:
            parent.change({base: file})
        file.data, file.modified_ms = bytearray(data), self.clock_ms

    def replace_file(self, name: str, data: Buffer) -> None:
        self.remove_tree(name + ".tmp")
        self.write_file(name + ".tmp", data)
        self.rename(name + ".tmp", name)

    def write_atomic(self, name: str, data: Buffer) -> None:
        self.remove_tree(name + ".tmp")
        self.write_file(name + ".tmp", data)
        self.sync_file(name + ".tmp")
        self.rename(name + ".tmp", name)
        self.sync_dir(name.rpartition("/")[0])

    def make_dir(self, name: str) -> None:
        parent, base = self._parent(name)
        if base in parent.children:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        self.changes("make dir", name)
        parent.change({base: MemoryDir()})

    def rename(self, old: str, new: str) -> None:
        old_parent, old_base = self._parent(old)
        node = self._find(old)
        if node is None:
            raise _missing(old)
        new_parent, new_base = self._parent(new)
        there = new_parent.children.get(new_base)
        if isinstance(there, MemoryDir) and there.children:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), new)
        self.changes("rename", old)
        if old_parent is new_parent:
            old_parent.change({old_base: None, new_base: node})
            return
        old_parent.change({old_base: None})
        new_parent.change({new_base: node})

    def remove(self, name: str) -> None:
        self._as_file(self._find(name), name)
        self.changes("remove", name)
        parent, base = self._parent(name)
        parent.change({base: None})

    def remove_tree(self, name: str) -> None:
        parent, base = self._parent(name)
        if base in parent.children:
            self.changes("remove", name)
            parent.change({base: None})

    def list_dir(self, name: str) -> list[str]:
        return sorted(self._as_dir(self._find(name), name).children)

    def names_below(self, name: str = "") -> Iterator[str]:
        """Give every name below a directory, directories before what is in them."""
        for base in self.list_dir(name):
            path = f"{name}/{base}" if name else base
            yield path
            if self.is_dir(path):
                yield from self.names_below(path)

    def exists(self, name: str) -> bool:
        return self._find(name) is not None

    def is_dir(self, name: str) -> bool:
        return isinstance(self._find(name), MemoryDir)

    def size(self, name: str) -> int:
        return len(self._as_file(self._find(name), name).data)

    def modified_ms(self, name: str) -> int:
        return self._as_file(self._find(name), name).modified_ms

    def sync_file(self, name: str) -> None:
        node = self._as_file(self._find(name), name)
        self.changes("sync", name)
        node.sync()

    def sync_dir(self, name: str) -> None:
        node = self._as_dir(self._find(name), name)
        self.changes("sync dir", name)
        node.sync()

    def sync_all(self) -> None:
        self.changes("sync all", "")
        sync_below(self._tree)

    def lose_unsynced(self, name: str) -> None:
        node = self._find(name)
        if node is None:
            raise _missing(name)
        node.lose_unsynced()

    def lose_all_unsynced(self) -> None:
        lose_unsynced_below(self._tree)

    def lose_entry(self, name: str) -> None:
        parent, base = self._parent(name)
        parent.lose(base)

    def usage(self) -> DiskUsage:
        used_bytes = sum(len(file.data) for file in files_below(self._tree))
        return DiskUsage(self._capacity_bytes, max(0, self._capacity_bytes - used_bytes))

    def lock(self) -> None:
        if self._locked:
            raise BlockingIOError(errno.EAGAIN, "locked", self._root)
        self._locked = True

    def unlock(self) -> None:
        self._locked = False

    def reserve(self, size_bytes: int) -> None:
        """Refuse bytes beyond the capacity with ENOSPC."""
        if self._capacity_bytes < _TOTAL_BYTES and size_bytes > self.usage().usable_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._root)

    def changes(self, operation: str, name: str) -> None:
        """Note that something is about to change, or to become durable."""
        if self.before_change is not None:
            self.before_change(operation, name)

    def _find(self, name: str) -> MemoryNode | None:
        self.operations_count += 1
        node: MemoryNode | None = self._tree
        for part in name.split("/") if name else ():
            if not isinstance(node, MemoryDir):
                return None
            node = node.children.get(part)
        return node

    def _parent(self, name: str) -> tuple[MemoryDir, str]:
        self_dir, _, base = name.rpartition("/")
        return self._as_dir(self._find(self_dir), self_dir), base

    def _as_file(self, node: MemoryNode | None, name: str) -> MemoryFile:
        if node is None:
            raise _missing(name)
        if isinstance(node, MemoryDir):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        return node

    def _as_dir(self, node: MemoryNode | None, name: str) -> MemoryDir:
        if node is None:
            raise _missing(name)
        if isinstance(node, MemoryFile):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        return node


class _OpenFile:
    """An open file of a MemoryDisk; it lives on when its name goes."""

    __slots__ = ("_disk", "_file", "_name")

    def __init__(self, disk: MemoryDisk, file: MemoryFile, name: str) -> None:
        self._disk = disk
        self._file = file
        self._name = name

    def append(self, buffers: Sequence[Buffer]) -> int:
        self._disk.operations_count += 1
        self._disk.reserve(sum(map(len, buffers)))
        self._disk.changes("append", self._name)
        self._file.append(buffers, self._disk.clock_ms)
        return len(self._file.data)

    def read(self, position: int, size_bytes: int) -> bytes:
        self._disk.operations_count += 1
        return bytes(self._file.data[position : position + size_bytes])

    def forget(self, position: int) -> None:
        """Do nothing: there is no cache before this memory."""

    def size(self) -> int:
        return len(self._file.data)

    def truncate(self, size_bytes: int) -> None:
        self._disk.changes("truncate", self._name)
        del self._file.data[size_bytes:]

    def sync(self) -> None:
        self._disk.changes("sync", self._name)
        self._file.sync()

    def close(self) -> None:
        """Do nothing: it has no descriptor."""


def _missing(name: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
