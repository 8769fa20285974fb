"""Topics: Metadata, creating, growing, deleting, records deleted, their configurations."""

from __future__ import annotations

from typing import Any

from conformance.core.cases.building import UNKNOWN_ID, batch, produce
from conformance.core.catalogue import case
from conformance.core.script import (
    CONTROLLER,
    Given,
    NewTopic,
    Request,
    Script,
    Talk,
    Until,
    ask,
)

_TOPIC = 2
_BROKER = 4
_BAD_NAMES = ("", ".", "..", "a b", "a/b", "x" * 250)


@case("typical/Metadata", "Metadata", versions="all")
def metadata(given: Given) -> Script:
    """A topic, one that is not there, and names that cannot be."""
    topic = yield NewTopic(partitions=2)
    for names in ([topic.name], [given.name("none"), topic.name], [topic.name] * 2):
        yield from ask("Metadata", given.version, _metadata(*names))


@case("topics/bad-names-metadata", "Metadata", versions="all", since=4)
def metadata_bad_names(given: Given) -> Script:
    """Names that no topic can have."""
    for name in _BAD_NAMES:
        yield from ask("Metadata", given.version, _metadata(name))


@case("topics/by-id", "Metadata", versions="all", since=10)
def metadata_by_id(given: Given) -> Script:
    """Topics by their ids, known and unknown; an id and a name together."""
    topic = yield NewTopic()
    rows = (
        {"topicId": topic.id, "name": None},
        {"topicId": UNKNOWN_ID, "name": None},
        {"topicId": topic.id, "name": topic.name},
    )
    for row in rows:
        yield from ask("Metadata", given.version, {"topics": [row]})


@case("typical/DescribeTopicPartitions", "DescribeTopicPartitions", versions="all")
def describe_partitions(given: Given) -> Script:
    """Partitions page by page, with a cursor."""
    topic = yield NewTopic(partitions=3)
    form = {"topics": [{"name": topic.name}]}
    for limit in (2000, 2, 1, 0, -1):
        yield from ask(
            "DescribeTopicPartitions", given.version, form | {"responsePartitionLimit": limit}
        )
    for index in (1, 2, 3, -1):
        cursor = {"topicName": topic.name, "partitionIndex": index}
        yield from ask("DescribeTopicPartitions", given.version, form | {"cursor": cursor})


def _metadata(*names: str) -> dict[str, Any]:
    topics = [{"name": name} for name in names]
    return {"topics": topics, "allowAutoTopicCreation": False}


@case("typical/CreateTopics", "CreateTopics", versions="all")
def create(given: Given) -> Script:
    """A topic is made, cannot be made twice, and only validated if asked."""
    made = _new(given.name("made"), assigned=given.brokers[:1])
    yield from _create(given, made)
    yield from _create(given, made)
    if given.version:
        other = _new(given.name("other"), assigned=given.brokers[:1])
        yield from _create(given, other, is_validated=True)
        yield from _create(given, made, is_validated=True)


@case("topics/create-refused", "CreateTopics", versions="all")
def create_refused(given: Given) -> Script:
    """Names, numbers, assignments and configurations that are refused."""
    first = given.brokers[0]
    for name in _BAD_NAMES:
        yield from _create(given, _new(name))
    for partitions, factor in ((0, 1), (-2, 1), (1, 0), (1, 99), (1, -2)):
        yield from _create(given, _new(given.name("n"), partitions, factor))
    yield from _create(given, _new(given.name("n"), assigned=(first, first)))
    both = _new(given.name("n"), assigned=(first,)) | {"numPartitions": 1}
    yield from _create(given, both)
    twice = _new(given.name("n"))
    yield from _create(given, twice, twice)
    for key, value in (("no.such.key", "1"), ("retention.ms", "x"), ("retention.ms", "-2")):
        configs = [{"name": key, "value": value}]
        yield from _create(given, _new(given.name("n")) | {"configs": configs})


@case("topics/create-null-config", "CreateTopics", versions="newest")
def create_null_config(given: Given) -> Script:
    """A configuration whose value is null."""
    configs = [{"name": "retention.ms", "value": None}]
    yield from _create(given, _new(given.name("n")) | {"configs": configs})


def _new(name: str, partitions: int = 1, factor: int = 1, assigned: Any = None) -> dict[str, Any]:
    if assigned is None:
        return {"name": name, "numPartitions": partitions, "replicationFactor": factor}
    rows = [{"partitionIndex": 0, "brokerIds": list(assigned)}]
    return {"name": name, "numPartitions": -1, "replicationFactor": -1, "assignments": rows}


def _create(given: Given, *topics: dict[str, Any], is_validated: bool = False) -> Script:
    form = {"topics": topics, "timeoutMs": 10_000, "validateOnly": is_validated}
    return ask("CreateTopics", given.version, form, to=CONTROLLER)


@case("typical/CreatePartitions", "CreatePartitions", versions="all")
def grow(given: Given) -> Script:
    """A topic grows; it cannot shrink, stay, or grow where nobody is."""
    topic = yield NewTopic()
    first = given.brokers[0]
    rows_of: tuple[tuple[int, list[list[int]] | None], ...] = (
        (2, [[first]]),
        (2, None),
        (1, None),
        (0, None),
        (-1, None),
        (4, [[first]]),
        (3, [[9999]]),
        (3, [[]]),
        (3, [[first, first]]),
    )
    for count, assigned in rows_of:
        rows = None if assigned is None else [{"brokerIds": each} for each in assigned]
        row = {"name": topic.name, "count": count, "assignments": rows}
        yield from _grow(given, [row])
    yield from _grow(given, [{"name": given.name("none"), "count": 2}])
    twice = {"name": topic.name, "count": 5}
    yield from _grow(given, [twice, twice])


def _grow(given: Given, rows: list[dict[str, Any]]) -> Script:
    form = {"topics": rows, "timeoutMs": 10_000, "validateOnly": True}
    return ask("CreatePartitions", given.version, form, to=CONTROLLER)


@case("typical/DeleteTopics", "DeleteTopics", versions="all")
def delete(given: Given) -> Script:
    """A topic is deleted; one that is not there is unknown."""
    topic = yield NewTopic()
    none = given.name("none")
    for name in (none, topic.name):
        form = {"topicNames": [name], "topics": [{"name": name}], "timeoutMs": 10_000}
        yield from ask("DeleteTopics", given.version, form, to=CONTROLLER)


@case("topics/delete-by-id", "DeleteTopics", versions="all", since=6)
def delete_by_id(given: Given) -> Script:
    """By id; an id nobody has; an id and a name together; neither."""
    topic = yield NewTopic()
    rows = (
        {"name": None, "topicId": UNKNOWN_ID},
        {"name": topic.name, "topicId": topic.id},
        {"name": None},
        {"name": None, "topicId": topic.id},
    )
    for row in rows:
        form = {"topics": [row], "timeoutMs": 10_000}
        yield from ask("DeleteTopics", given.version, form, to=CONTROLLER)


@case("typical/DeleteRecords", "DeleteRecords", versions="all")
def delete_records(given: Given) -> Script:
    """Records before an offset go; offsets out of range are refused."""
    topic = yield NewTopic()
    yield Talk([Request("Produce", 8, produce(topic, batch(4)))])
    for partition, offset in ((0, 2), (0, 1), (0, 5), (0, -2), (0, -1), (3, 0)):
        row = {"partitionIndex": partition, "offset": offset}
        form = {"topics": [{"name": topic.name, "partitions": [row]}], "timeoutMs": 10_000}
        yield from ask("DeleteRecords", given.version, form)
    none = [{"name": given.name("none"), "partitions": [{"partitionIndex": 0, "offset": 0}]}]
    yield from ask("DeleteRecords", given.version, {"topics": none, "timeoutMs": 10_000})


@case("topics/delete-records-not-leader", "DeleteRecords", brokers=3)
def delete_records_elsewhere(given: Given) -> Script:
    """Only the leader deletes records."""
    topic = yield NewTopic(replicas=(1, 2))
    rows = [{"partitionIndex": 0, "offset": 0}]
    form = {"topics": [{"name": topic.name, "partitions": rows}], "timeoutMs": 1000}
    for to in (2, 3):
        yield from ask("DeleteRecords", given.version, form, to=to)


@case("typical/DescribeConfigs", "DescribeConfigs", versions="all")
def describe_configs(given: Given) -> Script:
    """Chosen keys of a topic: one that it sets, one that it does not, one that is unknown."""
    topic = yield NewTopic(configs={"retention.bytes": "12345678"})
    keys = ["retention.bytes", "cleanup.policy", "no.such.key"]
    for synonyms in (False, True):
        row = {"resourceType": _TOPIC, "resourceName": topic.name, "configurationKeys": keys}
        yield from ask(
            "DescribeConfigs", given.version, {"resources": [row], "includeSynonyms": synonyms}
        )


@case("configs/describe-refused", "DescribeConfigs", versions="all")
def describe_refused(given: Given) -> Script:
    """Resources that are not there or cannot be."""
    for type_, name in (
        (_TOPIC, given.name("none")),
        (_TOPIC, ""),
        (_TOPIC, "a b"),
        (_BROKER, "9999"),
        (_BROKER, "word"),
        (1, "x"),
        (99, "x"),
    ):
        row = {"resourceType": type_, "resourceName": name, "configurationKeys": ["x"]}
        yield from ask("DescribeConfigs", given.version, {"resources": [row]})


@case("typical/AlterConfigs", "AlterConfigs", versions="all")
def alter_configs(given: Given) -> Script:
    """The whole configuration of a topic is replaced; bad keys and values are refused."""
    topic = yield NewTopic()
    for name, key, value in (
        (topic.name, "retention.bytes", "1000000"),
        (topic.name, "retention.bytes", "x"),
        (topic.name, "cleanup.policy", "eat"),
        (given.name("none"), "retention.bytes", "1"),
    ):
        configs = [{"name": key, "value": value}]
        row = {"resourceType": _TOPIC, "resourceName": name, "configs": configs}
        yield from ask("AlterConfigs", given.version, {"resources": [row]})
    yield from _shown(topic.name, "1000000")


@case("typical/IncrementalAlterConfigs", "IncrementalAlterConfigs", versions="all")
def alter_incrementally(given: Given) -> Script:
    """Set, delete, append, subtract; an operation on a key that is no list."""
    topic = yield NewTopic()
    for key, operation, value in (
        ("retention.bytes", 0, "1000000"),
        ("cleanup.policy", 2, "compact"),
        ("cleanup.policy", 3, "delete"),
        ("retention.bytes", 1, None),
        ("retention.bytes", 2, "5"),
        ("retention.bytes", 0, None),
        ("retention.bytes", 0, "x"),
    ):
        yield from _increment(given, topic.name, key, operation, value)
    yield from _increment(given, given.name("none"), "retention.bytes", 0, "1")
    yield from _shown(topic.name, "compact")


def _increment(given: Given, name: str, key: str, operation: int, value: str | None) -> Script:
    configs = [{"name": key, "configOperation": operation, "value": value}]
    row = {"resourceType": _TOPIC, "resourceName": name, "configs": configs}
    return ask("IncrementalAlterConfigs", given.version, {"resources": [row]})


def _shown(name: str, last: str) -> Script:
    """Show the configuration as soon as it has the value that was set last."""
    keys = ["retention.bytes", "cleanup.policy"]
    row = {"resourceType": _TOPIC, "resourceName": name, "configurationKeys": keys}
    watched = Request("DescribeConfigs", 4, {"resources": [row]})
    yield Until(watched, lambda a: any(c["value"] == last for c in a["results"][0]["configs"]))
    yield from ask("DescribeConfigs", 4, {"resources": [row]})
