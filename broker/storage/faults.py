"""FaultyDisk: any Disk, made to fail on command, in real processes as in the simulation.

It breaks; it repairs nothing. Every rule counts its hits: one that never fired tested nothing.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, Final

from broker.storage.fault_damage import flip_bit, injected, part_of, write_elsewhere
from broker.storage.fault_gates import FaultGate, ThreadGate
from broker.storage.fault_rules import FaultRule, RulesInForce
from broker.storage.layout import TEMPORARY_SUFFIX
from broker.storage.lost_data import EntryLoss, PageLoss
from protocol.faults.model import DiskMode, Operation
from protocol.ports import Buffer, Disk, DiskFile, DiskUsage

_ERRORS: Final = {
    DiskMode.EIO: errno.EIO,
    DiskMode.ENOSPC: errno.ENOSPC,
    DiskMode.READ_ONLY: errno.EROFS,
}
_WAITS: Final = (DiskMode.HANG, DiskMode.SLOW)


class FaultyDisk:
    """A Disk in front of ``inner``.

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
        self._chance = chance
        self._new_gate = new_gate
        self._gates: dict[FaultRule, FaultGate] = {}
        self._force = RulesInForce()
        self._pages = PageLoss(inner)
        self._entries = EntryLoss(inner)
        self.struck_files: dict[str, None] = {}
        """Those that misdirected writes hit: what was to be written, and what was written over."""

    @property
    def root(self) -> str:
        """The path of the inner disk."""
        return self._inner.root

    def beside(self) -> FaultyDisk:
        """See ``Disk.beside``; the faults are the same."""
        other = copy(self)
        other._inner = self._inner.beside()  # noqa: SLF001 -- of this class.
        return other

    @property
    def operations_count(self) -> int:
        """That of the inner disk: what hangs in a fault has not reached it."""
        return self._inner.operations_count

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        """The rules in force, with their hits."""
        return self._force.rules

    @property
    def may_wait(self) -> bool:
        """Whether an operation may hang or be slow now."""
        return any(rule.mode in _WAITS for rule in self.rules)

    @property
    def hits(self) -> int:
        """How many operations the rules in force have changed."""
        return sum(rule.hits for rule in self.rules)

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
        self.clear()
        for rule in rules:
            self.add_rule(rule)

    def add_rule(self, rule: FaultRule) -> None:
        """Put one more rule in force.

        Raises:
            ValueError: the disk below cannot do that.
        """
        if rule.mode is DiskMode.LOST_ENTRY:
            self._entries.check_possible()
        if rule.mode is DiskMode.SYNC_FAILURE:
            self._pages.watch()
        self._gates[rule] = self._new_gate()
        self._force.rules = (*self.rules, rule)

    def drop_rule(self, rule: FaultRule) -> None:
        """Take one rule out of force, once or again; what hangs or waits for it goes on."""
        self._force.rules = tuple(each for each in self.rules if each is not rule)
        gate = self._gates.pop(rule, None)
        if gate is not None:
            gate.open()
        if all(each.mode is not DiskMode.SYNC_FAILURE for each in self.rules):
            self._pages.unwatch()

    def clear(self) -> None:
        """Take all rules out of force; what hangs or waits goes on."""
        for rule in self.rules:
            self.drop_rule(rule)

    def check(self, operation: Operation, name: str, size_bytes: int = 0) -> DiskMode | None:
        """Meet one operation; the mode is returned when it is the caller's to do.

        Raises:
            OSError: as a rule says.
        """
        found: DiskMode | None = None
        for rule in self.rules:
            is_callers = rule.mode not in _ERRORS and rule.mode not in _WAITS
            if is_callers and found is not None:
                continue  # One damage at a time, so that every hit is one that was done.
            if rule.meets(operation, name) and self._draws(rule):
                self._act(rule, name, size_bytes)
                found = rule.mode if is_callers else found
        return found

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
        is_lost = create and self._check_create(name)
        file = self._inner.open(name, create=create)
        if is_lost:
            self._entries.lose(name)
        return _FaultyFile(self, file, name)

    def read_file(self, name: str) -> bytes:
        """See ``Disk.read_file``."""
        if not self._force.rules:
            return self._inner.read_file(name)
        mode = self.check(Operation.READ, name, self._inner.size(name))
        return self.damaged(self._inner.read_file(name), mode)

    def write_file(self, name: str, data: Buffer) -> None:
        """See ``Disk.write_file``."""
        mode = self.check(Operation.WRITE, name, len(data))
        is_lost = self._check_create(name)
        self._pages.on_write(name)
        if mode is None:
            self._inner.write_file(name, data)
        elif mode is DiskMode.TORN_WRITE:
            self._inner.write_file(name, self.damaged(bytes(data), mode))
            raise injected(errno.EIO, name)
        else:
            self.write_elsewhere(name, bytes(data))
            if not self._inner.exists(name):
                self._inner.write_file(name, bytes(len(data)))
        if is_lost:
            self._entries.lose(name)

    def replace_file(self, name: str, data: Buffer) -> None:
        """See ``Disk.replace_file``; step by step while there are faults."""
        if not self._force.rules:
            self._inner.replace_file(name, data)
            return
        self.write_file(name + TEMPORARY_SUFFIX, data)
        self.rename(name + TEMPORARY_SUFFIX, name)

    def write_atomic(self, name: str, data: Buffer) -> None:
        """See ``Disk.write_atomic``; step by step while there are faults."""
        if not self._force.rules:
            self._inner.write_atomic(name, data)
            return
        self.write_file(name + TEMPORARY_SUFFIX, data)
        self.sync_file(name + TEMPORARY_SUFFIX)
        self.rename(name + TEMPORARY_SUFFIX, name)
        self.sync_dir(name.rpartition("/")[0])

    def make_dir(self, name: str) -> None:
        """See ``Disk.make_dir``."""
        mode = self.check(Operation.MAKE_DIR, name)
        self._inner.make_dir(name)
        if mode is DiskMode.LOST_ENTRY:
            self._entries.lose(name)

    def rename(self, old: str, new: str) -> None:
        """See ``Disk.rename``."""
        mode = self.check(Operation.RENAME, old)
        self._inner.rename(old, new)
        self._pages.on_rename(old, new)
        if mode is DiskMode.LOST_ENTRY:
            self._entries.lose(old)
            self._entries.lose(new)

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
        if self.check(Operation.SYNC, name) is not None:
            self._pages.lose(name)
            raise injected(errno.EIO, name)
        self._inner.sync_file(name)
        self._pages.on_sync(name)

    def sync_dir(self, name: str) -> None:
        """See ``Disk.sync_dir``."""
        if self.check(Operation.SYNC, name) is not None:
            self._pages.lose_names(name)
            raise injected(errno.EIO, name)
        self._inner.sync_dir(name)

    def sync_all(self) -> None:
        """See ``Disk.sync_all``."""
        if self.check(Operation.SYNC, "") is not None:
            self._pages.lose_all()
            raise injected(errno.EIO, "")
        self._inner.sync_all()
        self._pages.on_sync_all()

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

    # For its open files.

    @property
    def pages(self) -> PageLoss:
        """What of the content is durable."""
        return self._pages

    def damaged(self, data: bytes, mode: DiskMode | None) -> bytes:
        """Return what is left of data on its way."""
        if mode is None:
            return data
        if mode is DiskMode.BIT_FLIP:
            return flip_bit(data, self._chance)
        assert mode in (DiskMode.TORN_WRITE, DiskMode.SHORT_READ), mode
        return part_of(data, self._chance)

    def write_elsewhere(self, name: str, data: bytes) -> None:
        """Write what was meant for ``name`` over another file."""
        victim = write_elsewhere(self._inner, name, data, self._chance)
        self.struck_files.update(dict.fromkeys((name,) if victim is None else (name, victim)))

    # How rules act.

    def _check_create(self, name: str) -> bool:
        """Meet the making of a file, when ``name`` is none yet; tell whether it is to be lost."""
        if not self._force.rules or self._inner.exists(name):
            return False
        return self.check(Operation.CREATE, name) is DiskMode.LOST_ENTRY

    def _draws(self, rule: FaultRule) -> bool:
        return rule.probability >= 1.0 or self._chance.random() < rule.probability

    def _act(self, rule: FaultRule, name: str, size_bytes: int) -> None:
        """Count a hit, and do what the rule says as far as it does not concern data."""
        if rule.mode is DiskMode.ENOSPC and 0 < rule.capacity_bytes >= size_bytes:
            rule.capacity_bytes -= size_bytes
            return
        rule.hits += 1
        gate = self._gates.get(rule)
        if rule.mode in _ERRORS:
            raise injected(_ERRORS[rule.mode], name)
        if rule.mode is DiskMode.HANG and gate is not None:
            gate.wait(None)
        if rule.mode is DiskMode.SLOW and gate is not None:
            gate.wait(rule.wait_ms(size_bytes))


class _FaultyFile:
    """An open file of a FaultyDisk."""

    __slots__ = ("_disk", "_inner", "_name")

    def __init__(self, disk: FaultyDisk, inner: DiskFile, name: str) -> None:
        self._disk = disk
        self._inner = inner
        self._name = name

    def append(self, buffers: Sequence[Buffer]) -> int:
        """See ``DiskFile.append``."""
        if not self._disk.rules:
            return self._inner.append(buffers)
        size_bytes = sum(map(len, buffers))
        mode = self._disk.check(Operation.APPEND, self._name, size_bytes)
        self._disk.pages.on_append(self._name, self._inner.size())
        if mode is None:
            return self._inner.append(buffers)
        if mode is DiskMode.TORN_WRITE:
            self._inner.append([self._disk.damaged(b"".join(buffers), mode)])
            raise injected(errno.EIO, self._name)
        self._disk.write_elsewhere(self._name, b"".join(buffers))
        return self._inner.append([bytes(size_bytes)])

    def read(self, position: int, size_bytes: int) -> bytes:
        """See ``DiskFile.read``."""
        mode = self._disk.check(Operation.READ, self._name, size_bytes)
        return self._disk.damaged(self._inner.read(position, size_bytes), mode)

    def forget(self, position: int) -> None:
        """See ``DiskFile.forget``."""
        self._inner.forget(position)

    def size(self) -> int:
        """See ``DiskFile.size``."""
        return self._inner.size()

    def truncate(self, size_bytes: int) -> None:
        """See ``DiskFile.truncate``."""
        self._disk.check(Operation.TRUNCATE, self._name)
        self._inner.truncate(size_bytes)
        self._disk.pages.on_truncate(self._name, size_bytes)

    def sync(self) -> None:
        """See ``DiskFile.sync``."""
        if self._disk.check(Operation.SYNC, self._name) is not None:
            self._disk.pages.lose(self._name, self._inner)
            raise injected(errno.EIO, self._name)
        self._inner.sync()
        self._disk.pages.on_sync(self._name)

    def close(self) -> None:
        """See ``DiskFile.close``; never fails."""
        self._inner.close()
