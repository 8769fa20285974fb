"""Orders to a cluster about whole topics: create, grow, delete.

Whether a topic is there already is for the cluster to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.topic_words import WantedTopic
from jbodlab.kafka_tools.questions import raise_for
from protocol.admin.outcomes import Outcome
from protocol.admin.topics import (
    DELETE_BY_NAME_VERSION_MAX,
    NewPartitions,
    NewTopic,
    create_partitions_request,
    create_topics_request,
    delete_topics_request,
    topic_outcomes,
)


def create_topic(client: ClusterClient, name: str, topic: WantedTopic) -> None:
    """Create a topic; what is not said is the cluster's to choose.

    Raises:
        KafkaError: the controller's answer.
        ToolFailure: it does not answer.
    """
    wanted = NewTopic(
        name=name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignment=dict(enumerate(topic.assignment)),
        configs=topic.configs,
    )
    timeout_ms = client.settings.request_timeout_ms
    answer = client.ask_controller(create_topics_request([wanted], timeout_ms=timeout_ms))
    _raise_first(topic_outcomes(answer))


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
    wanted = {
        name: NewPartitions(topic.partitions, topic.assignment[size:] if topic.assignment else None)
        for name, size in sizes.items()
    }
    timeout_ms = client.settings.request_timeout_ms
    answer = client.ask_controller(create_partitions_request(wanted, timeout_ms=timeout_ms))
    _raise_first(topic_outcomes(answer))


def delete_topics(client: ClusterClient, names: Sequence[str]) -> None:
    """Delete topics and their records.

    Raises:
        KafkaError: the first topic's error.
        ToolFailure: the controller does not answer.
    """
    if not names:
        return
    request = delete_topics_request(names, timeout_ms=client.settings.request_timeout_ms)
    answer = client.ask_controller(request, version_max=DELETE_BY_NAME_VERSION_MAX)
    _raise_first(topic_outcomes(answer))


def _raise_first(outcomes: Iterable[Outcome]) -> None:
    for outcome in outcomes:
        raise_for(*outcome)
