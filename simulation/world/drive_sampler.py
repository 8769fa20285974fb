"""Watches the disks of simulated brokers: which of them lost or changed what they had been given.

What a fault breaks and tells of is no damage: the broker knows, and does not acknowledge.
"""

from __future__ import annotations

from broker.storage.fault_rules import FaultRule
from broker.storage.faults import FaultyDisk
from broker.storage.layout import BadDirName, parse_dir_name
from protocol.faults.model import DamageLasts, DiskMode
from protocol.ids import TopicPartition
from simulation.core.checkers.fault_model import NOT_DURABLE
from simulation.core.samples import Damage, Samples
from simulation.world.node import BrokerNode


class DriveSampler:
    """What is known of the disks of one broker."""

    def __init__(self, node: BrokerNode, samples: Samples) -> None:
        self._node = node
        self._samples = samples
        self._losses = dict.fromkeys(node.drives, 0)
        self._disks = {path: drive.faults for path, drive in node.drives.items()}
        self._struck = dict.fromkeys(node.drives, 0)
        self._hits: dict[FaultRule, int] = {}

    def look(self, now_us: int) -> None:
        """Write down what was damaged."""
        for path, drive in self._node.drives.items():
            faults = drive.faults
            is_as_before = (
                faults is self._disks[path]
                and drive.losses_count == self._losses[path]
                and not faults.rules
                and len(faults.struck_files) == self._struck[path]
            )
            if is_as_before:  # As most often.
                continue
            damage = Damage(now_us, self._node.id, path, NOT_DURABLE)
            if drive.losses_count > self._losses[path]:
                self._losses[path] = drive.losses_count
                is_another = drive.faults is not self._disks[path]
                self._samples.damages.append(damage._replace(is_emptied=is_another))
            if drive.faults is not self._disks[path]:
                self._disks[path], self._struck[path] = drive.faults, 0
            for rule in drive.faults.rules:
                mode = rule.fault.mode
                may_heal = mode.row.damage is DamageLasts.UNTIL_IN_SYNC
                if may_heal and rule.hits > self._hits.get(rule, 0):
                    self._hits[rule] = rule.hits
                    self._samples.damages.append(damage._replace(what=mode.value))
            self._strike(path, drive.faults, damage)

    def _strike(self, path: str, disk: FaultyDisk, damage: Damage) -> None:
        """Note the partitions that misdirected writes hit since the look before."""
        struck = list(disk.struck_files)[self._struck[path] :]
        self._struck[path] += len(struck)
        what = DiskMode.MISDIRECTED_WRITE.value
        for name in struck:
            tp = _partition_of(name)
            self._samples.damages.append(damage._replace(what=what, is_lasting=True, tp=tp))


def _partition_of(file: str) -> TopicPartition | None:
    try:
        return parse_dir_name(file.partition("/")[0]).topic_partition
    except BadDirName:
        return None
