"""The topics that brokers write themselves: how they are created, who leads a key.

Source: AutoTopicCreationManager.creatableTopic, GroupCoordinator.groupMetadataTopicConfigs,
TransactionStateManager.transactionTopicConfigs.
"""

from __future__ import annotations

from typing import Final

from broker.core.coordination import partition_for
from broker.core.metadata_image import LiveBroker, MetadataImage
from protocol.admin.topics import NewTopic
from protocol.configs.coordination import CoordinationConfig
from protocol.ids import TopicPartition
from protocol.metrics.topic import METRICS_TOPIC
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE

METRICS_REPLICATION_FACTOR_MAX: Final = 3


def new_topic(name: str, config: CoordinationConfig, broker_count: int) -> NewTopic:
    """Return how a topic is created that somebody mentioned and nobody created.

    Differs from Kafka, which never makes one of its own where there are fewer brokers, dead or
    alive, than it wants replicas.
    """
    if name == CONSUMER_OFFSETS:
        return _offsets_topic(config, broker_count)
    if name == TRANSACTION_STATE:
        return _transaction_topic(config, broker_count)
    if name == METRICS_TOPIC:
        return _metrics_topic(broker_count)
    return NewTopic(name=name)


def _offsets_topic(config: CoordinationConfig, broker_count: int) -> NewTopic:
    return NewTopic(
        name=CONSUMER_OFFSETS,
        partitions=config.offsets_topic_num_partitions,
        replication_factor=min(config.offsets_topic_replication_factor, broker_count),
        configs={
            "cleanup.policy": "compact",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
            "compression.type": "producer",
        },
    )


def _transaction_topic(config: CoordinationConfig, broker_count: int) -> NewTopic:
    replicas = min(config.transaction_state_log_replication_factor, broker_count)
    return NewTopic(
        name=TRANSACTION_STATE,
        partitions=config.transaction_state_log_num_partitions,
        replication_factor=replicas,
        configs={
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(min(config.transaction_state_log_min_isr, replicas)),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
        },
    )


def _metrics_topic(broker_count: int) -> NewTopic:
    """Return a topic that nobody waits for; that of Cruise Control's reporter is like it."""
    return NewTopic(
        name=METRICS_TOPIC,
        partitions=broker_count,
        replication_factor=min(METRICS_REPLICATION_FACTOR_MAX, broker_count),
        configs={"min.insync.replicas": "1", "cleanup.policy": "delete"},
    )


def coordinator_of(
    image: MetadataImage, topic: str, key: str, listener: str | None = None
) -> LiveBroker | None:
    """Return who coordinates a key, as reached by a listener (None: the brokers' own).

    None while nobody does, as the topic or its leader is away.
    """
    known = image.topic(topic)
    if known is None:
        return None
    leader, _ = image.leader_of(TopicPartition(topic, partition_for(key, len(known.partitions))))
    return image.live_broker(leader, listener)
