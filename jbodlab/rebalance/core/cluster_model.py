"""The board on which a plan is made: loads of log dirs, who lies where, what a change would do.

It changes its own picture only and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jbodlab.rebalance.core.plan_request import Goal, PlanRequest, weight
from jbodlab.rebalance.core.situation import LogDir, LogDirId, Partition, Situation


class Slot(NamedTuple):
    """One replica on the board: the positions of its partition and of itself in that."""

    partition: int
    replica: int


class ClusterModel:
    """A situation that replicas can be moved on."""

    def __init__(self, situation: Situation, request: PlanRequest) -> None:
        self.situation = situation
        self.log_dirs: dict[LogDirId, LogDir] = {each.id: each for each in situation.log_dirs}
        self.places: list[list[LogDirId]] = [
            [replica.at for replica in partition.replicas] for partition in situation.partitions
        ]
        self.racks: dict[int, str] = {each.id.broker: each.rack for each in situation.log_dirs}
        self._goal = request.goal
        self.contents: dict[LogDirId, dict[Slot, None]] = {each: {} for each in self.log_dirs}
        self.loads: dict[LogDirId, float] = dict.fromkeys(self.log_dirs, 0.0)
        self.arriving_bytes: dict[LogDirId, int] = dict.fromkeys(self.log_dirs, 0)
        for number, partition in enumerate(situation.partitions):
            for index, replica in enumerate(partition.replicas):
                slot = Slot(number, index)
                self.contents.setdefault(replica.at, {})[slot] = None
                self.loads[replica.at] = self.loads.get(replica.at, 0.0) + self.weight(slot)
                arriving_bytes = self.arriving_bytes.get(replica.at, 0) + replica.coming_bytes
                self.arriving_bytes[replica.at] = arriving_bytes
        self.shares = _shares(request.goal, situation.log_dirs)

    def partition(self, slot: Slot) -> Partition:
        """Return the partition of a slot, as it was in the beginning."""
        return self.situation.partitions[slot.partition]

    def place(self, slot: Slot) -> LogDirId:
        """Return where a replica lies now."""
        return self.places[slot.partition][slot.replica]

    def size_bytes(self, slot: Slot) -> int:
        """Return the size of a replica."""
        return self.partition(slot).replicas[slot.replica].size_bytes

    def weight(self, slot: Slot) -> float:
        """Return what a replica counts for the goal."""
        partition = self.partition(slot)
        return weight(self._goal, partition, partition.replicas[slot.replica])

    def fullness(self, at: LogDirId, more: float = 0.0) -> float:
        """Return load per share of a log dir, with ``more`` on it."""
        return (self.loads[at] + more) / self.shares[at]

    def bucket_fullness(self, bucket: Iterable[LogDirId], more: float = 0.0) -> float:
        """Return load per share of some log dirs together, with ``more`` on them."""
        ids = tuple(bucket)
        return (sum(self.loads[each] for each in ids) + more) / self.bucket_share(ids)

    def bucket_share(self, bucket: Iterable[LogDirId]) -> float:
        """Return what some log dirs together should carry, relative to the others."""
        return sum(self.shares[each] for each in bucket)

    def move(self, slot: Slot, target: LogDirId) -> None:
        """Put a replica elsewhere."""
        source = self.place(slot)
        start = self.partition(slot).replicas[slot.replica].at
        size_bytes, amount = self.size_bytes(slot), self.weight(slot)
        self.places[slot.partition][slot.replica] = target
        del self.contents[source][slot]
        self.contents[target][slot] = None
        self.loads[source] -= amount
        self.loads[target] += amount
        if source != start:
            self.arriving_bytes[source] -= size_bytes
        if target != start:
            self.arriving_bytes[target] += size_bytes


def _shares(goal: Goal, log_dirs: Iterable[LogDir]) -> dict[LogDirId, float]:
    """Return what each log dir should carry, relative to the others."""
    all_dirs = list(log_dirs)
    by_capacity = goal is Goal.BYTES and all(
        each.total_bytes > 0 for each in all_dirs if each.accepts
    )
    return {
        each.id: float(each.total_bytes) if by_capacity and each.total_bytes > 0 else 1.0
        for each in all_dirs
    }
