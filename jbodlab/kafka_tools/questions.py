"""Questions to a cluster: topics, reassignments, settings, log dirs. They change nothing.

Topics that do not exist are left out of answers; every other error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import answered
from protocol.admin.cluster import TopicView, metadata_request, topic_views
from protocol.admin.configs import (
    ConfigView,
    config_views,
    describe_configs_request,
    list_resources_request,
)
from protocol.admin.log_dirs import LogDirView, describe_log_dirs_request, log_dir_views
from protocol.admin.reassignments import (
    ReassignmentView,
    list_reassignments_request,
    reassignment_views,
)
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.metadata import MetadataResponse
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)

_DESCRIBE_TOPIC_PARTITIONS: Final = 75
_UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def raise_for(error_code: int, message: str | None = None) -> None:
    """Raise what an error code stands for.

    Raises:
        KafkaError: unless the code is NONE.
    """
    if error_code != ErrorCode.NONE:
        raise answered(error_code, message)


def list_topics(client: ClusterClient) -> list[tuple[str, bool]]:
    """Return names of all topics, sorted, and whether each is internal."""
    topics = topic_views(client.ask(metadata_request()))
    return sorted((topic.name, topic.is_internal) for topic in topics)


def describe_topics(client: ClusterClient, names: Sequence[str]) -> dict[str, TopicView]:
    """Describe topics by Metadata; those that do not exist are left out."""
    if not names:
        return {}
    return _existing(client.ask(metadata_request(names)))


def describe_topic_ids(client: ClusterClient, ids: Sequence[bytes]) -> dict[str, TopicView]:
    """Describe topics by their ids; those that do not exist are left out."""
    return _existing(client.ask(metadata_request(ids=ids)))


def describe_topics_in_pages(
    client: ClusterClient, names: Sequence[str], page: int
) -> dict[str, TopicView]:
    """Describe topics with eligible leaders where brokers tell them, else as by Metadata.

    Args:
        client: the cluster.
        names: of the topics; those that do not exist are left out.
        page: how many partitions an answer may have.
    """
    if not names or not client.can(_DESCRIBE_TOPIC_PARTITIONS):
        return describe_topics(client, names)
    found: dict[str, TopicView] = {}
    cursor: Cursor | None = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in sorted(names)],
            response_partition_limit=page,
            cursor=cursor,
        )
        answer = client.ask(request)
        for name, topic in _existing(answer).items():
            before = found[name].partitions if name in found else ()
            found[name] = replace(topic, partitions=(*before, *topic.partitions))
        cursor = answer.next_cursor
        if cursor is None:
            return found


def list_reassignments(
    client: ClusterClient, partitions: Sequence[TopicPartition] | None = None
) -> dict[TopicPartition, ReassignmentView]:
    """Return reassignments under way: of some partitions, or all of the cluster."""
    request = list_reassignments_request(partitions, timeout_ms=client.settings.request_timeout_ms)
    answer = client.ask_controller(request)
    raise_for(answer.error_code, answer.error_message)
    return {each.tp: each for each in reassignment_views(answer)}


def describe_configs(
    client: ClusterClient,
    kind: ResourceType,
    names: Sequence[str],
    *,
    broker_id: int | None = None,
    with_synonyms: bool = False,
) -> dict[str, list[ConfigView]]:
    """Return the settings of topics or brokers, sorted by name.

    Args:
        client: the cluster.
        kind: of the resources.
        names: of the resources; "" stands for all brokers.
        broker_id: the one broker that can answer; None for any.
        with_synonyms: ask where else a value is set.

    Raises:
        KafkaError: the first answer that is one.
    """
    request = describe_configs_request(kind, names, with_synonyms=with_synonyms)
    answer = client.ask(request) if broker_id is None else client.ask_broker(broker_id, request)
    for result in answer.results:
        raise_for(result.error_code, result.error_message)
    return {result.resource_name: config_views(result) for result in answer.results}


def list_config_resources(client: ClusterClient, kind: ResourceType) -> list[str]:
    """Return the names of resources of a kind; of groups, those that have settings.

    Raises:
        KafkaError: the broker's answer, or that it does not know the question.
    """
    answer = client.ask(list_resources_request(kind))
    raise_for(answer.error_code, None)
    return sorted(each.resource_name for each in answer.config_resources)


def describe_log_dirs(client: ClusterClient, broker_id: int) -> list[LogDirView]:
    """Return the log dirs of one broker.

    Raises:
        KafkaError: the broker's answer.
        ToolFailure: the broker does not answer.
    """
    answer = client.ask_broker(broker_id, describe_log_dirs_request())
    raise_for(answer.error_code)
    return log_dir_views(answer, broker=broker_id)


def _existing(answer: MetadataResponse | DescribeTopicPartitionsResponse) -> dict[str, TopicView]:
    found = [topic for topic in topic_views(answer) if topic.error not in _UNKNOWN]
    for topic in found:
        raise_for(topic.error)
    return {topic.name: topic for topic in found}
