"""Questions and orders to a running cluster, over Kafka's protocol, one node at a time.

Blocking. It retries nothing: who asks decides what a missing answer means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jbodlab.asking.rpc import BlockingClient
from jbodlab.errors import BrokerAwayError
from protocol.cluster_file.spec import ClusterSpec, TopicSpec
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)

SOON_MS: Final = 1_500
"""A broker that does not answer so soon may wait for the controller, and another one know more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    """One partition, as a broker's metadata tells it."""

    topic: str
    partition: int
    leader: int
    """-1 when there is none."""
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    error_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What one broker's metadata tells."""

    controller_id: int
    broker_ids: tuple[int, ...]
    partitions: tuple[PartitionView, ...]
    racks: Mapping[int, str] = field(default_factory=dict[int, str])
    """Of the brokers that have one."""

    def partition(self, topic: str, partition: int) -> PartitionView:
        """Return one partition.

        Raises:
            KeyError: the metadata does not name it.
        """
        for view in self.partitions:
            if (view.topic, view.partition) == (topic, partition):
                return view
        raise KeyError(f"{topic}-{partition}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaView:
    """One replica, as DescribeLogDirs tells it."""

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirView:
    """One log dir, as DescribeLogDirs tells it."""

    broker: int
    path: str
    error_code: int
    total_bytes: int
    usable_bytes: int
    replicas: tuple[ReplicaView, ...]
    is_cordoned: bool = False

    @property
    def is_online(self) -> bool:
        """Whether the broker serves from it."""
        return self.error_code == ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentView:
    """One reassignment under way."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    """The targets first, then those that go."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ClusterAdmin:
    """Keeps one connection per broker; close it, or use it as a context manager."""

    def __init__(self, spec: ClusterSpec, *, timeout_ms: int = 30_000) -> None:
        self._timeout_ms = timeout_ms
        self._clients = {
            broker.id: BlockingClient(
                broker.advertised_host, broker.advertised_port, timeout_ms=timeout_ms
            )
            for broker in spec.brokers
        }

    def __enter__(self) -> ClusterAdmin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up everywhere."""
        for client in self._clients.values():
            client.close()

    def view(
        self, broker_id: int, topics: Sequence[str] | None = None, *, timeout_ms: int | None = None
    ) -> ClusterView:
        """Ask one broker for metadata; None asks for all topics.

        Raises:
            BrokerAwayError: the broker does not answer.
        """
        named = (
            None
            if topics is None
            else [MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in topics]
        )
        request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
        response = self.ask(request, 9, broker_id, timeout_ms=timeout_ms)
        return ClusterView(
            controller_id=response.controller_id,
            broker_ids=tuple(sorted(broker.node_id for broker in response.brokers)),
            partitions=tuple(
                _partition_view(topic.name, partition)
                for topic in response.topics
                for partition in sorted(topic.partitions, key=lambda each: each.partition_index)
            ),
            racks={broker.node_id: broker.rack for broker in response.brokers if broker.rack},
        )

    def any_view(self, topics: Sequence[str] | None = None) -> ClusterView:
        """Ask the first broker that answers; those that are slow to do so are asked last.

        Raises:
            ConnectionError: none does.
        """
        for timeout_ms in (min(SOON_MS, self._timeout_ms), self._timeout_ms):
            for broker_id in self._clients:
                try:
                    return self.view(broker_id, topics, timeout_ms=timeout_ms)
                except OSError:
                    continue
        raise ConnectionError("no broker answers")

    def create_topic(
        self, topic: TopicSpec, *, assignment: Mapping[int, Sequence[int]] | None = None
    ) -> None:
        """Create a topic; ``assignment`` maps partitions to brokers, preferred leader first.

        Raises:
            KafkaError: the controller's answer.
            ConnectionError: no broker answers.
        """
        creatable = CreatableTopic(
            name=topic.name,
            num_partitions=-1 if assignment else topic.partitions,
            replication_factor=-1 if assignment else topic.replication_factor,
            assignments=[
                CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
                for partition, brokers in (assignment or {}).items()
            ],
            configs=[
                CreatableTopicConfig(name=name, value=value)
                for name, value in topic.configs.items()
            ],
        )
        request = CreateTopicsRequest(
            topics=[creatable], timeout_ms=self._timeout_ms, validate_only=False
        )
        response = self.ask_any(request, 5)
        for result in response.topics:
            _check(result.error_code, result.error_message)

    def delete_topic(self, name: str) -> None:
        """Delete a topic.

        Raises:
            KafkaError: the controller's answer.
            ConnectionError: no broker answers.
        """
        request = DeleteTopicsRequest(topics=[], topic_names=[name], timeout_ms=self._timeout_ms)
        response = self.ask_any(request, 5)
        for result in response.responses:
            _check(result.error_code, result.error_message)

    def log_dirs(
        self, broker_id: int, partitions: Mapping[str, Sequence[int]] | None = None
    ) -> list[LogDirView]:
        """Describe every log dir of one broker; of all partitions, or of some by topic.

        Raises:
            BrokerAwayError: the broker does not answer.
        """
        topics = (
            None
            if partitions is None
            else [
                DescribableLogDirTopic(topic=topic, partitions=list(indexes))
                for topic, indexes in partitions.items()
            ]
        )
        response = self.ask(DescribeLogDirsRequest(topics=topics), 5, broker_id)
        return [_log_dir_view(broker_id, result) for result in response.results]

    def move_replicas(self, broker_id: int, path: str, partitions: Mapping[str, list[int]]) -> None:
        """Order one broker to move replicas to ``path``; returns once the order is accepted.

        Raises:
            KafkaError: the first partition's error.
            BrokerAwayError: the broker does not answer.
        """
        response = self.ask(_move_request({path: partitions}), 2, broker_id)
        for topic in response.results:
            for partition in topic.partitions:
                _check(partition.error_code, f"{topic.topic_name}-{partition.partition_index}")

    def reassign(self, targets: Mapping[tuple[str, int], Sequence[int] | None]) -> None:
        """Give partitions other replicas, preferred leader first; None takes a wish back.

        Returns once it is accepted.

        Raises:
            KafkaError: the first partition's error.
            ConnectionError: no broker answers.
        """
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=self._timeout_ms,
            topics=[
                ReassignableTopic(
                    name=topic,
                    partitions=[
                        ReassignablePartition(
                            partition_index=partition,
                            replicas=None if target is None else list(target),
                        )
                    ],
                )
                for (topic, partition), target in targets.items()
            ],
        )
        response = self.ask_any(request, 0)
        _check(response.error_code, response.error_message)
        for topic in response.responses:
            for partition in topic.partitions:
                _check(partition.error_code, partition.error_message)

    def reassignments(self) -> list[ReassignmentView]:
        """List what is under way.

        Raises:
            KafkaError: the controller's answer.
            ConnectionError: no broker answers.
        """
        request = ListPartitionReassignmentsRequest(timeout_ms=self._timeout_ms, topics=None)
        response = self.ask_any(request, 0)
        _check(response.error_code, response.error_message)
        return [
            ReassignmentView(
                topic=topic.name,
                partition=partition.partition_index,
                replicas=tuple(partition.replicas),
                adding=tuple(partition.adding_replicas),
                removing=tuple(partition.removing_replicas),
            )
            for topic in response.topics
            for partition in topic.partitions
        ]

    def ask(
        self, message: Any, version: int, broker_id: int, *, timeout_ms: int | None = None
    ) -> Any:
        """Send any request to one broker and return its answer, whatever codes are in it.

        Raises:
            BrokerAwayError: it does not answer.
        """
        client = self._clients[broker_id]
        try:
            return client.request(message, version, timeout_ms=timeout_ms)
        except OSError as error:
            where = f"broker {broker_id} at {client.host}:{client.port}"
            raise BrokerAwayError(f"{where} does not answer ({error.strerror or error})") from error

    def ask_any(self, message: Any, version: int) -> Any:
        """Send any request to the first broker that answers.

        Raises:
            ConnectionError: none does.
        """
        for broker_id in self._clients:
            try:
                return self.ask(message, version, broker_id)
            except OSError:
                continue
        raise ConnectionError("no broker answers")


def move_requests(
    moves: Iterable[tuple[int, TopicPartition, str]],
) -> dict[int, AlterReplicaLogDirsRequest]:
    """Return what each broker is to be asked, for moves of (broker, partition, log dir)."""
    by_broker: dict[int, dict[str, dict[str, list[int]]]] = {}
    for broker, (topic, number), path in moves:
        topics = by_broker.setdefault(broker, {}).setdefault(path, {})
        topics.setdefault(topic, []).append(number)
    return {broker: _move_request(paths) for broker, paths in by_broker.items()}


def _move_request(paths: Mapping[str, Mapping[str, list[int]]]) -> AlterReplicaLogDirsRequest:
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=name, partitions=numbers)
                    for name, numbers in topics.items()
                ],
            )
            for path, topics in paths.items()
        ]
    )


def _partition_view(topic: str, partition: Any) -> PartitionView:
    return PartitionView(
        topic=topic,
        partition=partition.partition_index,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline_replicas=tuple(partition.offline_replicas),
        error_code=partition.error_code,
    )


def _log_dir_view(broker_id: int, result: Any) -> LogDirView:
    return LogDirView(
        broker=broker_id,
        path=result.log_dir,
        error_code=result.error_code,
        total_bytes=result.total_bytes,
        usable_bytes=result.usable_bytes,
        is_cordoned=result.is_cordoned,
        replicas=tuple(
            ReplicaView(
                topic=topic.name,
                partition=partition.partition_index,
                size_bytes=partition.partition_size,
                offset_lag=partition.offset_lag,
                is_future=partition.is_future_key,
            )
            for topic in result.topics
            for partition in topic.partitions
        ),
    )


def _check(error_code: int, message: str | None) -> None:
    if error_code != ErrorCode.NONE:
        raise KafkaError(ErrorCode(error_code), message or "")
