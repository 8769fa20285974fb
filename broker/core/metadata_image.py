"""What a broker knows of the whole cluster: brokers, topics, leaders, offline replicas.

UpdateMetadata fills it; it asks nobody and creates no topics. ``broker.core.metadata_answer``
answers Metadata from it.
Source: ZkMetadataCache.scala, MetadataSnapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from protocol.connection import DEFAULT_LISTENER
from protocol.ids import (
    LEADER_DURING_DELETE,
    NO_LEADER,
    ZERO_UUID,
    BrokerId,
    TopicPartition,
)
from protocol.messages.control import (
    FULL_METADATA,
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.security.listeners import SecurityProtocol

_PROTOCOL_NAMES: Final = {each.value: each.name for each in SecurityProtocol}
"""Listener names of UpdateMetadata before version 3, which has none."""


class LiveBroker(NamedTuple):
    """A broker that the controller counts as alive, reachable on the image's listener."""

    id: BrokerId
    host: str
    port: int
    rack: str | None


class PartitionImage(NamedTuple):
    """One partition as the controller last told it."""

    leader: int
    """-1 without one."""
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    """As sent: on dead brokers and on offline log dirs."""
    partition_epoch: int


class TopicImage:
    """One topic; changed in place, read it and let it go."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str) -> None:
        self.name = name
        self.topic_id = ZERO_UUID
        self.partitions: dict[int, PartitionImage] = {}


class MetadataChange(NamedTuple):
    """What one UpdateMetadata changed."""

    deleted: tuple[TopicPartition, ...]
    """Partitions of topics that are being deleted."""
    topics: tuple[str, ...]
    """Names that the request mentioned, deleted ones included."""
    brokers_changed: bool


class MetadataImage:
    """The metadata cache of one broker; ``update`` is its only way to change."""

    __slots__ = (
        "_alive",
        "_brokers",
        "_elsewhere",
        "_listener",
        "_names",
        "_topics",
        "broker_id",
        "brokers_generation",
        "controller_id",
        "generation",
        "topic_generations",
    )

    def __init__(self, *, broker_id: BrokerId, listener: str = DEFAULT_LISTENER) -> None:
        self.broker_id = broker_id
        self.controller_id: BrokerId = NO_LEADER
        """As the controller calls itself; not a broker's id when it is a process of its own."""
        self.generation = 0
        """Grows with every change; answers built at an older one are stale."""
        self.brokers_generation = 0
        """The generation of the last change of brokers: it can change any partition's error."""
        self.topic_generations: dict[str, int] = {}
        """Per topic, the generation of its last change."""
        self._listener = listener
        self._alive: dict[int, UpdateMetadataBroker] = {}
        self._brokers: dict[int, LiveBroker] = {}
        self._elsewhere: dict[str, dict[int, LiveBroker]] = {}
        """By the other listeners, as far as somebody asked."""
        self._topics: dict[str, TopicImage] = {}
        self._names: dict[bytes, str] = {}

    def update(self, request: UpdateMetadataRequest) -> MetadataChange:
        """Take over an UpdateMetadata whose epochs are good; ``topic_states`` must be filled.

        Brokers replace all known ones, partitions are merged, leader -2 removes a partition. One of
        everything removes all that it does not name.
        """
        self.generation += 1
        self.controller_id = BrokerId(max(request.controller_id, NO_LEADER))
        brokers_changed = self._update_brokers(request.live_brokers)
        is_full = request.type == FULL_METADATA
        deleted = self._forget_others(request.topic_states) if is_full else []
        for topic in request.topic_states:
            self.topic_generations[topic.topic_name] = self.generation
            deleted += self._update_topic(topic)
        names = tuple(topic.topic_name for topic in request.topic_states)
        return MetadataChange(tuple(deleted), names, brokers_changed)

    def live_brokers(self, listener: str | None = None) -> list[LiveBroker]:
        """Return the brokers that can be reached by a listener, by id.

        None is the listener by which the brokers reach each other.
        """
        return list(self._at(listener).values())

    def live_broker(self, broker_id: int, listener: str | None = None) -> LiveBroker | None:
        """Return where a broker is reached; None when it is dead or lacks the listener."""
        return self._at(listener).get(broker_id)

    def _at(self, listener: str | None) -> Mapping[int, LiveBroker]:
        if listener is None or listener == self._listener:
            return self._brokers
        if listener not in self._elsewhere:
            self._elsewhere[listener] = _reached_by(listener, self._alive)
        return self._elsewhere[listener]

    def is_alive(self, broker_id: int) -> bool:
        """Tell whether the controller counts the broker as alive, with whatever listeners."""
        return broker_id in self._alive

    def client_controller_id(self) -> int:
        """Return the broker that clients shall send admin requests to, -1 without one.

        Any broker passes them on; it is this one while it is alive itself, as in KRaft any is. In
        a cluster with ZooKeeper a broker is the controller, and brokers of Kafka pass nothing on.
        """
        if self.controller_id in self._brokers:
            return self.controller_id
        if self.broker_id in self._brokers:
            return self.broker_id
        return next(iter(self._brokers), NO_LEADER)

    def has_topic(self, name: str) -> bool:
        """Tell whether the topic is known here."""
        return name in self._topics

    def topic(self, name: str) -> TopicImage | None:
        """Return the topic, None when it is unknown."""
        return self._topics.get(name)

    def topics(self) -> Iterator[TopicImage]:
        """Give all topics in the order in which they became known."""
        return iter(self._topics.values())

    def topic_id(self, name: str) -> bytes:
        """Return the topic's id, all zero when it is unknown."""
        topic = self._topics.get(name)
        return topic.topic_id if topic is not None else ZERO_UUID

    def topic_name(self, topic_id: bytes | memoryview) -> str | None:
        """Return the name that belongs to an id, None when no topic has it."""
        return self._names.get(bytes(topic_id))

    def has_partition(self, tp: TopicPartition) -> bool:
        """Tell whether the partition is known here."""
        return self.partition(tp) is not None

    def partition(self, tp: TopicPartition) -> PartitionImage | None:
        """Return the partition, None when it is unknown."""
        topic = self._topics.get(tp.topic)
        return topic.partitions.get(tp.partition) if topic is not None else None

    def is_replica(self, tp: TopicPartition, broker_id: int) -> bool:
        """Tell whether the partition is known and has a replica on a broker."""
        partition = self.partition(tp)
        return partition is not None and broker_id in partition.replicas

    def is_elsewhere(self, tp: TopicPartition, broker_id: int) -> bool:
        """Tell whether the partition is known, and has replicas on other brokers alone."""
        partition = self.partition(tp)
        return partition is not None and broker_id not in partition.replicas

    def leader_of(self, tp: TopicPartition) -> tuple[int, int]:
        """Return (leader, leader epoch) of a partition; (-1, -1) when it is unknown."""
        partition = self.partition(tp)
        return (partition.leader, partition.leader_epoch) if partition else (-1, -1)

    def _update_brokers(self, rows: Sequence[UpdateMetadataBroker]) -> bool:
        alive = {row.id: row for row in sorted(rows, key=lambda row: row.id)}
        brokers = _reached_by(self._listener, alive)
        elsewhere = {listener: _reached_by(listener, alive) for listener in self._elsewhere}
        changed = brokers != self._brokers or alive.keys() != self._alive.keys()
        changed = changed or elsewhere != self._elsewhere
        if changed:
            self.brokers_generation = self.generation
        self._alive, self._brokers, self._elsewhere = alive, brokers, elsewhere
        return changed

    def _forget_others(self, rows: Sequence[UpdateMetadataTopicState]) -> list[TopicPartition]:
        """Forget all partitions but these."""
        named = {
            row.topic_name: [state.partition_index for state in row.partition_states]
            for row in rows
        }
        forgotten: list[TopicPartition] = []
        for topic in list(self._topics.values()):
            kept = dict.fromkeys(named.get(topic.name, ()))
            for index in [index for index in topic.partitions if index not in kept]:
                del topic.partitions[index]
                forgotten.append(TopicPartition(topic.name, index))
            if not topic.partitions:
                self._forget(topic)
        return forgotten

    def _update_topic(self, row: UpdateMetadataTopicState) -> list[TopicPartition]:
        name = row.topic_name
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = TopicImage(name)
        self._rename(topic, bytes(row.topic_id))
        deleted: list[TopicPartition] = []
        for state in row.partition_states:
            if state.leader == LEADER_DURING_DELETE:
                topic.partitions.pop(state.partition_index, None)
                deleted.append(TopicPartition(name, state.partition_index))
            else:
                topic.partitions[state.partition_index] = _image_of(state)
        if not topic.partitions:
            self._forget(topic)
        return deleted

    def _rename(self, topic: TopicImage, topic_id: bytes) -> None:
        if topic.topic_id != topic_id:
            self._names.pop(topic.topic_id, None)
            topic.topic_id = topic_id
        if topic_id != ZERO_UUID:
            self._names[topic_id] = topic.name

    def _forget(self, topic: TopicImage) -> None:
        del self._topics[topic.name]
        del self.topic_generations[topic.name]
        self._names.pop(topic.topic_id, None)


def _reached_by(listener: str, alive: Mapping[int, UpdateMetadataBroker]) -> dict[int, LiveBroker]:
    found: dict[int, LiveBroker] = {}
    for broker_id, row in alive.items():
        address = _endpoints(row).get(listener)
        if address is not None:
            found[broker_id] = LiveBroker(BrokerId(broker_id), *address, row.rack)
    return found


def _endpoints(row: UpdateMetadataBroker) -> Mapping[str, tuple[str, int]]:
    if not row.endpoints:
        return {DEFAULT_LISTENER: (row.v0_host, row.v0_port)} if row.v0_host else {}
    return {
        endpoint.listener or _PROTOCOL_NAMES.get(endpoint.security_protocol, DEFAULT_LISTENER): (
            endpoint.host,
            endpoint.port,
        )
        for endpoint in row.endpoints
    }


def _image_of(state: UpdateMetadataPartitionState) -> PartitionImage:
    return PartitionImage(
        state.leader,
        state.leader_epoch,
        tuple(state.isr),
        tuple(state.replicas),
        tuple(state.offline_replicas),
        state.zk_version,
    )
