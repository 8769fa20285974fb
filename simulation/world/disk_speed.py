"""How long a disk takes: a queue model of operations and bytes. No disk, only its time."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from protocol.faults.model import Operation

_SYNCS: Final = (Operation.SYNC,)
_LOOKS: Final = (Operation.LOOK, Operation.LOCK, Operation.OPEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpeed:
    """What a disk takes per operation and per byte; each one half to one and a half of it."""

    look_us: int = 5
    """Names and sizes: the system knows them."""
    operation_us: int = 40
    sync_us: int = 400
    bytes_per_second: int = 400_000_000

    def cost_us(self, operation: Operation, size_bytes: int, chance: Random) -> float:
        """Draw how long one operation takes."""
        if operation in _LOOKS:
            base_us = self.look_us
        else:
            base_us = self.sync_us if operation in _SYNCS else self.operation_us
        return (base_us + size_bytes * 1_000_000 / self.bytes_per_second) * (0.5 + chance.random())
