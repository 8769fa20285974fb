"""What rights do in groups and transactions: on some of what a request names, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.core.cases.access_topics import new_topics
from conformance.core.catalogue import secured
from conformance.core.script import (
    Allow,
    As,
    Coordinator,
    Form,
    Given,
    NewTopic,
    NewUser,
    Script,
    Topic,
    ask,
)
from conformance.core.security_forms import (
    ALL,
    ALTER_CONFIGS,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    GROUP,
    READ,
    TOPIC,
    TRANSACTION,
    WRITE,
    rule,
)

_WAIT_MS: Final = 10_000
_INIT: Final = 4
_COMMIT: Final = 8


@secured("access/group-operations", "DescribeGroups", versions="all", since=3)
def group_operations(given: Given) -> Script:
    """What may be done with a group, right by right; groups are listed to who may describe them."""
    who = yield NewUser()
    group = given.name("group")
    to = Coordinator(group)
    commit = _commit(group, [given.orders])
    yield from ask("OffsetCommit", _COMMIT, commit, to=to, is_seen=False)
    form = {"groups": [group, given.name("other")], "includeAuthorizedOperations": True}
    yield from ask("DescribeGroups", given.version, form, to=to, who=who)
    yield from ask("ListGroups", 4, {}, to=to, who=who)
    for operation in (DESCRIBE, DELETE, READ, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL):
        yield Allow(who, [rule(GROUP, group, operation)])
        yield from ask("DescribeGroups", given.version, form, to=to, who=who)
        yield from ask("ListGroups", 4, {}, to=to, who=who)


def _commit(group: str, topics: Sequence[Topic], **more: Any) -> dict[str, Any]:
    row = {"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}
    rows = [{"name": each.name, "topicId": each.id, "partitions": [row]} for each in topics]
    return {
        "groupId": group,
        "memberId": "",
        "generationIdOrMemberEpoch": -1,
        "retentionTimeMs": -1,
        "topics": rows,
        **more,
    }


@secured("access/commit", "OffsetCommit", versions="all")
def commit(given: Given) -> Script:
    """Offsets of topics that may be read; of others, and of groups of others, none."""
    who = yield NewUser()
    group, other = given.name("group"), given.name("other")
    topic = yield NewTopic()
    yield Allow(who, [rule(TOPIC, given.orders.name, READ), rule(GROUP, group, READ)])
    topics = [given.orders, topic]
    for name in (group, other):
        form = _commit(name, topics)
        yield from ask("OffsetCommit", given.version, form, to=Coordinator(name), who=who)


@secured("access/committed", "OffsetFetch", versions="all", since=1)
def committed(given: Given) -> Script:
    """Committed offsets of all topics are those that may be described; of named ones, refused."""
    who = yield NewUser()
    group = given.name("group")
    topic, to = (yield NewTopic()), Coordinator(group)
    topics = [given.orders, topic]
    yield from ask("OffsetCommit", _COMMIT, _commit(group, topics), to=to, is_seen=False)
    yield Allow(who, [rule(TOPIC, given.orders.name, DESCRIBE), rule(GROUP, group, DESCRIBE)])
    named = [{"name": each.name, "topicId": each.id, "partitionIndexes": [0]} for each in topics]
    old = [{"name": each.name, "partitionIndexes": [0]} for each in topics]
    for asked, olds in ((named, old), *([(None, None)] if given.version >= 2 else [])):
        of_group = {"groupId": group, "topics": asked, "memberId": None, "memberEpoch": -1}
        other = of_group | {"groupId": given.name("other")}
        form = {"groupId": group, "topics": olds, "groups": [of_group]}
        yield from ask("OffsetFetch", given.version, form, to=to, who=who)
        if given.version >= 8:
            both = form | {"groups": [of_group, other]}
            yield from ask("OffsetFetch", given.version, both, to=to, who=who)


@secured("access/delete-offsets", "OffsetDelete", versions="all")
def delete_offsets(given: Given) -> Script:
    """Offsets are deleted by who may delete the group and read the topic."""
    who = yield NewUser()
    group = given.name("group")
    topic, to = (yield NewTopic()), Coordinator(group)
    topics = [given.orders, topic]
    yield from ask("OffsetCommit", _COMMIT, _commit(group, topics), to=to, is_seen=False)
    rows = [{"name": each.name, "partitions": [{"partitionIndex": 0}]} for each in topics]
    form = {"groupId": group, "topics": rows}
    for right in (rule(GROUP, group, DELETE), rule(TOPIC, topic.name, READ)):
        yield from ask("OffsetDelete", given.version, form, to=to, who=who)
        yield Allow(who, [right])
    yield from ask("OffsetDelete", given.version, form, to=to, who=who)


@secured("access/delete-groups", "DeleteGroups", versions="all")
def delete_groups(given: Given) -> Script:
    """Of several groups those are deleted that may be."""
    who = yield NewUser()
    group, other = given.name("group"), given.name("other")
    to = Coordinator(group)
    yield from ask("OffsetCommit", _COMMIT, _commit(group, [given.orders]), to=to, is_seen=False)
    yield Allow(who, [rule(GROUP, group, DELETE)])
    yield from ask("DeleteGroups", given.version, {"groupsNames": [group, other]}, to=to, who=who)


@secured("access/join", "JoinGroup", versions="all")
def join(given: Given) -> Script:
    """Who may read a group may join it; the topics are not looked at."""
    who = yield NewUser()
    group = given.name("group")
    form = {
        "groupId": group,
        "sessionTimeoutMs": _WAIT_MS,
        "rebalanceTimeoutMs": _WAIT_MS,
        "memberId": "nobody",
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": ""}],
    }
    for operation in (None, DESCRIBE, READ):
        if operation is not None:
            yield Allow(who, [rule(GROUP, group, operation)])
        yield from ask("JoinGroup", given.version, form, to=Coordinator(group), who=who)


@secured("access/coordinators", "FindCoordinator", versions="all")
def coordinators(given: Given) -> Script:
    """Coordinators are told of to who may describe the group or the transactional id."""
    who = yield NewUser()
    group, transfer = given.name("group"), given.name("transfer")
    yield Allow(who, [rule(GROUP, group, READ), rule(TRANSACTION, transfer, WRITE)])
    for kind in (0, 1) if given.version else (0,):
        keys = [group, transfer]
        for key in keys if given.version < 4 else ("",):
            form = {"key": key, "keyType": kind, "coordinatorKeys": keys}
            yield from ask("FindCoordinator", given.version, form, who=who)


@secured("access/transaction", "AddPartitionsToTxn", versions="ends")
def transaction(given: Given) -> Script:
    """A transaction from its first request to its last, step by step with one right more."""
    who = yield NewUser()
    id_, group = given.name("transfer"), given.name("group")
    to, begin = Coordinator(id_, 1), {"transactionalId": id_, "transactionTimeoutMs": _WAIT_MS}
    yield from ask("InitProducerId", _INIT, begin, to=to, who=who)
    yield Allow(who, [rule(TRANSACTION, id_, DESCRIBE)])
    yield from ask("InitProducerId", _INIT, begin, to=to, who=who)
    yield Allow(who, [rule(TRANSACTION, id_, WRITE)])
    made = yield from ask("InitProducerId", _INIT, begin, to=to, who=who)
    producer = {"producerId": made["producerId"], "producerEpoch": made["producerEpoch"]}
    yield from _in_transaction(given, who, {"transactionalId": id_, **producer}, to)
    offsets = {"transactionalId": id_, **producer, "groupId": group}
    yield from ask("AddOffsetsToTxn", 3, offsets, to=to, who=who)
    yield Allow(who, [rule(GROUP, group, READ)])
    yield from ask("AddOffsetsToTxn", 3, offsets, to=to, who=who)
    end = {"transactionalId": id_, **producer, "committed": True}
    yield from ask("EndTxn", 3, end, to=to, who=who)


def _in_transaction(given: Given, who: As, of_id: Form, to: Any) -> Script:
    """Add partitions, refused at first, then with the right to write one topic, then both."""
    topics = yield from new_topics(2)
    rows = [{"name": each.name, "partitions": [0]} for each in topics]
    old = {
        f"v3AndBelow{key[0].upper()}{key[1:]}": value
        for key, value in {**of_id, "topics": rows}.items()
    }
    form = {**old, "transactions": [{**of_id, "verifyOnly": False, "topics": rows}]}
    for each in topics:
        yield from ask("AddPartitionsToTxn", given.version, form, to=to, who=who)
        yield Allow(who, [rule(TOPIC, each.name, WRITE)])
    yield from ask("AddPartitionsToTxn", given.version, form, to=to, who=who)


@secured("access/transactions", "DescribeTransactions", versions="all")
def transactions(given: Given) -> Script:
    """Transactional ids that may be described, and of each the topics that may be."""
    who = yield NewUser()
    id_, other = given.name("transfer"), given.name("other")
    to = Coordinator(id_, 1)
    for each in (id_, other):
        form = {"transactionalId": each, "transactionTimeoutMs": _WAIT_MS}
        yield from ask("InitProducerId", _INIT, form, to=Coordinator(each, 1), is_seen=False)
    yield Allow(who, [rule(TRANSACTION, id_, DESCRIBE)])
    form = {"transactionalIds": [id_, other]}
    yield from ask("DescribeTransactions", given.version, form, to=to, who=who)
    yield from ask("ListTransactions", 0, {}, to=to, who=who)


@secured("access/consumer-groups", "ConsumerGroupHeartbeat", versions="all")
def consumer_groups(given: Given) -> Script:
    """A member of KIP-848 needs the group, and the topics that it names, too."""
    who = yield NewUser()
    group, to = given.name("group"), Coordinator(given.name("group"))
    member = "AAAAAAAAAAAAAAAAAAAAAQ" if given.version else ""
    form = {
        "groupId": group,
        "memberId": member,
        "memberEpoch": 0,
        "rebalanceTimeoutMs": _WAIT_MS,
        "subscribedTopicNames": [given.orders.name],
        "topicPartitions": [],
    }
    yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to, who=who)
    yield Allow(who, [rule(GROUP, group, READ)])
    yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to, who=who)
    yield Allow(who, [rule(TOPIC, given.orders.name, DESCRIBE)])
    answer = yield from ask("ConsumerGroupHeartbeat", given.version, form, to=to, who=who)
    described = {"groupIds": [group], "includeAuthorizedOperations": True}
    yield from ask("ConsumerGroupDescribe", 0, described, to=to, who=who)
    leave = {
        "groupId": group,
        "memberId": answer.get("memberId") or member,
        "memberEpoch": -1,
    }
    yield from ask("ConsumerGroupHeartbeat", given.version, leave, to=to)
