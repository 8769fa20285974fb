"""The journaled decisions about the journal itself, and about what was learned as it was behind.

As in ``controller.core.records``.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.core.state import ClusterState, UnknownReplica
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class JournalBegun:
    """This journal got its name; a copy of it keeps it."""

    journal_id: bytes

    def apply(self, state: ClusterState) -> None:
        """Set it."""
        state.journal_id = self.journal_id


@dataclass(frozen=True, slots=True)
class EpochsRecalled:
    """Where controller epochs began; only in a compacted journal."""

    epoch_starts: tuple[tuple[int, int], ...]

    def apply(self, state: ClusterState) -> None:
        """Set them."""
        state.epoch_starts = dict(self.epoch_starts)


@dataclass(frozen=True, slots=True)
class DecisionsLost:
    """A broker has heard of decisions that the journal does not have, behind this one."""

    after: int

    def apply(self, state: ClusterState) -> None:
        """Move on."""
        state.lost_after = max(state.lost_after, self.after)


@dataclass(frozen=True, slots=True)
class BrokerEpochsRaised:
    """Broker epochs below this one may belong to registrations that the journal does not know."""

    next_broker_epoch: int

    def apply(self, state: ClusterState) -> None:
        """Move on."""
        state.next_broker_epoch = max(state.next_broker_epoch, self.next_broker_epoch)


@dataclass(frozen=True, slots=True)
class UnknownReplicasReported:
    """A broker reported all replicas that it goes on with and the journal does not know."""

    broker_id: int
    replicas: tuple[tuple[TopicPartition, UnknownReplica], ...]

    def apply(self, state: ClusterState) -> None:
        """Replace what it reported before."""
        if self.replicas:
            state.unknown_replicas[self.broker_id] = dict(self.replicas)
        else:
            state.unknown_replicas.pop(self.broker_id, None)
