"""One log dir of a simulated node as a piece of hardware: content, speed and faults.

It stays when the processes that use it end, and faults stay with it until they are cleared. Those
that met nothing on a disk wait for the one that takes its place; the others go with their disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from broker.storage.fault_rules import FaultRule
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.cluster_file.spec import LogDirSpec
from protocol.faults.model import Operation
from protocol.ports import Buffer
from simulation.world.disk_speed import DiskSpeed
from simulation.world.sim_disk import SimDisk
from simulation.world.sim_thread import SimGate
from simulation.world.virtual_loop import VirtualLoop


class Drive:
    """The disk behind one log dir."""

    def __init__(
        self, loop: VirtualLoop, node: str, spec: LogDirSpec, now_ms: Callable[[], int]
    ) -> None:
        self._loop = loop
        self._node = node
        self._spec = spec
        self._now_ms = now_ms
        self.chance = loop.chance.stream(f"disk:{node}:{spec.path}")
        self.speed = DiskSpeed()
        self.before_change: Callable[[str, str], None] | None = None
        """Called with operation and name before everything that a crash could come before."""
        self.before_operation: Callable[[Operation], None] | None = None
        """Called before every operation; an OSError that it raises is the disk's."""
        self._hits_before = 0
        self._gone: list[FaultyDisk] = []
        """Disks that were in this place; jobs may still hang on their faults."""
        self.losses_count = 0
        """How often it lost what it had been given: by a power cut, by hand, for an empty one."""
        self.disk, self.faults = self._make()

    @property
    def fault_hits(self) -> int:
        """How many operations faults have changed on the disks that were in this place."""
        return self._hits_before + self.faults.hits

    def empty(self) -> FaultyDisk:
        """Return a new disk, which takes the place of this one when it is used."""
        disk, faults = self._make()

        def install() -> None:
            self._install(disk, faults)
            disk.on_prepare = _nothing

        disk.on_prepare = install
        return faults

    def replace(self) -> None:
        """Put a new disk in the place of this one, which nobody uses now."""
        self._install(*self._make())

    def drop_rule(self, rule: FaultRule) -> None:
        """Take a fault off this disk and off those that were in its place: it may hang there."""
        for faults in (self.faults, *self._gone):
            faults.drop_rule(rule)

    def let_go(self) -> None:
        """Forget the lock of a process that is gone."""
        self.disk.memory.kill()

    def power_cut(self, chance: Random) -> None:
        """Lose what is not durable, but for a drawn part."""
        self.losses_count += 1
        self.disk.memory.power_cut(chance)

    def _install(self, disk: SimDisk, faults: FaultyDisk) -> None:
        self._hits_before = self.fault_hits
        self.losses_count += 1
        for rule in self.faults.rules:
            if not rule.hits:
                self.faults.drop_rule(rule)
                faults.add_rule(rule)
        self._gone.append(self.faults)
        self.disk, self.faults = disk, faults

    def _make(self) -> tuple[SimDisk, FaultyDisk]:
        capacity = self._spec.capacity_bytes
        path = self._spec.path
        memory = MemoryDisk(path) if capacity is None else MemoryDisk(path, capacity)
        disk = SimDisk(
            memory,
            chance=self.chance,
            speed=lambda: self.speed,
            note=self._note,
            now_ms=self._now_ms,
        )
        memory.before_change = self._on_change
        disk.before_operation = self._on_operation
        faults = FaultyDisk(
            disk, chance=Random(self.chance.getrandbits(64)), new_gate=lambda: SimGate(self._loop)
        )
        return disk, faults

    def _on_change(self, operation: str, name: str) -> None:
        if self.before_change is not None:
            self.before_change(operation, name)

    def _on_operation(self, operation: Operation) -> None:
        if self.before_operation is not None:
            self.before_operation(operation)

    def _note(self, what: str, content: Sequence[Buffer]) -> None:
        self._loop.trace.note(self._loop.now_us, self._node, what, content)


def _nothing() -> None:
    return None
