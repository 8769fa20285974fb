"""Answers Metadata requests, versions 0 to 13, from the metadata image.

Rows of topics are kept until the topic or the brokers change: asking about 2,000 partitions again
costs nothing but the encoding. It creates no topics; the handler says which are being created.
Source: KafkaApis.scala handleTopicMetadataRequest, ZkMetadataCache.scala getPartitionMetadata.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Final

from broker.core.metadata_image import LiveBroker, MetadataImage, PartitionImage, TopicImage
from protocol.acls.model import OPERATIONS, AclResourceType, operation_bits
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_LEADER, ZERO_UUID
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.topic_names import INTERNAL_TOPICS, is_topic_name

TOPIC_OPERATIONS: Final = operation_bits(OPERATIONS[AclResourceType.TOPIC])
"""Without an authorizer everybody may do everything."""
CLUSTER_OPERATIONS: Final = operation_bits(OPERATIONS[AclResourceType.CLUSTER])

_LAYOUT_V0: Final = 0
_LAYOUT_OLD: Final = 1
_LAYOUT_LISTENER_ERRORS: Final = 6
_TOPIC_IDS_IN_REQUEST_VERSION: Final = 12
_ROWS_PER_TOPIC: Final = 3
"""One per layout; more are rows of deleted topics."""


def check_names(request: MetadataRequest, version: int) -> None:
    """Versions 10 and 11 have room for ids of topics, and do not take them.

    Raises:
        KafkaError: INVALID_REQUEST, an id, or null for a name, before version 12.
    """
    if version >= _TOPIC_IDS_IN_REQUEST_VERSION:
        return
    for topic in request.topics or ():
        if topic.name is None or bytes(topic.topic_id) != ZERO_UUID:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Metadata v{version} takes names only.")


def by_ids(request: MetadataRequest) -> MetadataRequest:
    """Return what counts of a request: where one topic has an id, ids alone.

    Source: KafkaApis.scala handleTopicMetadataRequest.
    """
    topics = [topic for topic in request.topics or () if bytes(topic.topic_id) != ZERO_UUID]
    if not topics:
        return request
    return replace(request, topics=[replace(topic, name=None) for topic in topics])


class MetadataAnswers:
    """The answers of one broker. One per image; rows it returns are shared: never change them."""

    __slots__ = ("_others", "_rows", "image", "listener")

    def __init__(self, image: MetadataImage, listener: str | None = None) -> None:
        """Answer what is true at a listener; None is that of the brokers themselves."""
        self.image = image
        self.listener = listener
        self._others: dict[str, MetadataAnswers] = {}
        self._rows: dict[tuple[str, int], tuple[int, MetadataResponseTopic]] = {}

    def at(self, listener: str) -> MetadataAnswers:
        """Return those for clients that came in by a listener."""
        if self.listener is None and listener not in self._others:
            self._others[listener] = MetadataAnswers(self.image, listener)
        return self._others.get(listener, self)

    def answer(
        self,
        request: MetadataRequest,
        version: int,
        *,
        cluster_id: str,
        creating: Container[str] = (),
    ) -> MetadataResponse:
        """Build the answer to one request.

        ``creating`` holds names whose creation was started because of this request (automatic topic
        creation): their rows have LEADER_NOT_AVAILABLE instead of UNKNOWN_TOPIC_OR_PARTITION.
        """
        topics = self._topic_rows(request, version, creating)
        if request.include_topic_authorized_operations:
            topics = [
                replace(row, topic_authorized_operations=TOPIC_OPERATIONS) if row.name else row
                for row in topics
            ]
        response = MetadataResponse(
            brokers=[
                MetadataResponseBroker(
                    node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack
                )
                for broker in self.image.live_brokers(self.listener)
            ],
            cluster_id=cluster_id,
            controller_id=self.image.client_controller_id(),
            topics=topics,
        )
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = CLUSTER_OPERATIONS
        return response

    def unknown_topics(self, request: MetadataRequest) -> list[str]:
        """Return the valid names asked for that no topic has, each once: they could be created."""
        names = dict.fromkeys(topic.name for topic in request.topics or () if topic.name)
        return [name for name in names if not self.image.has_topic(name) and is_topic_name(name)]

    def _topic_rows(
        self, request: MetadataRequest, version: int, creating: Container[str]
    ) -> list[MetadataResponseTopic]:
        asked = request.topics
        if asked is None or (version == 0 and not asked):
            return [self._row(topic, version) for topic in self.image.topics()]
        if any(bytes(topic.topic_id) != ZERO_UUID for topic in asked):
            return self._rows_by_id(asked, version)
        names = dict.fromkeys(topic.name or "" for topic in asked)
        return [self._row_by_name(name, version, creating) for name in names]

    def _rows_by_id(
        self, asked: Iterable[MetadataRequestTopic], version: int
    ) -> list[MetadataResponseTopic]:
        rows: list[MetadataResponseTopic] = []
        for topic_id in dict.fromkeys(bytes(topic.topic_id) for topic in asked):
            name = self.image.topic_name(topic_id)
            topic = self.image.topic(name) if name is not None else None
            if topic is not None:
                rows.append(self._row(topic, version))
            else:
                rows.append(
                    MetadataResponseTopic(
                        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id
                    )
                )
        return rows

    def _row_by_name(
        self, name: str, version: int, creating: Container[str]
    ) -> MetadataResponseTopic:
        topic = self.image.topic(name)
        if topic is not None:
            return self._row(topic, version)
        if name in creating:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        elif is_topic_name(name):
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return MetadataResponseTopic(
            error_code=code, name=name, is_internal=name in INTERNAL_TOPICS, partitions=[]
        )

    def _row(self, topic: TopicImage, version: int) -> MetadataResponseTopic:
        image = self.image
        layout = _layout_of(version)
        kept = self._rows.get((topic.name, layout))
        since = max(image.brokers_generation, image.topic_generations[topic.name])
        if kept is not None and kept[0] >= since:
            return kept[1]
        row = MetadataResponseTopic(
            error_code=ErrorCode.NONE,
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.name in INTERNAL_TOPICS,
            partitions=[
                self._partition_row(index, topic.partitions[index], layout)
                for index in sorted(topic.partitions)
            ],
        )
        self._keep(topic.name, layout, row)
        return row

    def _keep(self, name: str, layout: int, row: MetadataResponseTopic) -> None:
        if len(self._rows) > _ROWS_PER_TOPIC * len(self.image.topic_generations):
            self._rows = {
                key: kept for key, kept in self._rows.items() if self.image.has_topic(key[0])
            }
        self._rows[name, layout] = (self.image.generation, row)

    def _partition_row(
        self, index: int, partition: PartitionImage, layout: int
    ) -> MetadataResponsePartition:
        replicas, isr = partition.replicas, partition.isr
        leader = partition.leader
        code = self._leader_error(leader, layout)
        if layout == _LAYOUT_V0:
            reachable = tuple(filter(self._live_broker, replicas))
            reachable_isr = tuple(filter(self._live_broker, isr))
            if code == ErrorCode.NONE and (reachable, reachable_isr) != (replicas, isr):
                code = ErrorCode.REPLICA_NOT_AVAILABLE
            replicas, isr = reachable, reachable_isr
        return MetadataResponsePartition(
            error_code=code,
            partition_index=index,
            leader_id=leader if self._live_broker(leader) else NO_LEADER,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=partition.offline_replicas,
        )

    def _live_broker(self, broker_id: int) -> LiveBroker | None:
        return self.image.live_broker(broker_id, self.listener)

    def _leader_error(self, leader: int, layout: int) -> ErrorCode:
        if self._live_broker(leader) is not None:
            return ErrorCode.NONE
        if self.image.is_alive(leader) and layout == _LAYOUT_LISTENER_ERRORS:
            return ErrorCode.LISTENER_NOT_FOUND
        return ErrorCode.LEADER_NOT_AVAILABLE


def _layout_of(version: int) -> int:
    """Return the first version whose rows are like those of ``version``."""
    if version == 0:
        return _LAYOUT_V0
    return _LAYOUT_OLD if version < _LAYOUT_LISTENER_ERRORS else _LAYOUT_LISTENER_ERRORS
