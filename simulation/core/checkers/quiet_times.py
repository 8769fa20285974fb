"""When nothing stood between nodes: they ran, and no fault kept them from telling each other.

A node is disturbed while it is down, paused or slow, or what it is told waits for a disk that hangs
or is slow; so is the controller by whatever befalls the disk of its journal. A fault of the network
disturbs who is at both of its ends. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from protocol.faults.model import ANY_NODE, CONTROLLER_NODE, DISK_MODE_NAMES, DiskMode, NetworkMode
from simulation.core.samples import FaultSample, NodeSample, Samples

SETTLED_WITHIN_US: Final = 10_000_000
"""So long after the controller began, or a process was slow or stood still, nothing may be told.

A broker that began answers nobody before it was told everything.
"""
RECONNECTED_WITHIN_US: Final = 30_000_000
"""The controller waits so long for an answer over a connection that is dead.

One that is half open may be used first long after the fault, so that it disturbs to the end.
"""
_SLOW_DISKS: Final = (DiskMode.HANG.value, DiskMode.SLOW.value)


class _Disturbance(NamedTuple):
    """Something that concerns a node, from a time to a time."""

    node: str
    """"": every node."""
    begin_us: int
    end_us: int
    between: tuple[str, ...] = ()
    """Or, of the network, those at its ends when they have to do with each other; ``*``: any."""

    def concerns(self, nodes: Sequence[str]) -> bool:
        """Tell whether it stands between some of these nodes, or befalls one."""
        if self.between:
            return all(end in (ANY_NODE, *nodes) for end in self.between)
        return not self.node or self.node in nodes


class QuietTimes:
    """Of all nodes of one run."""

    def __init__(self, samples: Samples) -> None:
        self._disturbances = [
            *_of_processes(samples.nodes, samples.ended_us),
            *_of_faults(samples.faults, samples.ended_us),
        ]
        self._ends = list(_ends(samples.nodes))
        self._begins = list(_begins(samples.nodes))

    def lasts(self, nodes: Sequence[str], begin_us: int, end_us: int) -> bool:
        """Tell whether nothing stood between these nodes in all that time."""
        return not any(
            each.begin_us <= end_us and begin_us <= each.end_us
            for each in self._disturbances
            if each.concerns(nodes)
        )

    def acts(self, node: str, begin_us: int, end_us: int) -> bool:
        """Tell whether a node ran freely in all that time, whatever befell the network."""
        return not any(
            each.begin_us <= end_us and begin_us <= each.end_us
            for each in self._disturbances
            if each.node == node
        )

    def ends(self, node: str, begin_us: int, end_us: int) -> bool:
        """Tell whether a process of this node ended, or was paused, in that time."""
        return any(name == node and begin_us <= at_us <= end_us for name, at_us in self._ends)

    def begins(self, node: str, begin_us: int, end_us: int) -> bool:
        """Tell whether a process of this node began, or went on after a pause, in that time."""
        return any(name == node and begin_us <= at_us <= end_us for name, at_us in self._begins)


def _ends(samples: Iterable[NodeSample]) -> Iterator[tuple[str, int]]:
    """Give when processes were seen to be down, or to be others than before: between two looks."""
    boots: dict[str, int] = {}
    for sample in samples:
        if not sample.is_up or boots.get(sample.node, sample.boot) != sample.boot:
            yield sample.node, sample.at_us
        boots[sample.node] = sample.boot


def _begins(samples: Iterable[NodeSample]) -> Iterator[tuple[str, int]]:
    """Give when processes were seen to be up that were not, or that are others than before."""
    boots: dict[str, int | None] = {}
    for sample in samples:
        if sample.is_up and boots.get(sample.node) != sample.boot:
            yield sample.node, sample.at_us
        boots[sample.node] = sample.boot if sample.is_up else None


def _of_processes(samples: Iterable[NodeSample], ended_us: int) -> Iterator[_Disturbance]:
    """Give the times in which nodes did not run; a new controller hears brokers before it acts.

    A process that stood still goes on with what it knew, until it finds its connections dead.
    """
    down: dict[str, int] = {}
    boots: dict[str, int] = {}
    begun: dict[str, None] = {}
    for sample in samples:
        began_us = down.pop(sample.node, sample.at_us)
        # It may have been paused as soon as it was started, before anybody saw it run.
        stood_still = boots.get(sample.node) == sample.boot
        boots[sample.node] = sample.boot
        if not sample.is_up:
            down[sample.node] = began_us
            continue
        hears_first = sample.node == CONTROLLER_NODE and sample.node in begun
        settles_us = SETTLED_WITHIN_US if hears_first or stood_still else 0
        begun[sample.node] = None
        yield _Disturbance(sample.node, began_us, sample.at_us + settles_us)
    for node, began_us in down.items():
        yield _Disturbance(node, began_us, ended_us)


def _of_faults(samples: Iterable[FaultSample], ended_us: int) -> Iterator[_Disturbance]:
    for fault in samples:
        leaves_dead_ends = fault.what == NetworkMode.HALF_OPEN.value
        end_us = ended_us if fault.end_us is None or leaves_dead_ends else fault.end_us
        is_of_disk = fault.log_dir or fault.what in DISK_MODE_NAMES
        if not is_of_disk:
            settles_us = SETTLED_WITHIN_US if fault.node else RECONNECTED_WITHIN_US
            yield _Disturbance(fault.node, fault.begin_us, end_us + settles_us, fault.between)
        elif fault.node == CONTROLLER_NODE or fault.what in _SLOW_DISKS:
            yield _Disturbance(fault.node, fault.begin_us, end_us + SETTLED_WITHIN_US)
