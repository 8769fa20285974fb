"""SimDisk: a MemoryDisk that takes virtual time and leaves a trace.

It outlives the processes that use it. Faults are laid over it, by ``FaultyDisk``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import Operation
from protocol.ports import Buffer, DiskFile, DiskUsage
from simulation.world.disk_speed import DiskSpeed


class SimDisk:
    """One disk of one node. Implements ``Disk``, ``LosesPages`` and ``LosesEntries``."""

    def __init__(
        self,
        memory: MemoryDisk,
        *,
        chance: Random,
        speed: Callable[[], DiskSpeed],
        note: Callable[[str, Sequence[Buffer]], None],
        now_ms: Callable[[], int],
    ) -> None:
        """Put time and trace around ``memory``.

        Args:
            memory: what is on the disk.
            chance: draws how long operations take.
            speed: tells how fast it is now.
            note: told every operation that changes something, with its content.
            now_ms: the time that files get.
        """
        self.memory = memory
        self.spent_us = 0.0
        """How long all operations took so far."""
        self.on_prepare: Callable[[], None] = _nothing
        """Called before a process begins to use the disk."""
        self.before_operation: Callable[[Operation], None] = _ignore
        """Called before every operation, or in its middle when it is a read."""
        self._chance = chance
        self._speed = speed
        self._note = note
        self._now_ms = now_ms

    @property
    def root(self) -> str:
        return self.memory.root

    def for_second_thread(self) -> SimDisk:
        """Return itself: no thread hangs while another works, so one count of operations does."""
        return self

    @property
    def operations_count(self) -> int:
        return self.memory.operations_count

    def prepare(self) -> None:
        self.on_prepare()
        self._spend(Operation.LOOK)
        self.memory.prepare()

    def check_root(self) -> None:
        self._spend(Operation.LOOK)
        self.memory.check_root()

    def open(self, name: str, *, create: bool) -> DiskFile:
        self._spend(Operation.OPEN)
        return _SimFile(self, self.memory.open(name, create=create), name)

    def read_file(self, name: str) -> bytes:
        data = self.memory.read_file(name)
        self._spend(Operation.READ, len(data))
        return data

    def write_file(self, name: str, data: Buffer) -> None:
        self.change(Operation.WRITE, name, (data,))
        self.memory.write_file(name, data)

    def replace_file(self, name: str, data: Buffer) -> None:
        self.change(Operation.WRITE, name, (data,))
        self.memory.replace_file(name, data)

    def write_atomic(self, name: str, data: Buffer) -> None:
        self.change(Operation.WRITE, name, (data,))
        self._spend(Operation.SYNC)
        self._spend(Operation.SYNC)
        self.memory.write_atomic(name, data)

    def make_dir(self, name: str) -> None:
        self.change(Operation.MAKE_DIR, name)
        self.memory.make_dir(name)

    def rename(self, old: str, new: str) -> None:
        self.change(Operation.RENAME, f"{old} to {new}")
        self.memory.rename(old, new)

    def remove(self, name: str) -> None:
        self.change(Operation.REMOVE, name)
        self.memory.remove(name)

    def remove_tree(self, name: str) -> None:
        self.change(Operation.REMOVE, name)
        self.memory.remove_tree(name)

    def list_dir(self, name: str) -> list[str]:
        self._spend(Operation.LOOK)
        return self.memory.list_dir(name)

    def exists(self, name: str) -> bool:
        self._spend(Operation.LOOK)
        return self.memory.exists(name)

    def is_dir(self, name: str) -> bool:
        self._spend(Operation.LOOK)
        return self.memory.is_dir(name)

    def size(self, name: str) -> int:
        self._spend(Operation.LOOK)
        return self.memory.size(name)

    def modified_ms(self, name: str) -> int:
        self._spend(Operation.LOOK)
        return self.memory.modified_ms(name)

    def sync_file(self, name: str) -> None:
        self.change(Operation.SYNC, name)
        self.memory.sync_file(name)

    def sync_dir(self, name: str) -> None:
        self.change(Operation.SYNC, name)
        self.memory.sync_dir(name)

    def sync_all(self) -> None:
        self.change(Operation.SYNC, "everything")
        self.memory.sync_all()

    def usage(self) -> DiskUsage:
        self._spend(Operation.LOOK)
        return self.memory.usage()

    def lock(self) -> None:
        self.change(Operation.LOCK, "lock")
        self.memory.lock()

    def unlock(self) -> None:
        self.change(Operation.LOCK, "unlock")
        self.memory.unlock()

    def drop_lock(self) -> None:
        self.memory.drop_lock()

    def lose_unsynced(self, name: str) -> None:
        self._note(f"lose unsynced {self.root}/{name}", ())
        self.memory.lose_unsynced(name)

    def lose_all_unsynced(self) -> None:
        self._note(f"lose unsynced {self.root}", ())
        self.memory.lose_all_unsynced()

    def lose_entry(self, name: str) -> None:
        self._note(f"lose entry {self.root}/{name}", ())
        self.memory.lose_entry(name)

    def read(self, size_bytes: int) -> None:
        """Take the time of a read from an open file."""
        self._spend(Operation.READ, size_bytes)

    def change(self, operation: Operation, what: str, content: Sequence[Buffer] = ()) -> None:
        """Take the time of an operation that changes something, and leave a trace of it."""
        self._spend(operation, sum(map(len, content)))
        self.memory.clock_ms = self._now_ms()
        self._note(f"{operation.value} {self.root}/{what}", content)

    def _spend(self, operation: Operation, size_bytes: int = 0) -> None:
        self.before_operation(operation)
        self.spent_us += self._speed().cost_us(operation, size_bytes, self._chance)


class _SimFile:
    """An open file of a SimDisk."""

    __slots__ = ("_disk", "_inner", "_name")

    def __init__(self, disk: SimDisk, inner: DiskFile, name: str) -> None:
        self._disk = disk
        self._inner = inner
        self._name = name

    def append(self, buffers: Sequence[Buffer]) -> int:
        self._disk.change(Operation.APPEND, self._name, buffers)
        return self._inner.append(buffers)

    def read(self, position: int, size_bytes: int) -> bytes:
        data = self._inner.read(position, size_bytes)
        self._disk.read(len(data))
        return data

    def forget(self, position: int) -> None:
        self._inner.forget(position)

    def size(self) -> int:
        return self._inner.size()

    def truncate(self, size_bytes: int) -> None:
        self._disk.change(Operation.TRUNCATE, f"{self._name} to {size_bytes}")
        self._inner.truncate(size_bytes)

    def sync(self) -> None:
        self._disk.change(Operation.SYNC, self._name)
        self._inner.sync()

    def close(self) -> None:
        self._inner.close()


def _nothing() -> None:
    return None


def _ignore(_operation: Operation) -> None:
    return None
