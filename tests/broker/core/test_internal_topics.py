"""How the offsets topic is made, and who coordinates a group."""

from __future__ import annotations

import pytest

from broker.core.coordination import partition_for
from broker.core.internal_topics import coordinator_of, new_topic
from broker.core.metadata_image import MetadataImage
from protocol.admin.topics import NewTopic
from protocol.configs.parsing import broker_config
from protocol.ids import BrokerId, TopicPartition
from protocol.metrics.topic import METRICS_TOPIC
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.broker.engine.messages import Led, update_metadata


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_the_offsets_topic_is_kafka_s_with_as_many_replicas_as_there_are_brokers(
    brokers: int, replicas: int
):
    made = new_topic(CONSUMER_OFFSETS, broker_config({}), brokers)
    assert (made.partitions, made.replication_factor) == (50, replicas)
    assert made.configs == {
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
        "compression.type": "producer",
    }


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (3, 3), (5, 3)])
def test_the_topic_of_transactions_is_kafka_s_with_as_many_replicas_as_there_are_brokers(
    brokers: int, replicas: int
):
    made = new_topic(TRANSACTION_STATE, broker_config({}), brokers)
    assert (made.partitions, made.replication_factor) == (50, replicas)
    assert made.configs == {
        "unclean.leader.election.enable": "false",
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": str(min(2, replicas)),
        "segment.bytes": "104857600",
    }


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (5, 3)])
def test_the_metrics_topic_has_a_partition_for_each_broker(brokers: int, replicas: int):
    made = new_topic(METRICS_TOPIC, broker_config({}), brokers)
    assert (made.partitions, made.replication_factor) == (brokers, replicas)
    assert made.configs["min.insync.replicas"] == "1"


def test_other_topics_are_the_cluster_s_choice():
    assert new_topic("orders", broker_config({}), 3) == NewTopic(name="orders")


def test_the_leader_of_a_group_s_partition_coordinates_it_while_it_lives():
    image = MetadataImage(broker_id=BrokerId(1))
    assert coordinator_of(image, CONSUMER_OFFSETS, "g") is None
    led = {TopicPartition(CONSUMER_OFFSETS, n): Led([1, 2], 1 + n % 2, [1, 2]) for n in range(4)}
    image.update(update_metadata(led, [1, 2]))
    for group in ("g", "h"):
        found = coordinator_of(image, CONSUMER_OFFSETS, group)
        assert found is not None
        assert found.id == 1 + partition_for(group, 4) % 2
    image.update(update_metadata({}, [1]))
    found_ids = [coordinator_of(image, CONSUMER_OFFSETS, group) for group in ("g", "h")]
    assert {None if one is None else one.id for one in found_ids} <= {None, 1}
