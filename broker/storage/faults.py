"""FaultyDisk: any Disk, made to fail on command, in real processes as in the simulation.

It breaks; it repairs nothing. Every rule counts its hits: one that never fired tested nothing.
"""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from broker.storage.fault_rules import FaultRule
from protocol.fault_model import DiskMode, Operation
from protocol.ports import Buffer, Disk, DiskFile, DiskUsage


class FaultGate(Protocol):
    """How a hanging or slow operation waits."""

    def wait(self, timeout_ms: int | None) -> None:
        """Return when the gate is opened, or after ``timeout_ms``."""
        ...

    def open(self) -> None:
        """Let all that wait go on, and all that come."""
        ...


class ThreadGate:
    """Blocks the thread that waits; opened from another one."""

    __slots__ = ("_opened",)

    def __init__(self) -> None:
        self._opened = threading.Event()

    def wait(self, timeout_ms: int | None) -> None:
        """See ``FaultGate.wait``."""
        self._opened.wait(None if timeout_ms is None else timeout_ms / 1000)

    def open(self) -> None:
        """See ``FaultGate.open``."""
        self._opened.set()


class FaultyDisk:
    """A Disk in front of ``inner``.

    Faults are set and cleared from any thread and hold from the next operation on.
    """

    def __init__(
        self, inner: Disk, *, chance: random.Random, new_gate: Callable[[], FaultGate] = ThreadGate
    ) -> None:
        self._inner = inner
        self._chance = chance
        self._new_gate = new_gate
        self._gate = new_gate()
        self._rules: tuple[FaultRule, ...] = ()

    @property
    def root(self) -> str:
        """The path of the inner disk."""
        return self._inner.root

    @property
    def operations_count(self) -> int:
        """That of the inner disk: what hangs in a fault has not reached it."""
        return self._inner.operations_count

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """The rules in force, with their hits."""
        return self._rules

    @property
    def hits(self) -> int:
        """How many operations the rules in force have changed."""
        return sum(rule.hits for rule in self._rules)

    def set_fault(self, mode: DiskMode | str, **details: Any) -> FaultRule:
        """Put one rule in force instead of all others; ``details`` are further fields of FaultRule.

        Raises:
            ValueError: an unknown mode; TypeError: an unknown detail.
        """
        rule = FaultRule(mode=DiskMode(mode), **details)
        self.set_rules([rule])
        return rule

    def set_rules(self, rules: Iterable[FaultRule]) -> None:
        """Put these rules in force instead of all others; what hangs or waits goes on."""
        before, self._gate = self._gate, self._new_gate()
        self._rules = tuple(rules)
        before.open()

    def clear(self) -> None:
        """Take all rules out of force; what hangs or waits goes on."""
        self.set_rules(())

    def check(self, operation: Operation, name: str, size_bytes: int = 0) -> FaultRule | None:
        """Meet one operation; the rule is returned when it is the data that it changes.

        Raises:
            OSError: as the rule says.
        """
        for rule in self._rules:
            if rule.meets(operation, name) and self._draws(rule):
                changes_data = self._act(rule, name, size_bytes)
                if changes_data:
                    return rule
        return None

    def flip_bit(self, data: bytes) -> bytes:
        """Return ``data`` with one bit changed."""
        if not data:
            return data
        flipped = bytearray(data)
        bit = self._chance.randrange(len(data) * 8)
        flipped[bit // 8] ^= 1 << bit % 8
        return bytes(flipped)

    def tear(self, data: bytes) -> bytes:
        """Return a part of ``data`` from its start, not all."""
        return data[: self._chance.randrange(max(1, len(data)))]

    def prepare(self) -> None:
        """See ``Disk.prepare``."""
        self.check(Operation.LOOK, "")
        self._inner.prepare()

    def check_root(self) -> None:
        """See ``Disk.check_root``."""
        self.check(Operation.LOOK, "")
        self._inner.check_root()

    def open(self, name: str, *, create: bool) -> DiskFile:
        """See ``Disk.open``."""
        self.check(Operation.OPEN, name)
        return _FaultyFile(self, self._inner.open(name, create=create), name)

    def read_file(self, name: str) -> bytes:
        """See ``Disk.read_file``."""
        rule = self.check(Operation.READ, name)
        data = self._inner.read_file(name)
        return data if rule is None else self.flip_bit(data)

    def write_file(self, name: str, data: Buffer) -> None:
        """See ``Disk.write_file``."""
        self._check_write(name, name, data)
        self._inner.write_file(name, data)

    def replace_file(self, name: str, data: Buffer) -> None:
        """See ``Disk.replace_file``."""
        self._check_write(name, name + ".tmp", data)
        self._inner.replace_file(name, data)

    def write_atomic(self, name: str, data: Buffer) -> None:
        """See ``Disk.write_atomic``."""
        self._check_write(name, name + ".tmp", data)
        self._inner.write_atomic(name, data)

    def make_dir(self, name: str) -> None:
        """See ``Disk.make_dir``."""
        self.check(Operation.MAKE_DIR, name)
        self._inner.make_dir(name)

    def rename(self, old: str, new: str) -> None:
        """See ``Disk.rename``."""
        self.check(Operation.RENAME, old)
        self._inner.rename(old, new)

    def remove(self, name: str) -> None:
        """See ``Disk.remove``."""
        self.check(Operation.REMOVE, name)
        self._inner.remove(name)

    def remove_tree(self, name: str) -> None:
        """See ``Disk.remove_tree``."""
        self.check(Operation.REMOVE, name)
        self._inner.remove_tree(name)

    def list_dir(self, name: str) -> list[str]:
        """See ``Disk.list_dir``."""
        self.check(Operation.LOOK, name)
        return self._inner.list_dir(name)

    def exists(self, name: str) -> bool:
        """See ``Disk.exists``."""
        self.check(Operation.LOOK, name)
        return self._inner.exists(name)

    def is_dir(self, name: str) -> bool:
        """See ``Disk.is_dir``."""
        self.check(Operation.LOOK, name)
        return self._inner.is_dir(name)

    def size(self, name: str) -> int:
        """See ``Disk.size``."""
        self.check(Operation.LOOK, name)
        return self._inner.size(name)

    def modified_ms(self, name: str) -> int:
        """See ``Disk.modified_ms``."""
        self.check(Operation.LOOK, name)
        return self._inner.modified_ms(name)

    def sync_file(self, name: str) -> None:
        """See ``Disk.sync_file``."""
        self.check(Operation.SYNC, name)
        self._inner.sync_file(name)

    def sync_dir(self, name: str) -> None:
        """See ``Disk.sync_dir``."""
        self.check(Operation.SYNC, name)
        self._inner.sync_dir(name)

    def sync_all(self) -> None:
        """See ``Disk.sync_all``."""
        self.check(Operation.SYNC, "")
        self._inner.sync_all()

    def usage(self) -> DiskUsage:
        """See ``Disk.usage``."""
        self.check(Operation.LOOK, "")
        return self._inner.usage()

    def lock(self) -> None:
        """See ``Disk.lock``."""
        self.check(Operation.LOCK, "")
        self._inner.lock()

    def unlock(self) -> None:
        """See ``Disk.unlock``."""
        self.check(Operation.LOCK, "")
        self._inner.unlock()

    def drop_lock(self) -> None:
        """See ``Disk.drop_lock``; no fault keeps it."""
        self._inner.drop_lock()

    def _check_write(self, name: str, written_name: str, data: Buffer) -> None:
        if self.check(Operation.WRITE, name, len(data)) is not None:
            self._inner.write_file(written_name, self.tear(bytes(data)))
            raise _error(errno.EIO, name)

    def _draws(self, rule: FaultRule) -> bool:
        return rule.probability >= 1.0 or self._chance.random() < rule.probability

    def _act(self, rule: FaultRule, name: str, size_bytes: int) -> bool:
        """Do what the rule says; True when the caller has to change data."""
        if rule.mode is DiskMode.ENOSPC and size_bytes <= rule.capacity_bytes:
            rule.capacity_bytes -= size_bytes
            return False
        rule.hits += 1
        match rule.mode:
            case DiskMode.EIO:
                raise _error(errno.EIO, name)
            case DiskMode.ENOSPC:
                raise _error(errno.ENOSPC, name)
            case DiskMode.READ_ONLY:
                raise _error(errno.EROFS, name)
            case DiskMode.HANG:
                self._gate.wait(None)
            case DiskMode.SLOW:
                self._gate.wait(rule.delay_ms)
            case DiskMode.TORN_WRITE | DiskMode.BIT_FLIP:
                return True
            case _:
                raise _error(errno.ENOTSUP, name)
        return False


class _FaultyFile:
    """An open file of a FaultyDisk."""

    __slots__ = ("_disk", "_inner", "_name")

    def __init__(self, disk: FaultyDisk, inner: DiskFile, name: str) -> None:
        self._disk = disk
        self._inner = inner
        self._name = name

    def append(self, buffers: Sequence[Buffer]) -> int:
        """See ``DiskFile.append``."""
        if self._disk.rules:
            size_bytes = sum(map(len, buffers))
            if self._disk.check(Operation.APPEND, self._name, size_bytes) is not None:
                self._inner.append([self._disk.tear(b"".join(buffers))])
                raise _error(errno.EIO, self._name)
        return self._inner.append(buffers)

    def read(self, position: int, size_bytes: int) -> bytes:
        """See ``DiskFile.read``."""
        rule = self._disk.check(Operation.READ, self._name)
        data = self._inner.read(position, size_bytes)
        return data if rule is None else self._disk.flip_bit(data)

    def size(self) -> int:
        """See ``DiskFile.size``."""
        return self._inner.size()

    def truncate(self, size_bytes: int) -> None:
        """See ``DiskFile.truncate``."""
        self._disk.check(Operation.TRUNCATE, self._name)
        self._inner.truncate(size_bytes)

    def sync(self) -> None:
        """See ``DiskFile.sync``."""
        self._disk.check(Operation.SYNC, self._name)
        self._inner.sync()

    def begin_sync(self) -> None:
        """See ``DiskFile.begin_sync``."""
        self._disk.check(Operation.SYNC, self._name)
        self._inner.begin_sync()

    def close(self) -> None:
        """See ``DiskFile.close``; never fails."""
        self._inner.close()


def _error(number: int, name: str) -> OSError:
    return OSError(number, f"{os.strerror(number)} (injected)", name)
