"""Watches the disks of simulated brokers: which of them lost or changed what they had been given.

What a fault breaks and tells of is no damage: the broker knows, and does not acknowledge.
"""

from __future__ import annotations

from protocol.fault_model import DiskMode
from simulation.core.samples import Damage, Samples
from simulation.look.places import DAMAGING
from simulation.world.node import BrokerNode


class DriveWatch:
    """What is known of the disks of one broker."""

    def __init__(self, node: BrokerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._losses = dict.fromkeys(node.drives, 0)
        self._hits: dict[tuple[str, int, DiskMode], int] = {}

    def look(self, now_us: int) -> None:
        """Write down what was damaged."""
        for path, drive in self._node.drives.items():
            if drive.losses_count > self._losses[path]:
                self._losses[path] = drive.losses_count
                self._note(now_us, path, "lost what was not durable", is_lasting=False)
            for number, rule in enumerate(drive.faults.rules):
                is_lasting = DAMAGING.get(rule.mode)
                key = (path, number, rule.mode)
                if is_lasting is not None and rule.hits > self._hits.get(key, 0):
                    self._hits[key] = rule.hits
                    self._note(now_us, path, rule.mode.value, is_lasting=is_lasting)

    def _note(self, now_us: int, path: str, what: str, *, is_lasting: bool) -> None:
        damage = Damage(now_us, self._node.id, path, what, is_lasting)
        self._samples.damages.append(damage)
