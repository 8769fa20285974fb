"""Writes down what a controller decided: partitions, configurations of topics and brokers.

A decision that ends with its process, before it was durable, was none: nobody was told of it.
The state's values are replaced and never changed, so that the same object is the same value.
"""

from __future__ import annotations

from typing import NamedTuple

from controller.core.state import ClusterState, Partition, Topic
from protocol.ids import TopicPartition
from simulation.core.samples import (
    BrokerConfigsSample,
    BrokerSample,
    PartitionSample,
    Samples,
    TopicSample,
)


class _SampleCounts(NamedTuple):
    """How much was written down up to a decision."""

    journal_number: int
    partitions_count: int
    topics_count: int
    broker_configs_count: int


class DecisionSampler:
    """What is known of the decisions so far."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._state: ClusterState | None = None
        self._seen: dict[TopicPartition, tuple[Partition | None, PartitionSample]] = {}
        self._configs: dict[str, dict[str, str]] = {}
        self._broker_configs: dict[str, dict[str, str]] = {}
        self._liveness: tuple[object, ...] = ()
        self._brokers: dict[int, BrokerSample] = {}
        self._written: list[_SampleCounts] = []
        """Since the last decision that is known to be durable, that one first."""

    def look(self, state: ClusterState, now_us: int) -> None:
        """Write down what differs from the look before."""
        liveness = _liveness(state)
        is_as_before = state is self._state and liveness == self._liveness
        self._state, self._liveness = state, liveness
        count = 0
        for topic in state.topics.values():
            count += len(topic.partitions)
            self._look_at_topic(state, topic, now_us, is_as_before=is_as_before)
        if count < len(self._seen):
            self._note_deleted(state, now_us)
        self._look_at_brokers(state, now_us)

    def note_durable(self, state: ClusterState, durable_number: int) -> None:
        """Note after a look how far the journal is durable, by the number of its last decision."""
        self._written.append(self._written_until(state.journal_number))
        durable = [each for each in self._written if each.journal_number <= durable_number]
        self._written = [*durable[-1:], *self._written[len(durable) :]]

    def forget_lost(self, durable_number: int) -> None:
        """Forget what was decided after this number: the controller ended before it was durable."""
        samples = self._samples
        durable = [each for each in self._written if each.journal_number <= durable_number]
        self._written.clear()
        kept = durable[-1] if durable else None
        if kept is None or kept[1:] == self._written_until(durable_number)[1:]:
            return
        del samples.partitions[kept.partitions_count :]
        del samples.topics[kept.topics_count :]
        del samples.broker_configs[kept.broker_configs_count :]
        self._state = None
        last = {each.tp: each for each in samples.partitions}
        self._seen = {tp: (None, each) for tp, each in last.items() if not each.is_deleted}
        self._configs = {each.topic: dict(each.configs) for each in samples.topics}
        self._broker_configs = {each.broker: dict(each.configs) for each in samples.broker_configs}

    def _written_until(self, journal_number: int) -> _SampleCounts:
        samples = self._samples
        return _SampleCounts(
            journal_number,
            len(samples.partitions),
            len(samples.topics),
            len(samples.broker_configs),
        )

    def _look_at_topic(
        self, state: ClusterState, topic: Topic, now_us: int, *, is_as_before: bool
    ) -> None:
        if self._configs.get(topic.name) != topic.configs:
            self._configs[topic.name] = dict(topic.configs)
            self._samples.topics.append(TopicSample(now_us, topic.name, dict(topic.configs)))
        for number, partition in enumerate(topic.partitions):
            tp = TopicPartition(topic.name, number)
            seen = self._seen.get(tp)
            is_same = is_as_before and seen is not None and seen[0] is partition
            if is_same and seen is not None and seen[1].is_deleted == topic.is_deleting:
                continue
            sample = _sample(state, topic, tp, now_us)
            if seen is None or sample._replace(at_us=seen[1].at_us) != seen[1]:
                self._samples.partitions.append(sample)
                seen = (partition, sample)
            self._seen[tp] = (partition, seen[1])

    def _look_at_brokers(self, state: ClusterState, now_us: int) -> None:
        for number, known in state.brokers.items():
            life = (known.broker_epoch, known.is_fenced)
            sample = BrokerSample(now_us, number, known.is_usable, life)
            seen = self._brokers.get(number)
            if seen is None or seen[2:] != sample[2:]:
                self._brokers[number] = sample
                self._samples.brokers.append(sample)
        for broker in list(dict.fromkeys((*state.dynamic_configs, *self._broker_configs))):
            configs = state.dynamic_configs.get(broker, {})
            if self._broker_configs.get(broker, {}) != configs:
                self._broker_configs[broker] = dict(configs)
                sample = BrokerConfigsSample(now_us, broker, dict(configs))
                self._samples.broker_configs.append(sample)

    def _note_deleted(self, state: ClusterState, now_us: int) -> None:
        for tp, (_, last) in list(self._seen.items()):
            if state.find(tp) is None:
                del self._seen[tp]
                self._samples.partitions.append(_gone(last, now_us))


def _gone(last: PartitionSample, now_us: int) -> PartitionSample:
    return last._replace(at_us=now_us, is_deleted=True, is_gone=True)


def _liveness(state: ClusterState) -> tuple[object, ...]:
    """Return what decides which replicas are offline."""
    return (
        tuple(state.brokers.values()),
        tuple((broker, tuple(tps)) for broker, tps in state.offline.items()),
    )


def _sample(state: ClusterState, topic: Topic, tp: TopicPartition, now_us: int) -> PartitionSample:
    partition = topic.partitions[tp.partition]
    return PartitionSample(
        now_us,
        tp,
        topic.topic_id,
        partition.replicas,
        partition.isr,
        partition.leader,
        partition.leader_epoch,
        tuple(r for r in partition.replicas if not state.is_replica_reachable(tp, r)),
        topic.is_deleting,
        partition.target_replicas,
        partition.partition_epoch,
        partition.is_recovering,
        is_reassigned=partition.is_reassigning,
    )
