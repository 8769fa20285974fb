"""Topics and configurations at their bounds: names, assignments, a bad value of each type."""

from __future__ import annotations

from typing import Any, Final

from conformance.core.cases.building import batch, produce
from conformance.core.catalogue import case
from conformance.core.script import CONTROLLER, Given, NewTopic, Request, Script, Talk, ask

_NAME_MAX: Final = 249
_TOPIC: Final = 2
_BROKER: Final = 4
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_VALUES: Final = (
    ("max.message.bytes", ("x", "", "1.5", "-1", "2147483648", " 5 ", "0", "+7")),
    ("retention.ms", ("x", "", "-2", "-1", "9223372036854775807", "9223372036854775808")),
    ("preallocate", ("maybe", "", "TRUE", "1", " true ")),
    ("cleanup.policy", ("eat", "", "delete,eat", "compact,delete", "delete,delete", " compact")),
    ("compression.type", ("none", "GZIP", "gzip", "")),
    ("message.timestamp.type", ("LogAppendTime", "logappendtime", "")),
    ("min.cleanable.dirty.ratio", ("x", "2", "-0.1", "NaN", "1", "1e-1", "")),
    ("min.insync.replicas", ("0", "1", "99", "-1")),
    ("segment.bytes", ("13", "14", "1048576")),
    ("segment.ms", ("0", "1")),
    ("index.interval.bytes", ("-1", "0")),
    ("follower.replication.throttled.replicas", ("*", "", "x", "0:1", "0:1,2", "0:x")),
    ("unclean.leader.election.enable", ("yes", "false")),
    ("no.such.key", ("1", "")),
)
"""Each type that configurations of topics have, with good and bad values."""
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


@case("topics/longest-names", "CreateTopics", versions="ends")
def longest_names(given: Given) -> Script:
    """The longest name there may be, one longer, and names that differ in a dot only."""
    for length in (_NAME_MAX, _NAME_MAX + 1):
        yield from _create(given, given.name("long").ljust(length, "x"))
    dotted = given.name("with.dot")
    yield from _create(given, dotted)
    yield from _create(given, dotted.replace("with.dot", "with_dot"))
    yield from _create(given, given.name("ok") + "._-A9")
    yield from _create(given, given.name("\u00e9"))


@case("topics/assignments", "CreateTopics", versions="all", since=1, brokers=3)
def assignments(given: Given) -> Script:
    """Assignments with gaps, twice, of no broker, of unknown ones, of unequal lengths."""
    one, two = given.brokers[:2]
    refused: tuple[list[tuple[int, list[int]]], ...] = (
        [(0, [one]), (2, [one])],
        [(0, [one]), (0, [two])],
        [(1, [one])],
        [(-1, [one])],
        [(0, [])],
        [(0, [one]), (1, [one, two])],
        [(0, [9999])],
        [(0, [-1])],
        [(0, [one, two]), (1, [two, one])],
    )
    for rows in refused:
        assigned = [{"partitionIndex": index, "brokerIds": ids} for index, ids in rows]
        more = {"assignments": assigned, "numPartitions": -1, "replicationFactor": -1}
        yield from _create(given, given.name("n"), **more)


@case("topics/numbers", "CreateTopics", versions="all", since=1)
def numbers(given: Given) -> Script:
    """Numbers of partitions and replicas that cannot be; no topic, and two that are bad."""
    for partitions, factor in ((-(2**31), 1), (1, -(2**15)), (1, 99)):
        more = {"numPartitions": partitions, "replicationFactor": factor}
        yield from _create(given, given.name("n"), **more)
    for names in ([], [given.name("a"), given.name("b")]):
        rows = [{"name": each, "numPartitions": 1, "replicationFactor": 0} for each in names]
        form = {"topics": rows, "timeoutMs": 10_000, "validateOnly": True}
        yield from ask("CreateTopics", given.version, form, to=CONTROLLER)


@case("topics/create-values", "CreateTopics", versions="newest")
def create_values(given: Given) -> Script:
    """A topic with each configuration, only validated: good and bad values of each type."""
    for key, values in _VALUES:
        for value in values:
            yield from _create(given, given.name("n"), configs=[{"name": key, "value": value}])
    twice = [{"name": "retention.ms", "value": each} for each in ("1", "2")]
    yield from _create(given, given.name("n"), configs=twice)


def _create(given: Given, name: str, **more: Any) -> Script:
    row = {"name": name, "numPartitions": 1, "replicationFactor": 1, **more}
    form = {"topics": [row], "timeoutMs": 10_000, "validateOnly": given.version > 0}
    return ask("CreateTopics", given.version, form, to=CONTROLLER)


@case("configs/values", "AlterConfigs", versions="ends")
def alter_values(given: Given) -> Script:
    """A configuration of each type, only validated: good and bad values."""
    topic = yield NewTopic()
    for key, values in _VALUES:
        for value in values:
            configs = [{"name": key, "value": value}]
            yield from _alter(given, [_resource(topic.name, configs)])
    yield from _alter(given, [_resource(topic.name, [{"name": "retention.ms", "value": None}])])


@case("configs/increments-of-values", "IncrementalAlterConfigs", versions="ends")
def increment_values(given: Given) -> Script:
    """A configuration of each type is set, only validated: good and bad values."""
    topic = yield NewTopic()
    for key, values in _VALUES:
        for value in values:
            yield from _increment(given, topic.name, (key, _SET, value), is_validated=True)


@case("configs/alter-lists", "AlterConfigs", versions="all")
def alter_lists(given: Given) -> Script:
    """No resource, a key twice, kinds and names that cannot be."""
    topic = yield NewTopic()
    row = {"name": "retention.bytes", "value": "1000"}
    yield from _alter(given, [])
    yield from _alter(given, [_resource(topic.name, [row, row | {"value": "2000"}])])
    yield from _alter(given, [_resource(topic.name, [{"name": "", "value": "1"}])])
    for kind, name in ((0, "x"), (127, "x"), (-1, "x"), (_TOPIC, ""), (_TOPIC, "a b")):
        yield from _alter(given, [_resource(name, [row]) | {"resourceType": kind}])


@case("configs/broker-values", "IncrementalAlterConfigs", versions="all")
def broker_values(given: Given) -> Script:
    """Configurations of a broker, only validated: those that can change, cannot, and are none."""
    one = str(given.brokers[0])
    for name, key, value in (
        (one, "log.cleaner.threads", "1"),
        (one, "log.cleaner.threads", "0"),
        (one, "log.cleaner.threads", "x"),
        (one, "log.retention.ms", "-2"),
        (one, "broker.id", "7"),
        (one, "zookeeper.connect", "x"),
        (one, "no.such.key", "1"),
        ("", "log.retention.ms", "1000"),
        ("", "log.retention.ms", "x"),
        ("9999", "log.retention.ms", "1000"),
        ("word", "log.retention.ms", "1000"),
        ("-1", "log.retention.ms", "1000"),
    ):
        row = {"name": key, "configOperation": _SET, "value": value}
        resource = {"resourceType": _BROKER, "resourceName": name, "configs": [row]}
        form = {"resources": [resource], "validateOnly": True}
        yield from ask("IncrementalAlterConfigs", given.version, form)


@case("configs/append-and-subtract", "IncrementalAlterConfigs", versions="all")
def append_and_subtract(given: Given) -> Script:
    """What is appended to a list and taken from it: twice, nothing, what is not there, all."""
    topic = yield NewTopic(configs={"cleanup.policy": "compact"})
    policy, throttled = "cleanup.policy", "follower.replication.throttled.replicas"
    for key, operation, value in (
        (policy, _APPEND, "delete"),
        (policy, _APPEND, "delete"),
        (policy, _APPEND, "eat"),
        (policy, _SUBTRACT, "eat"),
        (policy, _SUBTRACT, "compact,delete"),
        (policy, _APPEND, ""),
        (policy, _SUBTRACT, ""),
        (policy, _APPEND, None),
        (policy, _SUBTRACT, None),
        (throttled, _APPEND, "0:1"),
        (throttled, _APPEND, "0:1,0:2"),
        (throttled, _SUBTRACT, "0:1"),
        ("retention.ms", _SUBTRACT, "5"),
        ("retention.bytes", _DELETE, "5"),
        ("no.such.key", _DELETE, None),
        ("", _SET, "1"),
    ):
        change = (key, operation, value)
        yield from _increment(given, topic.name, change, is_validated=True)


@case("configs/many-increments", "IncrementalAlterConfigs", versions="all")
def many_increments(given: Given) -> Script:
    """No resource, no change, one key twice, a good and a bad one, one resource twice."""
    topic = yield NewTopic()
    good, bad = ("retention.ms", _SET, "1000"), ("retention.bytes", _SET, "x")
    yield from ask("IncrementalAlterConfigs", given.version, {"resources": []})
    for changes in ((), (good, good), (good, bad), (good, ("retention.ms", _DELETE, None))):
        yield from _increment(given, topic.name, *changes, is_validated=True)
    row = _changes(topic.name, good)
    form = {"resources": [row, row], "validateOnly": True}
    yield from ask("IncrementalAlterConfigs", given.version, form)


def _increment(
    given: Given, name: str, *changes: tuple[str, int, str | None], is_validated: bool
) -> Script:
    form = {"resources": [_changes(name, *changes)], "validateOnly": is_validated}
    return ask("IncrementalAlterConfigs", given.version, form)


def _changes(name: str, *changes: tuple[str, int, str | None]) -> dict[str, Any]:
    rows = [{"name": key, "configOperation": how, "value": value} for key, how, value in changes]
    return _resource(name, rows)


def _resource(name: str, configs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceType": _TOPIC, "resourceName": name, "configs": configs}


def _alter(given: Given, resources: list[dict[str, Any]]) -> Script:
    form = {"resources": resources, "validateOnly": True}
    return ask("AlterConfigs", given.version, form)


@case("configs/describe-lists", "DescribeConfigs", versions="all")
def describe_lists(given: Given) -> Script:
    """No resource, one twice, no key, one key twice, all keys."""
    topic = yield NewTopic()
    yield from ask("DescribeConfigs", given.version, {"resources": []})
    for keys in ([], ["retention.ms", "retention.ms"], [""], None):
        row = {"resourceType": _TOPIC, "resourceName": topic.name, "configurationKeys": keys}
        yield from ask("DescribeConfigs", given.version, {"resources": [row]})
    row = {"resourceType": _TOPIC, "resourceName": topic.name, "configurationKeys": ["preallocate"]}
    yield from ask("DescribeConfigs", given.version, {"resources": [row, row]})


@case("topics/delete-records-bounds", "DeleteRecords", versions="all")
def delete_records_bounds(given: Given) -> Script:
    """Offsets at both ends, a partition twice, no time to wait, a topic that is only compacted."""
    topic = yield NewTopic(partitions=2)
    yield Talk([Request("Produce", 8, produce(topic, batch(4)))])
    for rows in (
        [(0, _LONG_MAX)],
        [(0, -_LONG_MAX - 1)],
        [(-1, 0)],
        [(_INT_MAX, 0)],
        [(0, 1), (1, 0), (7, 0)],
        [(1, -1)],
        [],
    ):
        yield from _delete_records(given, topic.name, rows, 10_000)
    for timeout_ms in (0, -1, _INT_MAX):
        yield from _delete_records(given, topic.name, [(0, 2)], timeout_ms)
    compacted = yield NewTopic(configs={"cleanup.policy": "compact"})
    yield from _delete_records(given, compacted.name, [(0, 0)], 10_000)


def _delete_records(
    given: Given, topic: str, rows: list[tuple[int, int]], timeout_ms: int
) -> Script:
    partitions = [{"partitionIndex": index, "offset": offset} for index, offset in rows]
    form = {"topics": [{"name": topic, "partitions": partitions}], "timeoutMs": timeout_ms}
    return ask("DeleteRecords", given.version, form)


@case("topics/delete-lists", "DeleteTopics", versions="all")
def delete_lists(given: Given) -> Script:
    """No topic, names that cannot be, and one that is not there twice."""
    none = given.name("none")
    for names in ([], ["", "a b"], [none, none]):
        topics = [{"name": each} for each in names]
        form = {"topicNames": names, "topics": topics, "timeoutMs": 10_000}
        yield from ask("DeleteTopics", given.version, form, to=CONTROLLER)


@case("topics/metadata-lists", "Metadata", versions="all", since=1)
def metadata_lists(given: Given) -> Script:
    """No topic, one many times, the longest name and a longer one, what may be done."""
    topic = yield NewTopic()
    longest = given.name("none").ljust(_NAME_MAX, "x")
    for names in ([], [topic.name] * 50, [longest], ["x" * 10_000], ["\u00e9"]):
        form = {
            "topics": [{"name": each} for each in names],
            "allowAutoTopicCreation": False,
            "includeClusterAuthorizedOperations": True,
            "includeTopicAuthorizedOperations": True,
        }
        yield from ask("Metadata", given.version, form)
