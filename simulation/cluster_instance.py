"""The port ClusterInstance: what a run asks of a cluster, in whichever world that cluster lives.

What Kafka's protocol can ask is not here: admin clients and workloads ask brokers for it at
``spec``'s addresses, over the running loop. Nodes are named ``controller``, ``broker-1``, ...; log
dirs by their path in ``spec``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from protocol.cluster_file.spec import ClusterSpec
from protocol.faults.model import BrokerFault
from protocol.ids import TopicPartition
from protocol.ports import WallClock
from simulation.core.capability import Capability
from simulation.core.observation import ObservedNode
from simulation.core.samples import Samples


class ClusterInstanceError(Exception):
    """The cluster refused something that is no matter of Kafka's protocol; the text says why."""


class ClusterInstance(Protocol):
    """One cluster, from its start to its end."""

    @property
    def spec(self) -> ClusterSpec:
        """The cluster as it was configured: ids, addresses, log dirs in the order of the plan."""
        ...

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """What this stage can do beyond the rest of this port."""
        ...

    def now_ms(self) -> int:
        """Return the time since the stage was made."""
        ...

    @property
    def clock(self) -> WallClock:
        """The time of day where its clients live."""
        ...

    async def start(self) -> None:
        """Start every node; return when every broker knows all brokers.

        Raises:
            ClusterInstanceError: it does not come to that.
        """
        ...

    async def stop(self) -> None:
        """End every node and give back what the stage holds; faults are taken off before."""
        ...

    async def start_node(self, node: str) -> None:
        """Start a node that is down; return at once, whether or not it is ready.

        Raises:
            ClusterInstanceError: it runs.
        """
        ...

    async def stop_node(self, node: str) -> None:
        """Ask a node to end and wait until it has."""
        ...

    async def kill_node(self, node: str) -> None:
        """End a node at once; what its disks were given stays."""
        ...

    async def cut_power(self, node: str) -> None:
        """End a node at once, and lose what it had not synced (``POWER_CUT``)."""
        ...

    async def pause_node(self, node: str) -> None:
        """Let a node stand still; its connections stay."""
        ...

    async def resume_node(self, node: str) -> None:
        """Let a paused node go on."""
        ...

    async def slow_cpu(self, node: str, factor: float) -> None:
        """Let a node take ``factor`` times as long for everything (``SLOW_CPU``); 1 ends it."""
        ...

    async def skew_clock(self, node: str, by_ms: int) -> None:
        """Put a node's wall clock ahead of the others', or behind (``CLOCK_SKEW``)."""
        ...

    def node(self, node: str) -> ObservedNode:
        """Tell how a node is now."""
        ...

    async def add_fault(self, name: str, fault: BrokerFault) -> None:
        """Set a fault under a name of the plan; its nodes and log dirs are those of ``spec``.

        Raises:
            ClusterInstanceError: it cannot be set here.
        """
        ...

    async def clear_fault(self, name: str) -> None:
        """Take a fault off; what hangs on it goes on. Its hits stay known."""
        ...

    async def fault_hits(self) -> Mapping[str, int]:
        """Return how many operations each fault has changed so far, cleared ones too."""
        ...

    async def restart_log_dir(self, broker: int, path: str) -> None:
        """Bring a repaired log dir back with its data; return once that was begun.

        Raises:
            ClusterInstanceError: the broker refuses.
        """
        ...

    async def replace_log_dir(
        self,
        broker: int,
        path: str,
        *,
        accept_loss: bool,
        throttle_bytes_per_second: int | None = None,
    ) -> None:
        """Put an empty log dir in the place of another; return once that was begun.

        A broker that is down is not asked: it finds the empty one when it starts.

        Raises:
            ClusterInstanceError: the broker refuses.
        """
        ...

    async def restart_partition(self, broker: int, partition: TopicPartition) -> None:
        """Bring one offline replica back.

        Raises:
            ClusterInstanceError: the broker refuses.
        """
        ...

    async def samples(self) -> Samples:
        """Return what was seen inside the nodes, and the logs as they lie on the disks now.

        Asked once, when no client works any more. A stage that cannot look inside tells less.
        """
        ...

    async def lacks(self) -> Sequence[str]:
        """Return what nodes themselves still wait for, a sentence each.

        Clients cannot see it: a leader that has not heard of its election yet. A stage that cannot
        look inside returns nothing.
        """
        ...

    async def write_file(self, broker: int, path: str, name: str, text: str) -> None:
        """Put a file below a log dir, durable, with the directories above it.

        Raises:
            ClusterInstanceError: a file is where a directory must be, or the other way round.
        """
        ...

    async def remove_file(self, broker: int, path: str, name: str) -> None:
        """Take away what has this name below a log dir; ``.`` is all that it holds.

        Raises:
            ClusterInstanceError: there is nothing of this name.
        """
        ...

    async def read_journal(self) -> bytes:
        """Return the controller's journal as it lies on its disk."""
        ...

    async def write_journal(self, data: bytes) -> None:
        """Put other bytes in its place, durable; the controller must be down."""
        ...

    async def files(self, broker: int, path: str) -> Mapping[str, str]:
        """Return what lies below a log dir: name -> text, "" for what is no small text."""
        ...

    async def metrics(self, broker: int) -> Mapping[str, float]:
        """Return the broker's metrics, by name with labels as in Prometheus' text.

        Raises:
            ClusterInstanceError: the broker does not answer.
        """
        ...
