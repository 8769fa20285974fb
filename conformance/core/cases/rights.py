"""What every API tells a principal without rights, one that may describe, and one that uses topics.

Each request names a topic that is there and one that is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from conformance.core.cases.building import batch, fetch_of
from conformance.core.cases.sweep import FOR_CONTROLLER, OF_GROUPS, OF_TRANSACTIONS, least
from conformance.core.catalogue import CLIENT_APIS, SECURED, add
from conformance.core.script import (
    CONTROLLER,
    Case,
    Coordinator,
    Given,
    NewTopic,
    Request,
    Script,
    Talk,
    To,
    Topic,
)
from conformance.core.security_forms import NO_HMAC

_TOPIC, _BROKER, _LOGGER = 2, 4, 8
_UNKNOWN_PRODUCER: Final = {"producerId": 999_999_999, "producerEpoch": 9}
_WAIT_MS: Final = 10_000


def _records(given: Given, names: list[str], topics: list[Topic]) -> dict[str, Any]:
    rows = [{"partition": 0, "partitionMaxBytes": 1 << 20}]
    fetched: list[Any] = []
    for topic in topics:
        fetched += fetch_of(topic, rows)["topics"]
    produced = [
        {
            "name": each.name,
            "topicId": each.id,
            "partitionData": [{"index": 0, "records": batch(1)}],
        }
        for each in topics
    ]
    listed = [{"partitionIndex": 0, "timestamp": -1}]
    return {
        "Produce": {"acks": -1, "timeoutMs": _WAIT_MS, "topicData": produced},
        "Fetch": {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 20, "topics": fetched},
        "ListOffsets": {
            "replicaId": -1,
            "topics": [{"name": name, "partitions": listed} for name in names],
        },
        "OffsetForLeaderEpoch": {
            "replicaId": -1,
            "topics": [{"topic": name, "partitions": [{"partition": 0}]} for name in names],
        },
        "DescribeProducers": {
            "topics": [{"name": name, "partitionIndexes": [0]} for name in names]
        },
        "DeleteRecords": {
            "topics": [
                {"name": name, "partitions": [{"partitionIndex": 0, "offset": 0}]} for name in names
            ],
            "timeoutMs": _WAIT_MS,
        },
    }


def _groups(given: Given, names: list[str], topics: list[Topic]) -> dict[str, Any]:
    group, member = given.name("group"), {"memberId": "nobody"}
    in_group = {"groupId": group, **member, "generationId": 5}
    commits = [
        {
            "name": each.name,
            "topicId": each.id,
            "partitions": [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}],
        }
        for each in topics
    ]
    offsets = [{"name": each.name, "topicId": each.id, "partitionIndexes": [0]} for each in topics]
    old_offsets = [{"name": name, "partitionIndexes": [0]} for name in names]
    of_group = {"groupId": group, "topics": offsets, "memberId": None, "memberEpoch": -1}
    times = {"sessionTimeoutMs": _WAIT_MS, "rebalanceTimeoutMs": _WAIT_MS}
    protocols = [{"name": "range", "metadata": ""}]
    return {
        "OffsetCommit": {
            "groupId": group,
            "memberId": "",
            "generationIdOrMemberEpoch": -1,
            "retentionTimeMs": -1,
            "topics": commits,
        },
        "OffsetFetch": {"groupId": group, "topics": old_offsets, "groups": [of_group]},
        "OffsetDelete": {
            "groupId": group,
            "topics": [{"name": name, "partitions": [{"partitionIndex": 0}]} for name in names],
        },
        "JoinGroup": {
            "groupId": group,
            "protocolType": "consumer",
            "protocols": protocols,
            **member,
            **times,
        },
        "Heartbeat": in_group,
        "SyncGroup": in_group,
        "LeaveGroup": {"groupId": group, "members": [member], **member},
        "DescribeGroups": {"groups": [group], "includeAuthorizedOperations": True},
        "DeleteGroups": {"groupsNames": [group]},
        "ConsumerGroupHeartbeat": {
            "groupId": group,
            "memberId": "AAAAAAAAAAAAAAAAAAAAAQ",
            "memberEpoch": 5,
            "rebalanceTimeoutMs": -1,
            "subscribedTopicNames": names,
            "topicPartitions": [],
        },
        "ConsumerGroupDescribe": {"groupIds": [group], "includeAuthorizedOperations": True},
        "FindCoordinator": {"key": group, "keyType": 0, "coordinatorKeys": [group]},
    }


def _transactions(given: Given, names: list[str], topics: list[Topic]) -> dict[str, Any]:
    id_, group = given.name("transfer"), given.name("group")
    added = [{"name": name, "partitions": [0]} for name in names]
    of_id = {"transactionalId": id_, **_UNKNOWN_PRODUCER}
    old = {
        f"v3AndBelow{key[0].upper()}{key[1:]}": value
        for key, value in {**of_id, "topics": added}.items()
    }
    commits = [
        {
            "name": name,
            "partitions": [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}],
        }
        for name in names
    ]
    marker = {
        **_UNKNOWN_PRODUCER,
        "topics": [{"name": given.name("none"), "partitionIndexes": [0]}],
    }
    return {
        "InitProducerId": {"transactionalId": id_, "transactionTimeoutMs": _WAIT_MS},
        "AddPartitionsToTxn": {
            **old,
            "transactions": [{**of_id, "verifyOnly": True, "topics": added}],
        },
        "AddOffsetsToTxn": {**of_id, "groupId": group},
        "EndTxn": {**of_id, "committed": True},
        "TxnOffsetCommit": {**of_id, "groupId": group, "topics": commits},
        "WriteTxnMarkers": {"markers": [marker]},
        "DescribeTransactions": {"transactionalIds": [id_]},
    }


def _topics(given: Given, names: list[str], topics: list[Topic]) -> dict[str, Any]:
    new = [{"name": name, "numPartitions": 1, "replicationFactor": 1} for name in names]
    more = [{"name": name, "count": 3, "assignments": None} for name in names]
    moved = [{"partitionIndex": 0, "replicas": None}]
    quick = {"timeoutMs": _WAIT_MS}
    return {
        "Metadata": {
            "topics": [{"name": name} for name in names],
            "allowAutoTopicCreation": False,
            "includeTopicAuthorizedOperations": True,
            "includeClusterAuthorizedOperations": True,
        },
        "DescribeTopicPartitions": {"topics": [{"name": name} for name in names]},
        "DescribeCluster": {"includeClusterAuthorizedOperations": True},
        "CreateTopics": {"topics": new, "validateOnly": True, **quick},
        "CreatePartitions": {"topics": more, "validateOnly": True, **quick},
        "DeleteTopics": {
            "topics": [{"name": name} for name in names[1:]] + [{"topicId": topics[1].id}],
            "topicNames": names[1:],
            **quick,
        },
        "ElectLeaders": {
            "electionType": 0,
            "topicPartitions": [{"topic": name, "partitions": [0]} for name in names],
            **quick,
        },
        "AlterPartitionReassignments": {
            "topics": [{"name": name, "partitions": moved} for name in names],
            **quick,
        },
        "ListPartitionReassignments": {
            "topics": [{"name": name, "partitionIndexes": [0]} for name in names],
            **quick,
        },
        "AlterReplicaLogDirs": {
            "dirs": [
                {"path": "/nowhere", "topics": [{"name": name, "partitions": [0]}]}
                for name in names
            ]
        },
        "DescribeLogDirs": {"topics": [{"topic": name, "partitions": [0]} for name in names]},
    }


def _configs(given: Given, names: list[str], topics: list[Topic]) -> dict[str, Any]:
    one = str(given.brokers[0])
    kinds = [
        *((_TOPIC, name, "retention.ms") for name in names),
        (_BROKER, one, "log.retention.ms"),
    ]
    changes = [
        {
            "resourceType": kind,
            "resourceName": name,
            "configs": [{"name": key, "value": "5000", "configOperation": 0}],
        }
        for kind, name, key in kinds
    ]
    asked = [
        {"resourceType": kind, "resourceName": name, "configurationKeys": [key]}
        for kind, name, key in (*kinds, (_LOGGER, one, "root"))
    ]
    set_ = [
        {
            "resourceType": kind,
            "resourceName": name,
            "configs": [{"name": key, "value": "5000"}],
        }
        for kind, name, key in kinds
    ]
    quota = {
        "entity": [{"entityType": "user", "entityName": given.name("user")}],
        "ops": [{"key": "producer_byte_rate", "value": 5.0, "remove": False}],
    }
    return {
        "DescribeConfigs": {"resources": asked},
        "AlterConfigs": {"resources": set_, "validateOnly": True},
        "IncrementalAlterConfigs": {"resources": changes, "validateOnly": True},
        "AlterClientQuotas": {"entries": [quota], "validateOnly": True},
        "AlterUserScramCredentials": {
            "deletions": [{"name": given.name("user"), "mechanism": 1}],
            "upsertions": [],
        },
        "CreateAcls": {"creations": [_acl(given)]},
        "DeleteAcls": {"filters": [_filter(given)]},
        "DescribeAcls": _filter(given),
        "DescribeQuorum": {
            "topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]
        },
        "RenewDelegationToken": {"hmac": NO_HMAC, "renewPeriodMs": -1},
        "ExpireDelegationToken": {"hmac": NO_HMAC, "expiryTimePeriodMs": -1},
    }


def _acl(given: Given) -> Mapping[str, Any]:
    return {
        "resourceType": _TOPIC,
        "resourceName": given.name("topic"),
        "resourcePatternType": 3,
        "principal": f"User:{given.name('user')}",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
    }


def _filter(given: Given) -> Mapping[str, Any]:
    return {
        "resourceTypeFilter": _TOPIC,
        "resourceNameFilter": given.name("topic"),
        "patternTypeFilter": 3,
        "principalFilter": None,
        "hostFilter": None,
        "operation": 1,
        "permissionType": 1,
    }


_FORMS: Final = (_records, _groups, _transactions, _topics, _configs)


def form_of(api: str, given: Given, there: Topic) -> Mapping[str, Any]:
    """Return a request of an API about a topic that is there and one that is not."""
    topics = [there, Topic(given.name("none"), "AAAAAAAAAAAAAAAAAAAAKg")]
    names = [each.name for each in topics]
    for forms in _FORMS:
        found = forms(given, names, topics).get(api)
        if found is not None:
            return found
    return least(api, given)


def _asked(word: str, api: str, given: Given) -> Script:
    there = given.orders
    if api == "Produce":  # What is written has an offset.
        there = yield NewTopic()
    request = Request(api, given.version, form_of(api, given, there))
    yield Talk([request], to=_whom(api, given), who=given.users[word])


def _whom(api: str, given: Given) -> To:
    if api in OF_GROUPS:
        return Coordinator(given.name("group"))
    if api in OF_TRANSACTIONS:
        return Coordinator(given.name("transfer"), 1)
    return CONTROLLER if api in FOR_CONTROLLER else 1


def register() -> None:
    """Add the cases of all APIs."""
    rows = (
        ("nobody", "{} by a user who may do nothing"),
        ("describer", "{} by a user who may describe topics, groups, transactions, the cluster"),
        ("member", "{} by a user who may read and write topics, in groups and transactions"),
    )
    for word, about in rows:
        for api in CLIENT_APIS:
            script = partial(_asked, word, api)
            add(Case(f"{word}/{api}", about.format(api), script, api, "all"), SECURED)
