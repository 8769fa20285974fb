"""The topics that brokers keep their coordinators' state in: how they are created, who leads a key.

Source: AutoTopicCreationManager.creatableTopic, GroupCoordinator.groupMetadataTopicConfigs.
"""

from __future__ import annotations

from broker.core.coordination import CONSUMER_OFFSETS, partition_for
from broker.core.metadata_image import LiveBroker, MetadataImage
from protocol.admin.topics import NewTopic
from protocol.configs.coordination import CoordinationConfig
from protocol.ids import TopicPartition


def replication_factor(config: CoordinationConfig, broker_count: int) -> int:
    """Return the replicas of the offsets topic in a cluster of so many brokers, dead or alive.

    Differs from Kafka, which never makes the topic where there are fewer than it wants.
    """
    return min(config.offsets_topic_replication_factor, broker_count)


def new_topic(name: str, config: CoordinationConfig, broker_count: int) -> NewTopic:
    """Return how a topic is created that somebody mentioned and nobody created."""
    if name != CONSUMER_OFFSETS:
        return NewTopic(name=name)
    return NewTopic(
        name=name,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=replication_factor(config, broker_count),
        configs={
            "cleanup.policy": "compact",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
            "compression.type": "producer",
        },
    )


def coordinator_of(image: MetadataImage, topic: str, key: str) -> LiveBroker | None:
    """Return who coordinates a key; None while nobody does, as the topic or its leader is away."""
    known = image.topic(topic)
    if known is None:
        return None
    leader, _ = image.leader_of(TopicPartition(topic, partition_for(key, len(known.partitions))))
    return image.live_broker(leader)
