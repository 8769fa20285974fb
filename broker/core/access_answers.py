"""What of an answer a client may be told: a table by API, of those that tell more than was named.

Each takes the request as the client sent it and changes the answer. Authorized operations are those
of the client. Source: KafkaApis.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from broker.core.access import Access
from broker.core.metadata_answer import by_ids
from protocol.acls.model import AclOperation as Op
from protocol.acls.model import AclResourceType as Kind
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, ZERO_UUID
from protocol.messages.group_offsets import (
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

Amend = Callable[[Access, Any, Any], None]
"""(access, request, response): leaves out of the response what may not be told."""


def _metadata(access: Access, request: Any, response: Any) -> None:
    request = by_ids(request)
    named = {topic.name for topic in request.topics or () if topic.name}
    ids = {bytes(topic.topic_id) for topic in request.topics or () if not topic.name}
    failed = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    allowed_names = named - {row.name for row in response.topics if row.error_code == failed}
    rows: list[Any] = []
    for row in response.topics:
        if row.error_code == failed:
            is_by_id = bytes(row.topic_id) != ZERO_UUID
            rows.append(replace(row, name=None) if is_by_id else row)
            continue
        if row.name not in allowed_names:  # Those were looked at before they were answered.
            is_asked = not (named or ids) or bytes(row.topic_id) in ids
            if not is_asked or (row.name and not _describes(access, row.name)):
                continue  # Version 0 has no way to ask for nothing but all.
        is_wanted = request.include_topic_authorized_operations and row.name
        if is_wanted:  # Of a topic, too, that is not there.
            allowed = access.operations(Kind.TOPIC, row.name)
            row = replace(row, topic_authorized_operations=allowed)  # noqa: PLW2901 -- a shared row
        rows.append(row)
    response.topics = rows
    _cluster_operations(access, request, response)


def _cluster_operations(access: Access, request: Any, response: Any) -> None:
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = access.cluster_operations()


_UNTOLD: Final = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST)
"""Topics that are refused, alone or with the whole request."""


def _topic_partitions(access: Access, _request: Any, response: Any) -> None:
    for row in response.topics:
        if row.error_code not in _UNTOLD:
            row.topic_authorized_operations = access.operations(Kind.TOPIC, row.name)


def _described_groups(access: Access, request: Any, response: Any) -> None:
    if not request.include_authorized_operations:
        return
    for group in response.groups:
        if group.error_code == ErrorCode.NONE:
            # Of those that the release has, which the handler tells.
            group.authorized_operations &= access.operations(Kind.GROUP, group.group_id)


def _listed_groups(access: Access, _request: Any, response: Any) -> None:
    if access.may_cluster(Op.DESCRIBE, logs=False):
        return
    response.groups = [
        group
        for group in response.groups
        if access.may(Op.DESCRIBE, Kind.GROUP, group.group_id, logs=False)
    ]


def _listed_transactions(access: Access, _request: Any, response: Any) -> None:
    response.transaction_states = [
        one
        for one in response.transaction_states
        if access.may(Op.DESCRIBE, Kind.TRANSACTIONAL_ID, one.transactional_id, logs=False)
    ]


def _described_transactions(access: Access, _request: Any, response: Any) -> None:
    for one in response.transaction_states:
        one.topics = [topic for topic in one.topics if _describes(access, topic.topic)]


def _fetched_offsets(access: Access, request: Any, response: Any) -> None:
    """Leave out topics that were not named; those that were have an error."""
    response.topics = list(_told(access, response.topics, is_all=request.topics is None))
    all_of = {group.group_id for group in request.groups if group.topics is None}
    for group in response.groups:
        is_all = group.group_id in all_of
        group.topics = list(_told(access, group.topics, is_all=is_all))


def _told(access: Access, topics: Iterable[Any], *, is_all: bool) -> Iterable[Any]:
    for topic in topics:
        if topic.name and not _describes(access, topic.name):
            if is_all:
                continue
            for partition in topic.partitions:
                partition.committed_offset = -1
                partition.committed_leader_epoch = NO_EPOCH
                partition.metadata = ""
                partition.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        yield topic


def _created_topics(access: Access, _request: Any, response: Any) -> None:
    for topic in response.topics:
        is_made = topic.error_code == ErrorCode.NONE
        if is_made and not access.may(Op.DESCRIBE_CONFIGS, Kind.TOPIC, topic.name, logs=False):
            topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = ()


def _deleted_topics(access: Access, _request: Any, response: Any) -> None:
    """Name topics of ids that may be described, though not deleted."""
    for topic in response.responses:
        if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED and topic.name is None:
            name = access.metadata.topic_name(bytes(topic.topic_id))
            if name is not None and _describes(access, name):
                topic.name = name


def _deleted_offsets(_access: Access, request: Any, response: Any) -> None:
    if response.error_code != ErrorCode.NONE:
        return
    told = {topic.name for topic in response.topics}
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response.topics = [
        *response.topics,
        *(
            OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index, error_code=code
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.name not in told
        ),
    ]


def _describes(access: Access, topic: str) -> bool:
    return access.may(Op.DESCRIBE, Kind.TOPIC, topic, logs=False)


AMENDS: Final[dict[str, Amend]] = {
    "Metadata": _metadata,
    "DescribeCluster": _cluster_operations,
    "DescribeTopicPartitions": _topic_partitions,
    "DescribeGroups": _described_groups,
    "ConsumerGroupDescribe": _described_groups,
    "ListGroups": _listed_groups,
    "ListTransactions": _listed_transactions,
    "DescribeTransactions": _described_transactions,
    "OffsetFetch": _fetched_offsets,
    "CreateTopics": _created_topics,
    "DeleteTopics": _deleted_topics,
    "OffsetDelete": _deleted_offsets,
}
"""By Kafka's name; the answers of all others tell only of what was named."""
