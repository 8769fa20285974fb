"""The journaled decisions about reassignments, as in ``controller.core.records``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.core.hosting import drop, host, unhost
from controller.core.state import ClusterState
from protocol.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class AssignmentChanged:
    """A reassignment began, moved on or ended."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]

    def apply(self, state: ClusterState) -> None:
        """Replace the assignment and what each broker hosts and is to delete."""
        tp = TopicPartition(self.topic, self.partition)
        partitions = state.topics[self.topic].partitions
        before = partitions[self.partition].replicas
        unhost(state, tp, before)
        for broker_id in before:
            if broker_id not in self.replicas:
                drop(state.offline, broker_id, tp)
                state.removed.setdefault(broker_id, {})[tp] = None
        partitions[self.partition] = replace(
            partitions[self.partition],
            replicas=self.replicas,
            adding_replicas=self.adding_replicas,
            removing_replicas=self.removing_replicas,
        )
        host(state, tp, self.replicas)
        if partitions[self.partition].is_reassigning:
            state.reassigning[tp] = None
        else:
            state.reassigning.pop(tp, None)


@dataclass(frozen=True, slots=True)
class RemovalsPending:
    """A broker still has to delete replicas that reassignments took from it (snapshots only)."""

    broker_id: int
    removed: tuple[TopicPartition, ...]

    def apply(self, state: ClusterState) -> None:
        """Add them."""
        state.removed.setdefault(self.broker_id, {}).update(dict.fromkeys(self.removed))


@dataclass(frozen=True, slots=True)
class RemovalsConfirmed:
    """A broker deleted replicas that reassignments took from it."""

    broker_id: int
    gone: tuple[TopicPartition, ...]

    def apply(self, state: ClusterState) -> None:
        """Forget them."""
        for tp in self.gone:
            drop(state.removed, self.broker_id, tp)


@dataclass(frozen=True, slots=True)
class ThrottlesClaimed:
    """Throttles of topics and brokers turned out to be for the reassignments under way."""

    topics: tuple[str, ...]
    brokers: tuple[int, ...]

    def apply(self, state: ClusterState) -> None:
        """Remember whose they are."""
        state.throttled_topics.update(dict.fromkeys(self.topics))
        state.throttled_brokers.update(dict.fromkeys(self.brokers))


@dataclass(frozen=True, slots=True)
class ThrottlesReleased:
    """The reassignments are over and their throttles are taken off."""

    def apply(self, state: ClusterState) -> None:
        """Forget whose they were."""
        state.throttled_topics.clear()
        state.throttled_brokers.clear()
