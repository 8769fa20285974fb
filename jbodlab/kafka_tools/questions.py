"""Questions to a cluster: topics, reassignments, settings, log dirs. They change nothing.

Topics that do not exist are left out of answers; every other error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import answered
from jbodlab.kafka_tools.core.views import (
    ConfigEntry,
    ConfigSource,
    LogDirDescription,
    PartitionDescription,
    Reassignment,
    Reassignments,
    ReplicaDescription,
    Synonym,
    TopicDescription,
)
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.log_dirs import DescribeLogDirsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
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
    answer = client.ask(_metadata_request(None))
    return sorted((topic.name, topic.is_internal) for topic in answer.topics)


def describe_topics(client: ClusterClient, names: Sequence[str]) -> dict[str, TopicDescription]:
    """Describe topics by Metadata; those that do not exist are left out."""
    if not names:
        return {}
    named = [MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in names]
    return _described(client.ask(_metadata_request(named)).topics, _from_metadata)


def describe_topic_ids(client: ClusterClient, ids: Sequence[bytes]) -> dict[str, TopicDescription]:
    """Describe topics by their ids; those that do not exist are left out."""
    named = [MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
    return _described(client.ask(_metadata_request(named)).topics, _from_metadata)


def describe_topics_in_pages(
    client: ClusterClient, names: Sequence[str], page: int
) -> dict[str, TopicDescription]:
    """Describe topics with eligible leaders where brokers tell them, else as by Metadata.

    Args:
        client: the cluster.
        names: of the topics; those that do not exist are left out.
        page: how many partitions an answer may have.
    """
    if not names or not client.can(_DESCRIBE_TOPIC_PARTITIONS):
        return describe_topics(client, names)
    found: dict[str, TopicDescription] = {}
    cursor: Cursor | None = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in sorted(names)],
            response_partition_limit=page,
            cursor=cursor,
        )
        answer = client.ask(request)
        for name, topic in _described(answer.topics, _from_page).items():
            before = found[name].partitions if name in found else ()
            found[name] = TopicDescription(
                name=name,
                topic_id=topic.topic_id,
                is_internal=topic.is_internal,
                partitions=(*before, *topic.partitions),
            )
        cursor = answer.next_cursor
        if cursor is None:
            return found


def list_reassignments(
    client: ClusterClient, partitions: Sequence[TopicPartition] | None = None
) -> Reassignments:
    """Return reassignments under way: of some partitions, or all of the cluster."""
    topics = None
    if partitions is not None:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, []).append(partition)
        topics = [
            ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
            for name, numbers in by_topic.items()
        ]
    request = ListPartitionReassignmentsRequest(
        timeout_ms=client.settings.request_timeout_ms, topics=topics
    )
    answer = client.ask_controller(request)
    raise_for(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, each.partition_index): Reassignment(
            replicas=tuple(each.replicas),
            adding=tuple(each.adding_replicas),
            removing=tuple(each.removing_replicas),
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def describe_configs(
    client: ClusterClient,
    kind: ResourceType,
    names: Sequence[str],
    *,
    broker_id: int | None = None,
    with_synonyms: bool = False,
) -> dict[str, list[ConfigEntry]]:
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
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
            for name in names
        ],
        include_synonyms=with_synonyms,
        include_documentation=False,
    )
    answer = client.ask(request) if broker_id is None else client.ask_broker(broker_id, request)
    for result in answer.results:
        raise_for(result.error_code, result.error_message)
    return {
        result.resource_name: sorted(map(_entry, result.configs), key=lambda each: each.name)
        for result in answer.results
    }


def describe_log_dirs(client: ClusterClient, broker_id: int) -> list[LogDirDescription]:
    """Return the log dirs of one broker.

    Raises:
        KafkaError: the broker's answer.
        ToolFailure: the broker does not answer.
    """
    answer = client.ask_broker(broker_id, DescribeLogDirsRequest(topics=None))
    raise_for(answer.error_code)
    return [_log_dir(result) for result in answer.results]


def _metadata_request(topics: list[MetadataRequestTopic] | None) -> MetadataRequest:
    return MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def _described(topics: Sequence[Any], describe: Any) -> dict[str, TopicDescription]:
    found: dict[str, TopicDescription] = {}
    for topic in topics:
        if topic.error_code in _UNKNOWN:
            continue
        raise_for(topic.error_code)
        partitions = sorted(topic.partitions, key=lambda each: each.partition_index)
        found[topic.name] = TopicDescription(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=tuple(map(describe, partitions)),
        )
    return found


def _from_metadata(partition: Any) -> PartitionDescription:
    return PartitionDescription(
        partition=partition.partition_index,
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
    )


def _from_page(partition: Any) -> PartitionDescription:
    eligible, last_known = partition.eligible_leader_replicas, partition.last_known_elr
    return PartitionDescription(
        partition=partition.partition_index,
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        elr=None if eligible is None else tuple(eligible),
        last_known_elr=None if last_known is None else tuple(last_known),
    )


def _log_dir(result: Any) -> LogDirDescription:
    return LogDirDescription(
        path=result.log_dir,
        error=ErrorCode(result.error_code),
        replicas=tuple(
            ReplicaDescription(
                partition=TopicPartition(topic.name, each.partition_index),
                size_bytes=each.partition_size,
                offset_lag=each.offset_lag,
                is_future=each.is_future_key,
            )
            for topic in result.topics
            for each in topic.partitions
        ),
    )


def _entry(config: Any) -> ConfigEntry:
    return ConfigEntry(
        name=config.name,
        value=config.value,
        source=_source(config.config_source),
        is_sensitive=config.is_sensitive,
        synonyms=tuple(
            Synonym(name=each.name, value=each.value, source=_source(each.source))
            for each in config.synonyms
        ),
    )


def _source(number: int) -> ConfigSource:
    return ConfigSource(number) if 0 <= number <= max(ConfigSource) else ConfigSource.UNKNOWN
