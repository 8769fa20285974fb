"""The faults in force on one disk: which of them an operation meets, and how it fails or waits.

What is to be done to data or names is told to the caller, and done by nobody here.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from typing import Literal, TypeAlias, assert_never, overload

from broker.storage.fault_damage import (
    Damage,
    NameDamage,
    ReadDamage,
    SyncDamage,
    WriteDamage,
    damage_of,
    injected,
)
from broker.storage.fault_gates import FaultGate
from broker.storage.fault_rules import FaultRule
from protocol.faults.model import DiskMode, Operation

_ContentWrite: TypeAlias = Literal[Operation.APPEND, Operation.WRITE]
_NameChange: TypeAlias = Literal[Operation.CREATE, Operation.MAKE_DIR, Operation.RENAME]
_Undamaged: TypeAlias = Literal[
    Operation.OPEN, Operation.TRUNCATE, Operation.REMOVE, Operation.LOOK, Operation.LOCK
]


class FaultsInForce:
    """The rules of one disk, for all threads that use it; ``chance`` draws what they leave open."""

    __slots__ = ("_gates", "_new_gate", "chance", "rules")

    def __init__(self, chance: random.Random, new_gate: Callable[[], FaultGate]) -> None:
        self.rules: tuple[FaultRule, ...] = ()
        self.chance = chance
        self._new_gate = new_gate
        self._gates: dict[FaultRule, FaultGate] = {}

    def add(self, rule: FaultRule) -> None:
        """Put one more rule in force."""
        self._gates[rule] = self._new_gate()
        self.rules = (*self.rules, rule)

    def drop(self, rule: FaultRule) -> None:
        """Take one rule out of force, once or again; what hangs or waits for it goes on."""
        self.rules = tuple(each for each in self.rules if each is not rule)
        gate = self._gates.pop(rule, None)
        if gate is not None:
            gate.open()

    @overload
    def check(
        self, operation: Literal[Operation.READ], name: str, size_bytes: int = 0
    ) -> ReadDamage | None: ...

    @overload
    def check(
        self, operation: _ContentWrite, name: str, size_bytes: int = 0
    ) -> WriteDamage | None: ...

    @overload
    def check(
        self, operation: Literal[Operation.SYNC], name: str, size_bytes: int = 0
    ) -> SyncDamage | None: ...

    @overload
    def check(
        self, operation: _NameChange, name: str, size_bytes: int = 0
    ) -> NameDamage | None: ...

    @overload
    def check(self, operation: _Undamaged, name: str, size_bytes: int = 0) -> None: ...

    def check(self, operation: Operation, name: str, size_bytes: int = 0) -> Damage | None:
        """Meet one operation; the damage that the caller is to do is returned.

        Raises:
            OSError: as a rule says.
        """
        found: Damage | None = None
        for rule in self.rules:
            damage = damage_of(rule.fault.mode)
            if damage is not None and found is not None:
                continue  # One damage at a time, so that every hit is one that was done.
            if rule.meets(operation, name) and self._draws(rule):
                self._act(rule, name, size_bytes)
                found = damage or found
        return found

    def loses_unsynced(self, name: str) -> bool:
        """Meet a sync; tell whether it is to fail and to lose what was not durable."""
        damage = self.check(Operation.SYNC, name)
        match damage:
            case None:
                return False
            case DiskMode.SYNC_FAILURE:
                return True
            case _:
                assert_never(damage)

    def loses_name(self, operation: _NameChange, name: str) -> bool:
        """Meet the change of a name; tell whether it is to be lost."""
        damage = self.check(operation, name)
        match damage:
            case None:
                return False
            case DiskMode.LOST_ENTRY:
                return True
            case _:
                assert_never(damage)

    def _draws(self, rule: FaultRule) -> bool:
        probability = rule.fault.probability
        return probability >= 1.0 or self.chance.random() < probability

    def _act(self, rule: FaultRule, name: str, size_bytes: int) -> None:
        """Count a hit, and let the operation fail or wait; damage is done by who meets it."""
        mode = rule.fault.mode
        if mode is DiskMode.ENOSPC and rule.has_room(size_bytes):
            return
        rule.hits += 1
        match mode:
            case DiskMode.EIO:
                raise injected(errno.EIO, name)
            case DiskMode.ENOSPC:
                raise injected(errno.ENOSPC, name)
            case DiskMode.READ_ONLY:
                raise injected(errno.EROFS, name)
            case DiskMode.HANG:
                self._wait(rule, None)
            case DiskMode.SLOW:
                self._wait(rule, rule.wait_ms(size_bytes))
            case (
                DiskMode.TORN_WRITE
                | DiskMode.MISDIRECTED_WRITE
                | DiskMode.BIT_FLIP
                | DiskMode.SHORT_READ
                | DiskMode.SYNC_FAILURE
                | DiskMode.LOST_ENTRY
            ):
                pass
            case _:
                assert_never(mode)

    def _wait(self, rule: FaultRule, timeout_ms: int | None) -> None:
        gate = self._gates.get(rule)
        if gate is not None:  # None: the rule was dropped by another thread meanwhile.
            gate.wait(timeout_ms)
