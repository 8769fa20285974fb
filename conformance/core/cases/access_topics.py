"""What rights do to topics: on some of what a request names, by pattern, taken away."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final

from conformance.core.cases.building import batch, fetch_of, idempotent
from conformance.core.catalogue import secured
from conformance.core.script import (
    CONTROLLER,
    Allow,
    Answer,
    Given,
    NewTopic,
    NewUser,
    Repeated,
    Request,
    Script,
    Talk,
    Topic,
    ask,
)
from conformance.core.security_forms import (
    ALL,
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    IDEMPOTENT_WRITE,
    OTHER_HOST,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    matching,
    rule,
)

_WAIT_MS: Final = 10_000
_PRODUCE: Final = 9


def new_topics(count: int) -> Generator[Any, Any, list[Topic]]:
    """Have so many topics made."""
    made: list[Topic] = []
    for _ in range(count):
        made += [(yield NewTopic())]
    return made


def _metadata(names: Sequence[str] | None) -> dict[str, Any]:
    return {
        "topics": None if names is None else [{"name": name} for name in names],
        "allowAutoTopicCreation": False,
        "includeTopicAuthorizedOperations": True,
        "includeClusterAuthorizedOperations": True,
    }


def _produced(topics: Sequence[Topic], data: str, **more: Any) -> dict[str, Any]:
    rows = [
        {"name": each.name, "topicId": each.id, "partitionData": [{"index": 0, "records": data}]}
        for each in topics
    ]
    return {"acks": -1, "timeoutMs": _WAIT_MS, "topicData": rows, **more}


def _fetched(topics: Sequence[Topic]) -> dict[str, Any]:
    rows = [{"partition": 0, "partitionMaxBytes": 1 << 20}]
    named = [fetch_of(each, rows)["topics"][0] for each in topics]
    return {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 20, "topics": named}


@secured("access/patterns", "Metadata", versions="ends", since=8)
def patterns(given: Given) -> Script:
    """Literal, prefixed, of another host, denied: what each leaves of a topic's operations."""
    who = yield NewUser()
    topics = yield from new_topics(6)
    literal, denied, host, all_, implied, none = (each.name for each in topics)
    rows = [
        rule(TOPIC, literal, READ),
        rule(TOPIC, denied, WRITE),
        rule(TOPIC, denied, READ),
        rule(TOPIC, denied, READ, permissionType=DENY),
        rule(TOPIC, host, READ, host=OTHER_HOST),
        rule(TOPIC, all_, ALL),
        rule(TOPIC, all_, DESCRIBE, permissionType=DENY),
        rule(TOPIC, implied, ALTER_CONFIGS),
        rule(TOPIC, implied, DELETE),
    ]
    yield Allow(who, rows)
    names = [each.name for each in topics]
    yield from ask("Metadata", given.version, _metadata(names), who=who)
    prefix = names[0][: names[0].index("topic")]
    yield Allow(who, [rule(TOPIC, prefix, WRITE, resourcePatternType=PREFIXED)])
    yield from ask("Metadata", given.version, _metadata(names), who=who)
    yield Allow(who, [rule(TOPIC, prefix, ALL, resourcePatternType=PREFIXED, permissionType=DENY)])
    yield from ask("Metadata", given.version, _metadata([literal, none]), who=who)


@secured("access/everywhere", "Metadata", versions="ends", since=8)
def everywhere(given: Given) -> Script:
    """An ACL of every topic, one that denies a single one, and topics that are not there."""
    who = yield NewUser()
    topic = yield NewTopic()
    other = yield NewTopic()
    names = [topic.name, other.name, given.name("none")]
    yield Allow(who, [rule(TOPIC, "*", DESCRIBE)])
    yield from ask("Metadata", given.version, _metadata(names), who=who)
    yield Allow(who, [rule(TOPIC, other.name, DESCRIBE, permissionType=DENY)])
    yield from ask("Metadata", given.version, _metadata(names), who=who)
    yield from ask("Metadata", given.version, _metadata(None if given.version else ()), who=who)


@secured("access/metadata", "Metadata", versions="all")
def metadata(given: Given) -> Script:
    """Of all topics those come that may be described; of ids what may be told."""
    who = yield NewUser()
    topic = yield NewTopic()
    other = yield NewTopic()
    yield Allow(who, [rule(TOPIC, topic.name, READ)])
    yield from ask("Metadata", given.version, _metadata(None if given.version else ()), who=who)
    yield from ask("Metadata", given.version, _metadata([]), who=who)
    yield from ask("Metadata", given.version, _metadata([topic.name, other.name]), who=who)
    if given.version >= 12:
        by_id = [{"topicId": each.id, "name": None} for each in (topic, other)]
        yield from ask("Metadata", given.version, _metadata([]) | {"topics": by_id}, who=who)


@secured("access/auto-create", "Metadata", versions="all", since=4)
def auto_create(given: Given) -> Script:
    """Who asks for a topic that is to be made by that, without and with the right to make it."""
    who = yield NewUser()
    name = given.name("new")
    form = _metadata([name]) | {"allowAutoTopicCreation": True}
    yield from ask("Metadata", given.version, form, who=who)
    yield Allow(who, [rule(TOPIC, name, DESCRIBE)])
    yield from ask("Metadata", given.version, form, who=who)
    yield Allow(who, [rule(TOPIC, name, CREATE)])
    yield from ask("Metadata", given.version, form, who=who)


@secured("access/cluster-operations", "DescribeCluster", versions="all")
def cluster_operations(given: Given) -> Script:
    """What may be done with the cluster, by who may describe it and by who may not."""
    who = yield NewUser()
    form = {"includeClusterAuthorizedOperations": True}
    yield from ask("DescribeCluster", given.version, form, who=who)
    for operation in (CREATE, DESCRIBE, ALTER_CONFIGS, ALL):
        yield Allow(who, [rule(CLUSTER, CLUSTER_NAME, operation)])
        yield from ask("DescribeCluster", given.version, form, who=who)
        yield from ask("Metadata", 8, _metadata([]), who=who)


@secured("access/produce", "Produce", versions="all", since=3)
def produce(given: Given) -> Script:
    """Of several topics those are written that may be; the others are refused one by one."""
    who = yield NewUser()
    topic = yield NewTopic()
    other = yield NewTopic()
    yield Allow(who, [rule(TOPIC, topic.name, WRITE), rule(TOPIC, other.name, READ)])
    none = Topic(given.name("none"), "AAAAAAAAAAAAAAAAAAAAKg")
    form = _produced([topic, other, none], batch(1))
    yield from ask("Produce", given.version, form, who=who)
    data = idempotent((999_999_999, 9), 0, is_transactional=True)
    for id_ in (given.name("transfer"), None):
        more = {"transactionalId": id_}
        yield from ask("Produce", given.version, _produced([topic], data, **more), who=who)


@secured("access/idempotence", "InitProducerId", versions="all")
def idempotence(given: Given) -> Script:
    """Who may write any topic may have a producer id, and so may who may write idempotently."""
    form = {"transactionalId": None, "transactionTimeoutMs": _WAIT_MS}
    for number, rows in enumerate(
        (
            [],
            [rule(TOPIC, given.orders.name, READ)],
            [rule(TOPIC, given.orders.name, WRITE)],
            [rule(TOPIC, given.name("t"), WRITE, resourcePatternType=PREFIXED)],
            [rule(TOPIC, "x", WRITE), rule(TOPIC, "*", WRITE, permissionType=DENY)],
            [rule(TOPIC, "xy", WRITE), rule(TOPIC, "x", WRITE, permissionType=DENY)],
            [rule(TOPIC, given.orders.name, ALL)],
            [rule(TOPIC, given.orders.name, WRITE, host=OTHER_HOST)],
            [rule(CLUSTER, CLUSTER_NAME, IDEMPOTENT_WRITE)],
        )
    ):
        who = yield NewUser(f"user{number}")
        if rows:
            yield Allow(who, rows)
        yield from ask("InitProducerId", given.version, form, who=who)


@secured("access/fetch", "Fetch", versions="all")
def fetch(given: Given) -> Script:
    """Of several topics those are read that may be; who may only describe may not read."""
    who = yield NewUser()
    topics = yield from new_topics(3)
    for each in topics:
        yield Talk([Request("Produce", _PRODUCE, _produced([each], batch(1)))], is_seen=False)
    yield Allow(who, [rule(TOPIC, topics[0].name, READ), rule(TOPIC, topics[1].name, DESCRIBE)])
    none = Topic(given.name("none"), "AAAAAAAAAAAAAAAAAAAAKg")
    yield from ask("Fetch", given.version, _fetched([*topics, none]), who=who)
    follower = {"replicaId": 2, "replicaState": {"replicaId": 2, "replicaEpoch": -1}}
    yield from ask("Fetch", given.version, _fetched(topics) | follower, who=who)


@secured("access/sessions", "Fetch", versions="all", since=7)
def sessions(given: Given) -> Script:
    """A fetch session goes on when the right to read a topic is taken away, and given again."""
    who = yield NewUser()
    topic = yield NewTopic()
    yield Allow(who, [rule(TOPIC, topic.name, READ)])
    form = _fetched([topic]) | {"sessionId": 0, "sessionEpoch": 0}
    answer = yield from ask("Fetch", given.version, form, who=who)
    gone = {"filters": [matching(principalFilter=who.principal)]}
    yield from ask("DeleteAcls", 3, gone, to=CONTROLLER, is_seen=False)
    yield Repeated(
        Talk([Request("ListOffsets", 5, _listed([topic]))], who=who),
        lambda answers: _code_of(answers) != 0,
    )
    session = {"sessionId": answer.get("sessionId", 0), "sessionEpoch": 1}
    yield from ask("Fetch", given.version, _fetched([]) | session, who=who)


def _listed(topics: Sequence[Topic]) -> dict[str, Any]:
    rows = [{"partitionIndex": 0, "timestamp": -1}]
    return {"replicaId": -1, "topics": [{"name": each.name, "partitions": rows} for each in topics]}


def _code_of(answers: Sequence[Answer]) -> int:
    return answers[0].body["topics"][0]["partitions"][0]["errorCode"]


@secured("access/taken-away", "ListOffsets", versions="ends", since=1)
def taken_away(given: Given) -> Script:
    """A right is given, taken away and given again under an open connection."""
    who = yield NewUser()
    asked = Talk([Request("ListOffsets", given.version, _listed([given.orders]))], who=who)
    yield asked
    yield Allow(who, [rule(TOPIC, given.orders.name, DESCRIBE)])
    yield asked
    gone = {"filters": [matching(principalFilter=who.principal)]}
    yield from ask("DeleteAcls", 3, gone, to=CONTROLLER)
    yield Repeated(asked, lambda answers: _code_of(answers) != 0)


@secured("access/make-topics", "CreateTopics", versions="all")
def make_topics(given: Given) -> Script:
    """Topics that a prefix allows are made; their configuration is told to who may know it."""
    who = yield NewUser()
    own, other = given.name("own"), given.name("other")
    new = [{"name": name, "numPartitions": 1, "replicationFactor": 1} for name in (own, other)]
    form = {"topics": new, "timeoutMs": _WAIT_MS, "validateOnly": True}
    yield from ask("CreateTopics", given.version, form, to=CONTROLLER, who=who)
    yield Allow(who, [rule(TOPIC, own, CREATE)])
    yield from ask("CreateTopics", given.version, form, to=CONTROLLER, who=who)
    yield Allow(who, [rule(CLUSTER, CLUSTER_NAME, CREATE)])
    yield from ask("CreateTopics", given.version, form, to=CONTROLLER, who=who)


@secured("access/make-partitions", "CreatePartitions", versions="all")
def make_partitions(given: Given) -> Script:
    """Who may alter a topic makes it grow; of others nothing is told but that."""
    who = yield NewUser()
    topic = yield NewTopic()
    names = [topic.name, given.orders.name, given.name("none")]
    more = [{"name": name, "count": 3, "assignments": None} for name in names]
    form = {"topics": more, "timeoutMs": _WAIT_MS, "validateOnly": True}
    yield Allow(who, [rule(TOPIC, topic.name, ALTER)])
    yield from ask("CreatePartitions", given.version, form, to=CONTROLLER, who=who)


@secured("access/delete-topics", "DeleteTopics", versions="all")
def delete_topics(given: Given) -> Script:
    """By name and by id: who may not even describe a topic is not told that it is there."""
    who = yield NewUser()
    topics = yield from new_topics(3)
    yield Allow(who, [rule(TOPIC, topics[0].name, DELETE), rule(TOPIC, topics[1].name, DESCRIBE)])
    names = [*(each.name for each in topics[1:]), given.name("none"), topics[0].name]
    by_id = [{"topicId": each.id, "name": None} for each in topics[1:]] if given.version > 5 else []
    if by_id:
        form = {"topics": by_id, "topicNames": [], "timeoutMs": _WAIT_MS}
        yield from ask("DeleteTopics", given.version, form, to=CONTROLLER, who=who)
    form = {"topics": [{"name": each} for each in names], "topicNames": names}
    form |= {"timeoutMs": _WAIT_MS}
    yield from ask("DeleteTopics", given.version, form, to=CONTROLLER, who=who)


@secured("access/delete-records", "DeleteRecords", versions="all")
def delete_records(given: Given) -> Script:
    """Records are deleted by who may delete the topic."""
    who = yield NewUser()
    topic = yield NewTopic()
    other = yield NewTopic()
    yield Allow(who, [rule(TOPIC, topic.name, DELETE), rule(TOPIC, other.name, WRITE)])
    rows = [
        {"name": name, "partitions": [{"partitionIndex": 0, "offset": 0}]}
        for name in (topic.name, other.name, given.name("none"))
    ]
    form = {"topics": rows, "timeoutMs": _WAIT_MS}
    yield from ask("DeleteRecords", given.version, form, who=who)


@secured("access/configs", "DescribeConfigs", versions="all", since=1)
def configs(given: Given) -> Script:
    """Configurations of topics and of the cluster are told and changed by rights of their own."""
    who = yield NewUser()
    one = str(given.brokers[0])
    kinds = ((2, given.orders.name, "retention.ms"), (4, one, "log.retention.ms"))
    asked = [
        {"resourceType": kind, "resourceName": name, "configurationKeys": [key]}
        for kind, name, key in kinds
    ]
    row = {"value": "5000", "configOperation": 0}
    changes = [
        {"resourceType": kind, "resourceName": name, "configs": [{"name": key, **row}]}
        for kind, name, key in kinds
    ]
    for right in (
        None,
        rule(TOPIC, given.orders.name, DESCRIBE_CONFIGS),
        rule(TOPIC, given.orders.name, ALTER_CONFIGS),
        rule(CLUSTER, CLUSTER_NAME, DESCRIBE_CONFIGS),
        rule(CLUSTER, CLUSTER_NAME, ALTER_CONFIGS),
    ):
        if right is not None:
            yield Allow(who, [right])
        yield from ask("DescribeConfigs", given.version, {"resources": asked}, who=who)
        form = {"resources": changes, "validateOnly": True}
        yield from ask("IncrementalAlterConfigs", 1, form, who=who)


@secured("access/log-dirs", "DescribeLogDirs", versions="all")
def log_dirs(given: Given) -> Script:
    """Log dirs are told to who may describe the cluster."""
    who = yield NewUser()
    topic = yield NewTopic()
    form = {"topics": [{"topic": topic.name, "partitions": [0]}]}
    yield from ask("DescribeLogDirs", given.version, form, who=who)
    yield Allow(who, [rule(CLUSTER, CLUSTER_NAME, DESCRIBE)])
    yield from ask("DescribeLogDirs", given.version, form, who=who)


@secured("access/acls", "DescribeAcls", versions="all")
def of_acls(given: Given) -> Script:
    """ACLs are told to who may describe the cluster, and changed by who may alter it."""
    who = yield NewUser()
    new = {"creations": [rule(TOPIC, given.name("t"), READ) | {"principal": who.principal}]}
    gone = {"filters": [matching(principalFilter=who.principal, resourceTypeFilter=TOPIC)]}
    own = matching(principalFilter=who.principal, patternTypeFilter=3)
    for operation in (None, DESCRIBE, ALTER):
        if operation is not None:
            yield Allow(who, [rule(CLUSTER, CLUSTER_NAME, operation)])
        yield from ask("DescribeAcls", given.version, own, who=who)
        if operation != ALTER:
            yield from ask("CreateAcls", 3, new, to=CONTROLLER, who=who)
        yield from ask("DeleteAcls", 3, gone, to=CONTROLLER, who=who)
