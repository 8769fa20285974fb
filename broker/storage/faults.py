"""FaultyDisk: any Disk, made to fail on command, in real processes as in the simulation.

It breaks; it repairs nothing. Every rule counts its hits: one that never fired tested nothing.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, assert_never

from broker.storage.fault_damage import damaged, injected, part_of, write_elsewhere
from broker.storage.fault_gates import FaultGate, ThreadGate
from broker.storage.fault_rules import FaultRule
from broker.storage.faults_in_force import FaultsInForce
from broker.storage.layout import TEMPORARY_SUFFIX
from broker.storage.lost_data import EntryLoss, PageLoss
from protocol.faults.model import ANY_NODE, DiskFault, DiskMode, Operation
from protocol.ports import Buffer, Disk, DiskFile, DiskUsage


class FaultyDisk:
    """A Disk in front of ``inner``. Implements ``Disk``.

    Faults are set and cleared from any thread and hold from the next operation on.
    """

    def __init__(
        self,
        inner: Disk,
        *,
        chance: random.Random,
        new_gate: Callable[[], FaultGate] = ThreadGate,
    ) -> None:
        self._inner = inner
        self.in_force = FaultsInForce(chance, new_gate)
        self.pages = PageLoss(inner)
        """What of the content is durable."""
        self._entries = EntryLoss(inner)
        self.struck_files: dict[str, None] = {}
        """Those that misdirected writes hit: what was to be written, and what was written over."""

    @property
    def root(self) -> str:
        """The path of the inner disk."""
        return self._inner.root

    def for_second_thread(self) -> FaultyDisk:
        """Return one that meets the same faults."""
        other = copy(self)
        other._inner = self._inner.for_second_thread()  # noqa: SLF001 -- of this class.
        return other

    @property
    def operations_count(self) -> int:
        """That of the inner disk: what hangs in a fault has not reached it."""
        return self._inner.operations_count

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """The rules in force, with their hits."""
        return self.in_force.rules

    @property
    def may_wait(self) -> bool:
        """Whether an operation may hang or be slow now."""
        return any(rule.fault.mode.row.holds_back for rule in self.rules)

    @property
    def hits(self) -> int:
        """How many operations the rules in force have changed."""
        return sum(rule.hits for rule in self.rules)

    def set_fault(self, mode: DiskMode | str, **details: Any) -> FaultRule:
        """Put one fault in force instead of all others; ``details`` are more fields of DiskFault.

        Raises:
            ValueError: an unknown mode; TypeError: an unknown detail.
        """
        fault = DiskFault(mode=DiskMode(mode), node=ANY_NODE, log_dir=self.root, **details)
        rule = FaultRule(fault)
        self.set_rules([rule])
        return rule

    def set_rules(self, rules: Iterable[FaultRule]) -> None:
        """Put these rules in force instead of all others; what hangs or waits goes on."""
        self.clear()
        for rule in rules:
            self.add_rule(rule)

    def add_rule(self, rule: FaultRule) -> None:
        """Put one more rule in force.

        Raises:
            ValueError: the disk below cannot do that.
        """
        mode = rule.fault.mode
        self._entries.check_possible(mode)
        if mode.row.tracks_unsynced:
            self.pages.watch()
        self.in_force.add(rule)

    def drop_rule(self, rule: FaultRule) -> None:
        """Take one rule out of force, once or again; what hangs or waits for it goes on."""
        self.in_force.drop(rule)
        if not any(each.fault.mode.row.tracks_unsynced for each in self.rules):
            self.pages.unwatch()

    def clear(self) -> None:
        """Take all rules out of force; what hangs or waits goes on."""
        for rule in self.rules:
            self.drop_rule(rule)

    def prepare(self) -> None:
        self.in_force.check(Operation.LOOK, "")
        self._inner.prepare()

    def check_root(self) -> None:
        self.in_force.check(Operation.LOOK, "")
        self._inner.check_root()

    def open(self, name: str, *, create: bool) -> DiskFile:
        if not self.in_force.rules:
            return _FaultyFile(self, self._inner.open(name, create=create), name)
        self.in_force.check(Operation.OPEN, name)
        is_lost = create and self._check_create(name)
        file = self._inner.open(name, create=create)
        if is_lost:
            self._entries.lose(name)
        return _FaultyFile(self, file, name)

    def read_file(self, name: str) -> bytes:
        if not self.in_force.rules:
            return self._inner.read_file(name)
        damage = self.in_force.check(Operation.READ, name, self._inner.size(name))
        return damaged(self._inner.read_file(name), damage, self.in_force.chance)

    def write_file(self, name: str, data: Buffer) -> None:
        damage = self.in_force.check(Operation.WRITE, name, len(data))
        is_lost = self._check_create(name)
        self.pages.on_write(name)
        match damage:
            case None:
                self._inner.write_file(name, data)
            case DiskMode.TORN_WRITE:
                self._inner.write_file(name, part_of(bytes(data), self.in_force.chance))
                raise injected(errno.EIO, name)
            case DiskMode.MISDIRECTED_WRITE:
                self.write_elsewhere(name, bytes(data))
                if not self._inner.exists(name):
                    self._inner.write_file(name, bytes(len(data)))
            case _:
                assert_never(damage)
        if is_lost:
            self._entries.lose(name)

    def replace_file(self, name: str, data: Buffer) -> None:
        """Go step by step while there are faults: each step may meet one."""
        if not self.in_force.rules:
            self._inner.replace_file(name, data)
            return
        self.write_file(name + TEMPORARY_SUFFIX, data)
        self.rename(name + TEMPORARY_SUFFIX, name)

    def write_atomic(self, name: str, data: Buffer) -> None:
        """Go step by step while there are faults: each step may meet one."""
        if not self.in_force.rules:
            self._inner.write_atomic(name, data)
            return
        self.write_file(name + TEMPORARY_SUFFIX, data)
        self.sync_file(name + TEMPORARY_SUFFIX)
        self.rename(name + TEMPORARY_SUFFIX, name)
        self.sync_dir(name.rpartition("/")[0])

    def make_dir(self, name: str) -> None:
        is_lost = self.in_force.loses_name(Operation.MAKE_DIR, name)
        self._inner.make_dir(name)
        if is_lost:
            self._entries.lose(name)

    def rename(self, old: str, new: str) -> None:
        is_lost = self.in_force.loses_name(Operation.RENAME, old)
        self._inner.rename(old, new)
        self.pages.on_rename(old, new)
        if is_lost:
            self._entries.lose(old)
            self._entries.lose(new)

    def remove(self, name: str) -> None:
        self.in_force.check(Operation.REMOVE, name)
        self._inner.remove(name)

    def remove_tree(self, name: str) -> None:
        self.in_force.check(Operation.REMOVE, name)
        self._inner.remove_tree(name)

    def list_dir(self, name: str) -> list[str]:
        self.in_force.check(Operation.LOOK, name)
        return self._inner.list_dir(name)

    def exists(self, name: str) -> bool:
        self.in_force.check(Operation.LOOK, name)
        return self._inner.exists(name)

    def is_dir(self, name: str) -> bool:
        self.in_force.check(Operation.LOOK, name)
        return self._inner.is_dir(name)

    def size(self, name: str) -> int:
        self.in_force.check(Operation.LOOK, name)
        return self._inner.size(name)

    def modified_ms(self, name: str) -> int:
        self.in_force.check(Operation.LOOK, name)
        return self._inner.modified_ms(name)

    def sync_file(self, name: str) -> None:
        if self.in_force.loses_unsynced(name):
            self.pages.lose(name)
            raise injected(errno.EIO, name)
        self._inner.sync_file(name)
        self.pages.on_sync(name)

    def sync_dir(self, name: str) -> None:
        if self.in_force.loses_unsynced(name):
            self.pages.lose_names(name)
            raise injected(errno.EIO, name)
        self._inner.sync_dir(name)

    def sync_all(self) -> None:
        if self.in_force.loses_unsynced(""):
            self.pages.lose_all()
            raise injected(errno.EIO, "")
        self._inner.sync_all()
        self.pages.on_sync_all()

    def usage(self) -> DiskUsage:
        self.in_force.check(Operation.LOOK, "")
        return self._inner.usage()

    def lock(self) -> None:
        self.in_force.check(Operation.LOCK, "")
        self._inner.lock()

    def unlock(self) -> None:
        self.in_force.check(Operation.LOCK, "")
        self._inner.unlock()

    def drop_lock(self) -> None:
        """Drop it, whatever the faults."""
        self._inner.drop_lock()

    def write_elsewhere(self, name: str, data: bytes) -> None:
        """Write what was meant for ``name`` over another file."""
        victim = write_elsewhere(self._inner, name, data, self.in_force.chance)
        self.struck_files.update(dict.fromkeys((name,) if victim is None else (name, victim)))

    def _check_create(self, name: str) -> bool:
        """Meet the making of a file, when ``name`` is none yet; tell whether it is to be lost."""
        if not self.in_force.rules or self._inner.exists(name):
            return False
        return self.in_force.loses_name(Operation.CREATE, name)


class _FaultyFile:
    """An open file of a FaultyDisk. Implements ``DiskFile``."""

    __slots__ = ("_disk", "_in_force", "_inner", "_name", "_pages")

    def __init__(self, disk: FaultyDisk, inner: DiskFile, name: str) -> None:
        self._disk = disk
        self._in_force = disk.in_force
        self._pages = disk.pages
        self._inner = inner
        self._name = name

    def append(self, buffers: Sequence[Buffer]) -> int:
        if not self._in_force.rules:
            return self._inner.append(buffers)
        size_bytes = sum(map(len, buffers))
        damage = self._in_force.check(Operation.APPEND, self._name, size_bytes)
        self._pages.on_append(self._name, self._inner.size())
        match damage:
            case None:
                return self._inner.append(buffers)
            case DiskMode.TORN_WRITE:
                self._inner.append([part_of(b"".join(buffers), self._in_force.chance)])
                raise injected(errno.EIO, self._name)
            case DiskMode.MISDIRECTED_WRITE:
                self._disk.write_elsewhere(self._name, b"".join(buffers))
                return self._inner.append([bytes(size_bytes)])
            case _:
                assert_never(damage)

    def read(self, position: int, size_bytes: int) -> bytes:
        if not self._in_force.rules:
            return self._inner.read(position, size_bytes)
        damage = self._in_force.check(Operation.READ, self._name, size_bytes)
        data = self._inner.read(position, size_bytes)
        return damaged(data, damage, self._in_force.chance)

    def forget(self, position: int) -> None:
        self._inner.forget(position)

    def size(self) -> int:
        return self._inner.size()

    def truncate(self, size_bytes: int) -> None:
        self._in_force.check(Operation.TRUNCATE, self._name)
        self._inner.truncate(size_bytes)
        self._pages.on_truncate(self._name, size_bytes)

    def sync(self) -> None:
        if self._in_force.loses_unsynced(self._name):
            self._pages.lose(self._name, self._inner)
            raise injected(errno.EIO, self._name)
        self._inner.sync()
        self._pages.on_sync(self._name)

    def close(self) -> None:
        """Close, whatever the faults."""
        self._inner.close()
