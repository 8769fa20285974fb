"""Where a broker finds the metrics topic: what the writer is told of its metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker.core.metadata_image import MetadataImage
from broker.lifecycle.metric_topic import metric_topic_ports
from protocol.ids import BrokerId, TopicPartition
from protocol.metric_topic.producer import Address, MetricTopicPorts
from protocol.metrics.topic import METRICS_TOPIC
from tests.broker.engine.messages import Led, update_metadata

FIRST, SECOND = (TopicPartition(METRICS_TOPIC, number) for number in range(2))


def ports_of(image: MetadataImage, created: list[str]) -> MetricTopicPorts:
    async def next_producer_id() -> int:
        return 7

    def connect(_host: str, _port: int) -> Any:
        raise AssertionError("nobody writes")

    def create(names: Iterable[str]) -> None:
        created.extend(names)

    def drop(_count: int) -> None:
        raise AssertionError("nothing is lost")

    return metric_topic_ports(image, connect, create, next_producer_id, 1_000, drop)


def test_a_topic_that_nobody_knows_has_no_partitions_and_is_created():
    created: list[str] = []
    ports = ports_of(MetadataImage(broker_id=BrokerId(1)), created)
    assert ports.partition_count() == 0
    ports.create_topic()
    assert created == [METRICS_TOPIC]


def test_its_leader_is_where_the_brokers_ask_it_as_long_as_it_is_alive():
    image = MetadataImage(broker_id=BrokerId(1))
    led = {FIRST: Led([1, 2], 2, [1, 2]), SECOND: Led([1, 3], 3, [1])}
    image.update(update_metadata(led, [1, 2]))
    ports = ports_of(image, [])
    leader = image.live_broker(2)
    assert leader is not None
    assert ports.partition_count() == 2
    assert ports.leader_of(FIRST) == Address(leader.host, leader.port)
    assert ports.leader_of(SECOND) is None, "broker 3 is not alive"
