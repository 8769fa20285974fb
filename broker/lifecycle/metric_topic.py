"""Where a broker finds the metrics topic: in its metadata, and creates it where it is not there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from broker.core.metadata_image import MetadataImage
from protocol.ids import TopicPartition
from protocol.metric_topic.producer import Address, MetricTopicPorts
from protocol.metrics.topic import METRICS_TOPIC
from protocol.ports import RpcPort


def metric_topic_ports(
    metadata: MetadataImage,
    connect: Callable[[str, int], RpcPort],
    create_topics: Callable[[Iterable[str]], None],
    next_producer_id: Callable[[], Awaitable[int]],
    request_timeout_ms: int,
    drop: Callable[[int], None],
) -> MetricTopicPorts:
    """Return what the writer of rows needs, of the parts of a broker."""

    def partition_count() -> int:
        topic = metadata.topic(METRICS_TOPIC)
        return 0 if topic is None else len(topic.partitions)

    def leader_of(tp: TopicPartition) -> Address | None:
        leader = metadata.live_broker(metadata.leader_of(tp)[0])
        return None if leader is None else Address(leader.host, leader.port)

    return MetricTopicPorts(
        partition_count=partition_count,
        leader_of=leader_of,
        connect=connect,
        create_topic=partial(create_topics, [METRICS_TOPIC]),
        new_producer_id=lambda _leader: next_producer_id(),
        request_timeout_ms=request_timeout_ms,
        drop=drop,
    )
