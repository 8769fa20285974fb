"""What is said of topics: made, grown, configured, described, deleted."""

from __future__ import annotations

from typing import Any, Final

from conformance.core.script import CONTROLLER, Form, NewTopic, Request, Topic, Until
from tests.conversations.speaker import Speaker, Step, first_of, say

_TOPIC: Final = 2
_NO_KEY: Final = "no.such.key"
# Without zstd: 3.9 gives readers of such a topic nothing below Fetch v10, 4.3 what is not in zstd.
_KEYS: Final = {
    "cleanup.policy": ("delete", "compact", "compact,delete", "keep"),
    "compression.type": ("producer", "gzip", "lz4", "snappy", "uncompressed", "none"),
    "max.message.bytes": ("1000048", "300", "120", "-1", "x"),
    "message.timestamp.type": ("CreateTime", "Never"),
    "message.timestamp.before.max.ms": ("9223372036854775807", "1000", "-1"),
    "min.insync.replicas": ("1", "2", "0"),
    "segment.bytes": ("1048576", "1073741824", "13"),
    "retention.bytes": ("-1", "100000", "-2"),
    "retention.ms": ("-1", "9223372036854775807", "x"),
    "segment.index.bytes": ("10485760", "3"),
    "unclean.leader.election.enable": ("true", "false", "maybe"),
    _NO_KEY: ("1",),
}
_WATCHED: Final = 1
"""The source of what a topic was set."""


def make(speaker: Speaker) -> Step:
    """Have a topic made, led by broker 1."""
    configs = {"retention.ms": "-1", "segment.ms": str(2**63 - 1)}
    for key in ("cleanup.policy", "compression.type", "segment.bytes"):
        if speaker.chance(0.3):
            configs[key] = speaker.one_of(_KEYS[key][:2])
    count = speaker.dice.randint(1, 2)
    topic = yield NewTopic(partitions=count, configs=configs)
    yield NewTopic()  # Who knows of it has done all that the one before asks for.
    speaker.topics.append(topic)
    speaker.partitions[topic.name] = count


def change(speaker: Speaker) -> Step:
    """IncrementalAlterConfigs of one key; every broker goes by it before anything else is said."""
    topic = speaker.one_of(speaker.topics)
    key = speaker.one_of(list(_KEYS))
    # 3.9 knows no code for what is appended to a key that is not there.
    others = (1,) if key == _NO_KEY and speaker.is_told_late else (1, 2)
    operation = speaker.mostly(0, *others, share=0.7)
    value = None if operation == 1 else speaker.one_of(_KEYS[key])
    row = {"name": key, "configOperation": operation, "value": value}
    resource = {"resourceType": _TOPIC, "resourceName": topic.name, "configs": [row]}
    is_only_looked_at = speaker.chance(0.1) or speaker.is_told_late
    form = {"resources": [resource], "validateOnly": is_only_looked_at}
    answer = yield from say(speaker, "IncrementalAlterConfigs", form, to=CONTROLLER)
    fine = first_of(answer, "responses").get("errorCode") == 0
    if fine and not form["validateOnly"] and operation in (0, 1):
        yield _is_known(topic, key, value)
    yield from describe(speaker)


def _is_known(topic: Topic, key: str, value: str | None) -> Until:
    row = {"resourceType": _TOPIC, "resourceName": topic.name, "configurationKeys": [key]}

    def condition(answer: Form) -> bool:
        found = [each for result in answer["results"] for each in result["configs"]]
        if value is None:
            return all(each["configSource"] != _WATCHED for each in found)
        return any(each["value"] == value for each in found)

    return Until(Request("DescribeConfigs", 4, {"resources": [row]}), condition)


def describe(speaker: Speaker) -> Step:
    """DescribeConfigs of some keys of a topic."""
    topic = speaker.topic()
    keys = speaker.one_of([list(_KEYS)[:5], ["retention.ms"], [_NO_KEY]])
    row: dict[str, Any] = {"resourceType": _TOPIC, "resourceName": topic.name}
    form = {
        "resources": [row | {"configurationKeys": keys}],
        "includeSynonyms": speaker.chance(0.3),
        "includeDocumentation": False,
    }
    yield from say(speaker, "DescribeConfigs", form, since=1)  # v0 is a known difference.


def look(speaker: Speaker) -> Step:
    """Metadata of a topic, by name."""
    topic = speaker.topic()
    form = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
    yield from say(speaker, "Metadata", form)


def look_at_partitions(speaker: Speaker) -> Step:
    """DescribeTopicPartitions."""
    topic = speaker.topic()
    form = {"topics": [{"name": topic.name}], "responsePartitionLimit": 5}
    yield from say(speaker, "DescribeTopicPartitions", form)


def elect(speaker: Speaker) -> Step:
    """ElectLeaders, where the preferred leader leads already."""
    topic = speaker.topic()
    rows = [{"topic": topic.name, "partitions": [speaker.partition(topic)]}]
    form = {"electionType": speaker.dice.randint(0, 1), "topicPartitions": rows}
    form["timeoutMs"] = 10_000
    yield from say(speaker, "ElectLeaders", form, to=CONTROLLER)


def grow(speaker: Speaker) -> Step:
    """CreatePartitions by one, to none, or to fewer; not where consumers share what is new."""
    if speaker.consumers:
        return
    topic = speaker.one_of(speaker.topics)
    had = speaker.partitions[topic.name]
    count = speaker.mostly(had + 1, had, had - 1, share=0.6) if had < 3 else had
    first = speaker.given.brokers[0]
    rows = [{"brokerIds": [first]}] * max(count - had, 0)
    row = {"name": topic.name, "count": count, "assignments": rows or None}
    form = {"topics": [row], "timeoutMs": 10_000, "validateOnly": False}
    answer = yield from say(speaker, "CreatePartitions", form, to=CONTROLLER)
    if first_of(answer, "results").get("errorCode") == 0:
        speaker.partitions[topic.name] = count
        yield _is_led(topic, count - 1)
        yield _is_known_to_clients(topic, count)


def _is_known_to_clients(topic: Topic, count: int) -> Until:
    form = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
    request = Request("Metadata", 7, form)
    return Until(request, lambda answer: len(answer["topics"][0]["partitions"]) == count)


def _is_led(topic: Topic, partition: int) -> Until:
    row = {"partitionIndex": partition, "timestamp": -1, "currentLeaderEpoch": -1}
    topics = [{"name": topic.name, "partitions": [row]}]
    request = Request("ListOffsets", 5, {"replicaId": -1, "isolationLevel": 0, "topics": topics})
    return Until(request, lambda answer: answer["topics"][0]["partitions"][0]["errorCode"] == 0)
