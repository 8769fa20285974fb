"""What the steps of a run work with, and what the names in a plan mean at this moment."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from protocol.faults.model import broker_id_of
from protocol.ids import TopicPartition
from simulation.cluster_instance import ClusterInstance
from simulation.core.actions import Action, FaultRule
from simulation.core.needs import Need, needs_of
from simulation.core.observation import Observation
from simulation.core.references import log_dir_meant, node_meant, partition_named, partitions_meant
from simulation.run.asking import Asker
from simulation.run.observer import Observer
from simulation.run.workloads import Workloads
from simulation.workload.admin import Admin


class StepError(Exception):
    """A step did not go as the plan says; the text says how it went."""


class WrongWriter(NamedTuple):
    """A fault that lets a disk write to wrong places, and that disk."""

    fault: str
    broker: int
    path: str


@dataclass(slots=True, kw_only=True)
class RunContext:
    """One cluster and who works on it."""

    cluster: ClusterInstance
    observer: Observer
    admin: Admin
    asker: Asker
    workloads: Workloads
    group: asyncio.TaskGroup
    """Runs what goes on beside the steps, and ends by itself when no fault is in force."""
    active_faults: dict[str, FaultRule] = field(default_factory=dict[str, FaultRule])
    """Those in force, by their names; their places are what the plan's names meant then."""
    wrong_writers: dict[WrongWriter, None] = field(default_factory=dict[WrongWriter, None])
    """Those that were set, until the disk is replaced."""
    journal_copy: bytes = b""
    """The controller's journal when it was copied last."""
    touched_nodes: dict[str, None] = field(default_factory=dict[str, None])
    """Those whose CPU or clock is not as it was."""
    seen: Observation = field(default_factory=lambda: Observation(now_ms=0))

    async def unmet_faults(self) -> tuple[str, ...]:
        """Return the names of the faults in force that have met nothing yet."""
        hits = await self.cluster.fault_hits()
        return tuple(name for name in self.active_faults if not hits.get(name))

    async def disks_to_replace(self) -> tuple[WrongWriter, ...]:
        """Return the disks that did write to wrong places and will do so no more."""
        hits = await self.cluster.fault_hits()
        return tuple(
            each
            for each in self.wrong_writers
            if each.fault not in self.active_faults and hits.get(each.fault)
        )

    async def forget_wrong_writers(self, broker: int, path: str) -> None:
        """Note that a disk was replaced by one that nobody wrote to yet."""
        for each in await self.disks_to_replace():
            if (each.broker, each.path) == (broker, path):
                del self.wrong_writers[each]

    async def look_for(self, action: Action) -> None:
        """Look up what the names in ``action`` mean now."""
        needs = [*needs_of(action)]
        if partition_named(getattr(action, "of", "x-0")) is None:
            needs.append(Need.METADATA)
        if needs:
            self.seen = await self.observer.observe(needs)

    def node(self, ref: str) -> str:
        """Return the name of a node.

        Raises:
            StepError: nobody has that role now.
        """
        node = node_meant(ref, self.seen)
        if node is None:
            raise StepError(f"there is no {ref} now")
        return node

    def broker(self, ref: str) -> int:
        """Return the id of a broker.

        Raises:
            StepError: nobody has that role now.
        """
        broker = broker_id_of(self.node(ref))
        assert broker is not None, f"{ref} was checked to be a broker"
        return broker

    def path(self, broker: int, ref: str) -> str:
        """Return the path of a log dir; a path is one already.

        Raises:
            StepError: the broker shows no such replica.
        """
        if ref.startswith("/"):
            return ref
        name = log_dir_meant(ref, broker, self.seen)
        if name is None:
            raise StepError(f"broker-{broker} shows no log dir {ref}")
        return self.cluster.spec.broker(broker).log_dirs[int(name.removeprefix("d")) - 1].path

    def partitions(self, ref: str) -> tuple[TopicPartition, ...]:
        """Return what ``ref`` names.

        Raises:
            StepError: there is none.
        """
        known = {tp: None for view in self.seen.metadata.values() for tp in view}
        meant = partitions_meant(ref, known)
        if not meant:
            raise StepError(f"there is no partition of {ref} now")
        return meant
