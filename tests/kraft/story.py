"""What was tried out against a controller of a KRaft quorum, step by step, as a broker of its own.

It registers, is unfenced, is given a replica, says which log dir it is in, loses that log dir.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from jbodlab.asking.rpc import BlockingClient
from protocol.errors import ErrorCode
from protocol.messages.lifecycle import BrokerHeartbeatResponse
from protocol.messages.log_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tests.kraft.observer import Observer

BROKER: Final = 7
LOG_DIRS: Final = [(0xD1).to_bytes(16), (0xD2).to_bytes(16)]
_PORT: Final = 9
"""Nobody connects to it: a broker without peers is asked nothing."""
TOPIC: Final = "orders"
Step = tuple[str, Any]
"""What was done, and what came of it."""


def story(client: BlockingClient) -> Iterator[Step]:
    """Give what each step brought; the metadata log is read as an observer between them."""
    observer = Observer(client, BROKER, LOG_DIRS)
    yield "registration", (ErrorCode(observer.register(_PORT)), observer.broker_epoch)
    yield "first heartbeat, nothing read", observer.heartbeat()
    observer.read_until(lambda: any(observer.of(RegisterBrokerRecord)))
    yield "features", list(observer.of(FeatureLevelRecord))
    yield "registered", next(observer.of(RegisterBrokerRecord))
    yield "heartbeat, all read", _caught_up(observer)
    observer.read_until(lambda: any(observer.of(BrokerRegistrationChangeRecord)))
    yield "unfenced", next(observer.of(BrokerRegistrationChangeRecord))

    yield "topic created", _create(client)
    observer.read_until(lambda: any(observer.of(PartitionRecord)))
    topic: TopicRecord = next(observer.of(TopicRecord))
    yield "topic", topic
    yield "replica assigned", next(observer.of(PartitionRecord))

    yield "log dir told", _assign(client, observer, topic.topic_id)
    observer.read_until(lambda: any(observer.of(PartitionChangeRecord)))
    yield "log dir written", next(observer.of(PartitionChangeRecord))

    observer.heartbeat(offline_log_dirs=[LOG_DIRS[0]])
    observer.read_until(lambda: len(list(observer.of(PartitionChangeRecord))) > 1)
    yield "log dirs left", list(observer.of(BrokerRegistrationChangeRecord))[-1]
    yield "without a leader", list(observer.of(PartitionChangeRecord))[-1]


def _caught_up(observer: Observer) -> BrokerHeartbeatResponse:
    """Heartbeat and read until the controller calls the broker caught up and unfences it."""
    told: list[BrokerHeartbeatResponse] = []

    def is_unfenced() -> bool:
        told.append(observer.heartbeat())
        return not told[-1].is_fenced

    observer.read_until(is_unfenced)
    return told[-1]


def _create(client: BlockingClient) -> ErrorCode:
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1)
    answer: CreateTopicsResponse = client.request(CreateTopicsRequest(topics=[topic]), 7)
    (created,) = answer.topics
    return ErrorCode(created.error_code)


def _assign(client: BlockingClient, observer: Observer, topic_id: bytes) -> ErrorCode:
    topic = TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=0)])
    asked = AssignReplicasToDirsRequest(
        broker_id=BROKER,
        broker_epoch=observer.broker_epoch,
        directories=[DirectoryData(id=LOG_DIRS[0], topics=[topic])],
    )
    answer: AssignReplicasToDirsResponse = client.request(asked, 0)
    assert answer.error_code == ErrorCode.NONE
    ((assigned,),) = [topic.partitions for one in answer.directories for topic in one.topics]
    return ErrorCode(assigned.error_code)
