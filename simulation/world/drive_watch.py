"""Watches the disks of simulated brokers: which of them lost or changed what they had been given.

What a fault breaks and tells of is no damage: the broker knows, and does not acknowledge.
"""

from __future__ import annotations

from typing import Final

from protocol.fault_model import DiskMode
from simulation.core.samples import Damage, Samples
from simulation.world.node import BrokerNode

_DAMAGING: Final = {
    DiskMode.BIT_FLIP: False,
    DiskMode.LOST_ENTRY: False,
    DiskMode.MISDIRECTED_WRITE: True,
    DiskMode.SHORT_READ: False,
    DiskMode.SYNC_FAILURE: False,
}
"""Modes that lose or change data, and whether that lasts when the end of a log is fetched again.

What was read wrongly counts: a broker that starts cuts its logs there.
"""


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
                is_lasting = _DAMAGING.get(rule.mode)
                key = (path, number, rule.mode)
                if is_lasting is not None and rule.hits > self._hits.get(key, 0):
                    self._hits[key] = rule.hits
                    self._note(now_us, path, rule.mode.value, is_lasting=is_lasting)

    def _note(self, now_us: int, path: str, what: str, *, is_lasting: bool) -> None:
        damage = Damage(now_us, self._node.id, path, what, is_lasting)
        self._samples.damages.append(damage)
