"""FileDisk: one log dir on a real file system, by plain system calls.

It knows nothing of logs, threads or faults.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Final

from broker.storage.descriptors import DirectWriter, read_all, write_all
from broker.storage.layout import is_left_alone
from broker.storage.moved_aside import move_aside_within
from protocol.ports import Buffer, DiskFile, DiskUsage

LOCK_FILE: Final = ".lock"


class _UsedBytes:
    """What a disk of limited capacity holds, counted by all its threads."""

    def __init__(self) -> None:
        self.count = 0
        self._counting = threading.Lock()

    def change(self, size_bytes: int, capacity_bytes: int) -> bool:
        """Add, or take off; False without doing it when the sum would pass the capacity."""
        with self._counting:
            is_possible = size_bytes <= 0 or self.count + size_bytes <= capacity_bytes
            self.count += is_possible * size_bytes
        return is_possible


class FileDisk:
    """A directory tree below ``root``. Implements ``Disk``.

    Every method may raise OSError and nothing else.

    With ``capacity_bytes`` the disk reports that size and answers ENOSPC beyond it, whatever the
    file system holds.
    """

    def __init__(
        self, root: str, capacity_bytes: int | None = None, *, set_aside: str | None = None
    ) -> None:
        """Nothing is touched before ``prepare``.

        Args:
            root: the directory.
            capacity_bytes: see the class.
            set_aside: begin empty; what is there is renamed to ``<root>.replaced-<set_aside>``, or,
                where the root cannot be renamed, moved into a folder within it. 32 hex digits.
        """
        self._root = os.path.abspath(root)
        self._capacity_bytes = capacity_bytes
        self._used = _UsedBytes()
        self._set_aside = set_aside
        self._identity: tuple[int, int] | None = None
        self._lock_descriptor: int | None = None
        self.operations_count = 0
        self.write = write_all
        """Writes buffers to a descriptor from a position on."""

    @property
    def root(self) -> str:
        """The absolute path, for messages."""
        return self._root

    def for_second_thread(self) -> FileDisk:
        """Return one where what is large goes past the page cache."""
        other = copy(self)
        other.operations_count = 0
        other.write = DirectWriter().write
        return other

    def prepare(self) -> None:
        """Source: LogManager.scala createAndValidateLogDirs."""
        if "\0" in self._root:
            raise OSError(errno.EINVAL, "the path holds a NUL byte", self._root)
        if self._set_aside is not None and _holds_data(self._root):
            self._move_aside(self._set_aside)
        if not os.path.lexists(self._root):
            os.makedirs(self._root)
            _sync_path(os.path.dirname(self._root))
        os.listdir(self._root)
        status = os.stat(self._root)
        self._identity = (status.st_dev, status.st_ino)
        if self._capacity_bytes is not None:
            self._used.count = sum(_sizes_below(self._root))

    def _move_aside(self, unique: str) -> None:
        """Keep what is there on its file system: a link to a directory stays a link."""
        place = os.path.realpath(self._root) if os.path.isdir(self._root) else self._root
        try:
            os.rename(place, f"{place}.replaced-{unique}")
        except OSError:
            # A mount point, or no right to change the directory that it lies in.
            if not os.path.isdir(place):
                raise
            move_aside_within(self, unique)
        else:
            os.mkdir(place)
            _sync_path(os.path.dirname(place))

    def check_root(self) -> None:
        """Fail unless the path leads to the same inode as at the start."""
        assert self._identity is not None, "prepare() comes first"
        status = os.stat(self._root)
        if (status.st_dev, status.st_ino) != self._identity:
            raise OSError(errno.ESTALE, "another directory or file took its place", self._root)

    def open(self, name: str, *, create: bool) -> DiskFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        descriptor = os.open(self._path(name), flags, 0o644)
        return FileDiskFile(self, descriptor, os.fstat(descriptor).st_size)

    def read_file(self, name: str) -> bytes:
        descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        try:
            return read_all(descriptor, 0, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)

    def write_file(self, name: str, data: Buffer) -> None:
        self._write(name, data, durable=False)

    def replace_file(self, name: str, data: Buffer) -> None:
        self._write(name + ".tmp", data, durable=False)
        self.rename(name + ".tmp", name)

    def write_atomic(self, name: str, data: Buffer) -> None:
        self._write(name + ".tmp", data, durable=True)
        self.rename(name + ".tmp", name)
        self.sync_dir(os.path.dirname(name))

    def make_dir(self, name: str) -> None:
        os.mkdir(self._path(name))

    def rename(self, old: str, new: str) -> None:
        if self._capacity_bytes is not None and os.path.isfile(f"{self._root}/{new}"):
            self.release(self.size(new))
        os.rename(self._path(old), self._path(new))

    def remove(self, name: str) -> None:
        self.release(self._size_or_zero(name))
        os.remove(self._path(name))

    def remove_tree(self, name: str) -> None:
        path = self._path(name)
        if self._capacity_bytes is not None:
            self.release(sum(_sizes_below(path)))
        _remove_tree(path)

    def list_dir(self, name: str) -> list[str]:
        return sorted(os.listdir(self._path(name)))

    def exists(self, name: str) -> bool:
        try:
            os.stat(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def is_dir(self, name: str) -> bool:
        return os.path.isdir(self._path(name))

    def size(self, name: str) -> int:
        return os.stat(self._path(name)).st_size

    def modified_ms(self, name: str) -> int:
        return os.stat(self._path(name)).st_mtime_ns // 1_000_000

    def sync_file(self, name: str) -> None:
        _sync_path(self._path(name))

    def sync_dir(self, name: str) -> None:
        _sync_path(self._path(name))

    def sync_all(self) -> None:
        """Call syncfs, which waits for this file system alone."""
        descriptor = os.open(self._root, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _sync_file_system(descriptor)
        finally:
            os.close(descriptor)

    def usage(self) -> DiskUsage:
        status = os.statvfs(self._root)
        usable_bytes = status.f_bavail * status.f_frsize
        if self._capacity_bytes is None:
            return DiskUsage(status.f_blocks * status.f_frsize, usable_bytes)
        free_bytes = max(0, self._capacity_bytes - self._used.count)
        return DiskUsage(self._capacity_bytes, min(usable_bytes, free_bytes))

    def lock(self) -> None:
        """Take a flock, which this process is refused too, and a record lock, as Kafka does."""
        path = self._path(LOCK_FILE)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            os.close(descriptor)
            if exc.errno in {errno.EACCES, errno.EAGAIN}:
                raise BlockingIOError(errno.EAGAIN, "locked by another process", path) from exc
            raise
        self._lock_descriptor = descriptor

    def unlock(self) -> None:
        """Remove the file, too. Source: KAFKA-16391."""
        if self._lock_descriptor is None:
            return
        descriptor, self._lock_descriptor = self._lock_descriptor, None
        try:
            os.remove(self._path(LOCK_FILE))
        finally:
            os.close(descriptor)

    def drop_lock(self) -> None:
        descriptor, self._lock_descriptor = self._lock_descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def reserve(self, size_bytes: int) -> None:
        """Count bytes about to be written; ENOSPC when they pass the capacity."""
        if self._capacity_bytes is None:
            return
        if not self._used.change(size_bytes, self._capacity_bytes):
            reason = f"capacity of {self._capacity_bytes} bytes is used up"
            raise OSError(errno.ENOSPC, reason, self._root)

    def release(self, size_bytes: int) -> None:
        """Count bytes that were freed."""
        if self._capacity_bytes is not None:
            self._used.change(-size_bytes, self._capacity_bytes)

    def _path(self, name: str) -> str:
        self.operations_count += 1
        return f"{self._root}/{name}" if name else self._root

    def _size_or_zero(self, name: str) -> int:
        if self._capacity_bytes is None or not self.exists(name):
            return 0
        return self.size(name)

    def _write(self, name: str, data: Buffer, *, durable: bool) -> None:
        self.reserve(len(data) - self._size_or_zero(name))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        descriptor = os.open(self._path(name), flags, 0o644)
        try:
            write_all(descriptor, [data], 0)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


class FileDiskFile:
    """An open file of a FileDisk. Implements ``DiskFile``.

    The end is counted here, so that a torn append is overwritten by the next.
    """

    __slots__ = ("_descriptor", "_disk", "_size_bytes")

    def __init__(self, disk: FileDisk, descriptor: int, size_bytes: int) -> None:
        self._disk = disk
        self._descriptor = descriptor
        self._size_bytes = size_bytes

    def append(self, buffers: Sequence[Buffer]) -> int:
        total_bytes = sum(map(len, buffers))
        self._disk.operations_count += 1
        self._disk.reserve(total_bytes)
        self._disk.write(self._descriptor, buffers, self._size_bytes)
        self._size_bytes += total_bytes
        return self._size_bytes

    def read(self, position: int, size_bytes: int) -> bytes:
        self._disk.operations_count += 1
        return read_all(self._descriptor, position, size_bytes)

    def forget(self, position: int) -> None:
        """Drop it from the page cache, on systems that can."""
        if hasattr(os, "posix_fadvise"):
            start = position - position % mmap.PAGESIZE
            os.posix_fadvise(self._descriptor, start, 0, os.POSIX_FADV_DONTNEED)

    def size(self) -> int:
        return self._size_bytes

    def truncate(self, size_bytes: int) -> None:
        self._disk.operations_count += 1
        os.ftruncate(self._descriptor, size_bytes)
        self._disk.release(self._size_bytes - size_bytes)
        self._size_bytes = size_bytes

    def sync(self) -> None:
        """Call fdatasync, which also makes the size durable."""
        self._disk.operations_count += 1
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def _holds_data(path: str) -> bool:
    """Tell whether something lies there that is not part of an empty file system."""
    if not os.path.isdir(path):
        return os.path.lexists(path)
    return not all(map(is_left_alone, os.listdir(path)))


def _sync_path(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_file_system(descriptor: int) -> None:
    """Call syncfs where the C library has it; sync, which waits for every disk, elsewhere."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
    elif syncfs(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _sizes_below(path: str) -> Iterator[int]:
    try:
        entries = list(os.scandir(path))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _sizes_below(entry.path)
        else:
            yield entry.stat(follow_symlinks=False).st_size


def _remove_tree(path: str) -> None:
    try:
        entries = list(os.scandir(path))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            _remove_tree(entry.path)
        else:
            os.remove(entry.path)
    os.rmdir(path)
