"""What each API needs a client to be allowed, as a table; what is not in it is not served.

A rule says of a request what of it may be done, and what is refused with which error. It answers
nothing; what answers may tell is in ``broker.core.access_answers``.
Source: KafkaApis.scala, ControllerApis.scala, AclApis.scala, ConfigAdminManager.scala (3.9).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from broker.core.access import Access
from broker.core.append import is_transactional
from broker.core.metadata_answer import by_ids, check_names
from protocol.acls.model import AclOperation as Op
from protocol.acls.model import AclResourceType as Kind
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.topic_partitions import TopicRequest

FAILED: Final[dict[Kind, ErrorCode]] = {
    Kind.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Kind.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Kind.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Kind.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


@dataclass(slots=True)
class Ruling:
    """What becomes of a request that is not refused as a whole."""

    request: Any
    """What may be done of it; None: nothing."""
    refused: Sequence[tuple[Any, KafkaError]] = ()
    """Parts of it, to be answered with an error each."""


Rule = Callable[[Access, Any, int], Ruling]
"""(access, request, version) -> what may be done; raises KafkaError for the whole request."""


def failed(kind: Kind, text: str | None = None) -> KafkaError:
    """Return the error that says that something is not allowed, and nothing else."""
    named = kind.name.replace("_", " ").capitalize().replace("al id", "al Id")
    return KafkaError(FAILED[kind], f"{named} authorization failed." if text is None else text)


def free(_access: Access, request: Any, _version: int) -> Ruling:
    """Everybody may."""
    return Ruling(request)


def _all_of(*needs: Callable[[Access, Any, int], None], then: Rule = free) -> Rule:
    """Need all of these, and what ``then`` needs."""

    def rule(access: Access, request: Any, version: int) -> Ruling:
        for need in needs:
            need(access, request, version)
        return then(access, request, version)

    return rule


def _cluster(operation: Op) -> Callable[[Access, Any, int], None]:
    def need(access: Access, _request: Any, _version: int) -> None:
        if not access.may_cluster(operation):
            raise failed(Kind.CLUSTER)

    return need


def _named(operation: Op, kind: Kind, field: str) -> Callable[[Access, Any, int], None]:
    """Need this of what ``field`` names; None names nothing."""

    def need(access: Access, request: Any, _version: int) -> None:
        name = getattr(request, field)
        if name is not None and not access.may(operation, kind, name):
            raise failed(kind)

    return need


def _each(operation: Op, kind: Kind, array: str, field: str = "", text: str | None = None) -> Rule:
    """Need this of each entry of ``array``, named by ``field``; entries are names without one.

    An entry without a name is let through: it names nothing, and who answers it says so.
    """
    error = partial(failed, kind, text)

    def may(access: Access, entry: Any) -> bool:
        name = getattr(entry, field) if field else entry
        if not name and bytes(getattr(entry, "topic_id", ZERO_UUID)) != ZERO_UUID:
            return access.may_topic_id(operation, bytes(entry.topic_id))
        return name is None or access.may(operation, kind, name)

    def rule(access: Access, request: Any, _version: int) -> Ruling:
        return split(request, array, lambda entry: may(access, entry), error)

    return rule


def split(
    request: Any, array: str, may: Callable[[Any], bool], error: Callable[[], KafkaError]
) -> Ruling:
    """Take what may not be out of one array of a request; ``error`` makes what that is told."""
    entries = getattr(request, array) or ()
    allowed: list[Any] = []
    denied: list[Any] = []
    for entry in entries:
        (allowed if may(entry) else denied).append(entry)
    if not denied:
        return Ruling(request)
    left = replace(request, **{array: allowed}) if allowed else None
    return Ruling(left, [(replace(request, **{array: denied}), error())])


def _init_producer_id(access: Access, request: Any, _version: int) -> Ruling:
    if request.transactional_id is not None:
        if not access.may(Op.WRITE, Kind.TRANSACTIONAL_ID, request.transactional_id):
            raise failed(Kind.TRANSACTIONAL_ID)
    elif not (
        access.may_cluster(Op.IDEMPOTENT_WRITE) or access.may_somewhere(Op.WRITE, Kind.TOPIC)
    ):
        raise failed(Kind.CLUSTER)
    return Ruling(request)


def _transaction_of_records(access: Access, request: Any, _version: int) -> None:
    """Need the transactional id where there are records of a transaction."""
    parts = (each for topic in request.topic_data for each in topic.partition_data)
    if any(each.records is not None and is_transactional(each.records) for each in parts):
        name = request.transactional_id
        if name is None or not access.may(Op.WRITE, Kind.TRANSACTIONAL_ID, name):
            raise failed(Kind.TRANSACTIONAL_ID)


def _fetch(access: Access, request: Any, _version: int) -> Ruling:
    """Followers need the cluster; a consumer's partitions are looked at as each fetch reads them.

    What a session has may be forbidden while the session lasts.
    """
    if max(request.replica_id, request.replica_state.replica_id) < 0:
        return Ruling(request)
    if access.may_cluster(Op.CLUSTER_ACTION):
        return Ruling(request)
    raise failed(Kind.TOPIC)


def _find_coordinator(access: Access, request: Any, version: int) -> Ruling:
    kind = Kind.TRANSACTIONAL_ID if request.key_type == 1 else Kind.GROUP
    if version >= _COORDINATORS_SINCE:
        return _each(Op.DESCRIBE, kind, "coordinator_keys")(access, request, version)
    if not access.may(Op.DESCRIBE, kind, request.key):
        raise failed(kind)
    return Ruling(request)


def _offset_fetch(access: Access, request: Any, version: int) -> Ruling:
    """Need the groups; topics of the answer are looked at when there is one."""
    if version >= _GROUPS_SINCE:
        return _each(Op.DESCRIBE, Kind.GROUP, "groups", "group_id")(access, request, version)
    if not access.may(Op.DESCRIBE, Kind.GROUP, request.group_id):
        raise failed(Kind.GROUP)
    return Ruling(request)


def _create_topics(access: Access, request: Any, version: int) -> Ruling:
    if access.may_cluster(Op.CREATE, logs=False):
        return Ruling(request)
    rule = _each(Op.CREATE, Kind.TOPIC, "topics", "name", "Authorization failed.")
    return rule(access, request, version)


def _delete_topics(access: Access, request: Any, _version: int) -> Ruling:
    """Need topics, or all of the cluster; who may describe it is told that one is not there."""
    if access.may_cluster(Op.DELETE, logs=False):
        return Ruling(request)

    def may_named(name: str) -> bool:
        if not access.may(Op.DESCRIBE, Kind.TOPIC, name):
            return False
        return not access.metadata.has_topic(name) or access.may(Op.DELETE, Kind.TOPIC, name)

    def may(entry: Any) -> bool:
        named = entry.name is not None
        return may_named(entry.name) if named else access.may_topic_id(Op.DELETE, entry.topic_id)

    asked, ask = ("topics", may) if request.topics else ("topic_names", may_named)
    return split(request, asked, ask, partial(failed, Kind.TOPIC))


def _offset_for_leader_epoch(access: Access, request: Any, version: int) -> Ruling:
    if access.may_cluster(Op.CLUSTER_ACTION, logs=False):
        return Ruling(request)
    return _each(Op.DESCRIBE, Kind.TOPIC, "topics", "topic")(access, request, version)


def _add_partitions_to_txn(access: Access, request: Any, version: int) -> Ruling:
    """Where one topic is forbidden, nothing is added; partitions that are not there are told."""
    if version >= _LEADERS_ADD_SINCE:
        _cluster(Op.CLUSTER_ACTION)(access, request, version)
        return Ruling(request)
    if not access.may(Op.WRITE, Kind.TRANSACTIONAL_ID, request.v3_and_below_transactional_id):
        raise failed(Kind.TRANSACTIONAL_ID)
    array = "v3_and_below_topics"
    ruling = _each(Op.WRITE, Kind.TOPIC, array, "name")(access, request, version)
    if not ruling.refused or ruling.request is None:
        return ruling
    partitions = [
        replace(topic, partitions=[index])
        for topic in ruling.request.v3_and_below_topics
        for index in topic.partitions
    ]
    allowed = split(
        replace(request, v3_and_below_topics=partitions),
        array,
        lambda each: access.metadata.has_partition(TopicPartition(each.name, each.partitions[0])),
        lambda: KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
    )
    refused = [*ruling.refused, *allowed.refused]
    if allowed.request is not None:
        refused.append((allowed.request, KafkaError(ErrorCode.OPERATION_NOT_ATTEMPTED, "")))
    return Ruling(None, refused)


def _write_txn_markers(access: Access, request: Any, version: int) -> Ruling:
    if not access.may_cluster(Op.ALTER, logs=False):
        _cluster(Op.CLUSTER_ACTION)(access, request, version)
    return Ruling(request)


def _configs(operation: Op) -> Rule:
    """Need this of each resource that has configurations, with an error for each kind."""

    def kind_of(entry: Any) -> Kind:
        if entry.resource_type == ResourceType.TOPIC:
            return Kind.TOPIC
        return Kind.GROUP if entry.resource_type == ResourceType.GROUP else Kind.CLUSTER

    def may(access: Access, entry: Any) -> bool:
        kind = kind_of(entry)
        if kind is Kind.CLUSTER:
            return access.may_cluster(operation)
        return access.may(operation, kind, entry.resource_name)

    def rule(access: Access, request: Any, _version: int) -> Ruling:
        allowed: list[Any] = []
        denied: list[Any] = []
        for entry in request.resources:
            (allowed if may(access, entry) else denied).append(entry)
        if not denied:
            return Ruling(request)
        left = replace(request, resources=allowed) if allowed else None
        return Ruling(
            left, [(replace(request, resources=[one]), failed(kind_of(one))) for one in denied]
        )

    return rule


def _metadata(access: Access, request: Any, version: int) -> Ruling:
    """Need topics that are named; of all topics the answer leaves out what may not be told."""
    check_names(request, version)
    request = by_ids(request)
    creates = request.allow_auto_topic_creation and access.creates_topics
    creates = creates and not access.may_cluster(Op.CREATE, logs=False)  # Who may creates all.

    def may(topic: Any) -> bool:
        if topic.name is None:
            return access.may_topic_id(Op.DESCRIBE, bytes(topic.topic_id))
        if not access.may(Op.DESCRIBE, Kind.TOPIC, topic.name):
            return False
        if not creates or access.metadata.has_topic(topic.name):
            return True
        return access.may(Op.CREATE, Kind.TOPIC, topic.name)

    ruling = split(request, "topics", may, partial(failed, Kind.TOPIC))
    if ruling.request is None:  # The answer has the brokers all the same.
        ruling.request = replace(request, topics=[])
    return ruling


def _offset_delete(access: Access, request: Any, version: int) -> Ruling:
    """Partitions that may not be deleted are missing in the answer, which is amended."""
    if not access.may(Op.DELETE, Kind.GROUP, request.group_id):
        raise failed(Kind.GROUP)
    ruling = _READ_TOPICS(access, request, version)
    return Ruling(ruling.request or replace(request, topics=[]))


def _describe_topic_partitions(access: Access, request: Any, version: int) -> Ruling:
    """Of all topics those are told that may be, also where the next page begins."""
    if request.topics:
        return _each(Op.DESCRIBE, Kind.TOPIC, "topics", "name")(access, request, version)
    names = sorted(topic.name for topic in access.metadata.topics())
    told = [
        TopicRequest(name=name)
        for name in names
        if access.may(Op.DESCRIBE, Kind.TOPIC, name, logs=False)
    ]
    if len(told) == len(names):
        return Ruling(request)
    if not told:
        return Ruling(None, [(request, failed(Kind.TOPIC))])
    return Ruling(replace(request, topics=told))


def _consumer_group_heartbeat(access: Access, request: Any, version: int) -> Ruling:
    _named(Op.READ, Kind.GROUP, "group_id")(access, request, version)
    for name in request.subscribed_topic_names or ():
        if not access.may(Op.DESCRIBE, Kind.TOPIC, name):
            raise failed(Kind.TOPIC)
    return Ruling(request)


_COORDINATORS_SINCE: Final = 4
_GROUPS_SINCE: Final = 8
_LEADERS_ADD_SINCE: Final = 4
_TRANSACTION: Final = _named(Op.WRITE, Kind.TRANSACTIONAL_ID, "transactional_id")
_MEMBER: Final = _named(Op.READ, Kind.GROUP, "group_id")
_CONTROLLER: Final = _all_of(_cluster(Op.CLUSTER_ACTION))
_DESCRIBE: Final = _all_of(_cluster(Op.DESCRIBE))
_ALTER: Final = _all_of(_cluster(Op.ALTER))
_READ_TOPICS: Final = _each(Op.READ, Kind.TOPIC, "topics", "name")

RULES: Final[dict[str, Rule]] = {
    "Produce": _all_of(
        _transaction_of_records, then=_each(Op.WRITE, Kind.TOPIC, "topic_data", "name", "")
    ),
    "Fetch": _fetch,
    "ListOffsets": _each(Op.DESCRIBE, Kind.TOPIC, "topics", "name"),
    "Metadata": _metadata,
    "LeaderAndIsr": _CONTROLLER,
    "StopReplica": _CONTROLLER,
    "UpdateMetadata": _CONTROLLER,
    "AlterPartition": _CONTROLLER,
    "ControlledShutdown": _CONTROLLER,
    "AllocateProducerIds": _CONTROLLER,
    "OffsetCommit": _all_of(_MEMBER, then=_READ_TOPICS),
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator,
    "JoinGroup": _all_of(_MEMBER),
    "Heartbeat": _all_of(_MEMBER),
    "LeaveGroup": _all_of(_MEMBER),
    "SyncGroup": _all_of(_MEMBER),
    "DescribeGroups": _each(Op.DESCRIBE, Kind.GROUP, "groups"),
    "ListGroups": free,  # Told are those that may be described.
    "ApiVersions": free,
    "SaslHandshake": free,
    "SaslAuthenticate": free,
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "DeleteRecords": _each(Op.DELETE, Kind.TOPIC, "topics", "name"),
    "InitProducerId": _init_producer_id,
    "OffsetForLeaderEpoch": _offset_for_leader_epoch,
    "AddPartitionsToTxn": _add_partitions_to_txn,
    "AddOffsetsToTxn": _all_of(_TRANSACTION, _MEMBER),
    "EndTxn": _all_of(_TRANSACTION),
    "WriteTxnMarkers": _write_txn_markers,
    "TxnOffsetCommit": _all_of(_TRANSACTION, _MEMBER, then=_READ_TOPICS),
    "DescribeAcls": _DESCRIBE,
    "CreateAcls": _ALTER,
    "DeleteAcls": _ALTER,
    "CreateDelegationToken": free,  # Tokens of others are looked at as they are decided about.
    "RenewDelegationToken": free,
    "ExpireDelegationToken": free,
    "DescribeDelegationToken": free,
    "DescribeUserScramCredentials": _DESCRIBE,
    "AlterUserScramCredentials": _ALTER,
    "DescribeClientQuotas": _all_of(_cluster(Op.DESCRIBE_CONFIGS)),
    "AlterClientQuotas": _all_of(_cluster(Op.ALTER_CONFIGS)),
    "DescribeConfigs": _configs(Op.DESCRIBE_CONFIGS),
    "AlterConfigs": _configs(Op.ALTER_CONFIGS),
    "AlterReplicaLogDirs": _ALTER,
    "DescribeLogDirs": _DESCRIBE,
    "CreatePartitions": _each(Op.ALTER, Kind.TOPIC, "topics", "name"),
    "DeleteGroups": _each(Op.DELETE, Kind.GROUP, "groups_names"),
    "ElectLeaders": _ALTER,
    "IncrementalAlterConfigs": _configs(Op.ALTER_CONFIGS),
    "AlterPartitionReassignments": _ALTER,
    "ListPartitionReassignments": _DESCRIBE,
    "OffsetDelete": _offset_delete,
    "DescribeQuorum": _DESCRIBE,
    "DescribeCluster": free,
    "DescribeProducers": _each(Op.READ, Kind.TOPIC, "topics", "name"),
    "DescribeTransactions": _each(Op.DESCRIBE, Kind.TRANSACTIONAL_ID, "transactional_ids"),
    "ListTransactions": free,  # Told are those that may be described.
    "ConsumerGroupHeartbeat": _consumer_group_heartbeat,
    "ConsumerGroupDescribe": _each(Op.DESCRIBE, Kind.GROUP, "group_ids"),
    "ListConfigResources": _all_of(_cluster(Op.DESCRIBE_CONFIGS)),
    "DescribeTopicPartitions": _describe_topic_partitions,
}
"""By Kafka's name of each API that is served."""
