"""Orders to a cluster about whole topics: create, grow, delete.

Whether a topic is there already is for the cluster to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.topic_words import WantedTopic
from jbodlab.kafka_tools.questions import raise_for
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)

_DEFAULT = -1
_BY_NAME_VERSION_MAX = 5
"""Of DeleteTopics."""


def create_topic(client: ClusterClient, name: str, topic: WantedTopic) -> None:
    """Create a topic; what is not said is the cluster's to choose.

    Raises:
        KafkaError: the controller's answer.
        ToolFailure: it does not answer.
    """
    creatable = CreatableTopic(
        name=name,
        num_partitions=_DEFAULT if topic.partitions is None else topic.partitions,
        replication_factor=(
            _DEFAULT if topic.replication_factor is None else topic.replication_factor
        ),
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
            for number, brokers in enumerate(topic.assignment)
        ],
        configs=[CreatableTopicConfig(name=key, value=v) for key, v in topic.configs.items()],
    )
    request = CreateTopicsRequest(
        topics=[creatable], timeout_ms=client.settings.request_timeout_ms, validate_only=False
    )
    for result in client.ask_controller(request).topics:
        raise_for(result.error_code, result.error_message)


def grow_topics(client: ClusterClient, sizes: Mapping[str, int], topic: WantedTopic) -> None:
    """Give topics more partitions.

    Args:
        client: the cluster.
        sizes: how many partitions each has.
        topic: how many there shall be; of its assignment the new partitions' part is used.

    Raises:
        KafkaError: the first topic's error.
        ToolFailure: the controller does not answer.
    """
    assert topic.partitions is not None
    count = topic.partitions
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=[
                    CreatePartitionsAssignment(broker_ids=list(brokers))
                    for brokers in topic.assignment[size:]
                ]
                if topic.assignment
                else None,
            )
            for name, size in sizes.items()
        ],
        timeout_ms=client.settings.request_timeout_ms,
        validate_only=False,
    )
    for result in client.ask_controller(request).results:
        raise_for(result.error_code, result.error_message)


def delete_topics(client: ClusterClient, names: Sequence[str]) -> None:
    """Delete topics and their records.

    Raises:
        KafkaError: the first topic's error.
        ToolFailure: the controller does not answer.
    """
    if not names:
        return
    request = DeleteTopicsRequest(
        topic_names=list(names), timeout_ms=client.settings.request_timeout_ms
    )
    for result in client.ask_controller(request, version_max=_BY_NAME_VERSION_MAX).responses:
        raise_for(result.error_code, result.error_message)
