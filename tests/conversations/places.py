"""What is said of places: log dirs, moves between those of broker 1, replicas on other brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.core.script import CONTROLLER, Form, Request, Topic, Until, ask
from tests.conversations.speaker import Speaker, Step, first_of, say

_PLANS: Final = ((1,), (1, 2), (1, 3), (1, 2, 3), (1, 3, 2))
"""Replicas, by places of brokers. Broker 1 leads all along."""
_BAD_PLANS: Final = ((1, 1), (), (-1,), (1, 9999))
_NO_PATHS: Final = ("/no/such/log/dir", "not/absolute", "")
_WAIT_MS: Final = 10_000


def describe(speaker: Speaker) -> Step:
    """DescribeLogDirs of one partition: which two share a log dir is each cluster's affair."""
    topic = speaker.topic()
    partition = [speaker.partition(topic)]
    rows = [{"topic": topic.name, "partitions": speaker.mostly(partition, [], partition * 2)}]
    yield from say(speaker, "DescribeLogDirs", {"topics": speaker.mostly(rows, [], rows * 2)})


def move(speaker: Speaker) -> Step:
    """AlterReplicaLogDirs: to any log dir of broker 1, or to what is none; it waits for the end."""
    topic = speaker.topic()
    partition = speaker.partition(topic)
    if topic in speaker.topics and not speaker.epoch_has_records.get((topic.name, partition)):
        return  # Kafka's promoted logs forget a leader epoch without records; ours do not.
    described = yield from ask("DescribeLogDirs", 1, {"topics": None}, is_seen=False)
    found: list[Form] = sorted(described.get("results", ()), key=lambda each: each["logDir"])
    at = next((n for n, one in enumerate(found) if _has(one, topic, partition)), 0)
    to = found[(at + speaker.dice.randint(0, 2)) % len(found)]["logDir"] if found else ""
    path = speaker.mostly(to, *_NO_PATHS, share=0.9)
    rows = [{"name": topic.name, "partitions": [partition]}]
    answer = yield from say(
        speaker, "AlterReplicaLogDirs", {"dirs": [{"path": path, "topics": rows}]}
    )
    if first_of(answer, "results", "partitions").get("errorCode") == 0:
        yield _has_moved(topic, partition, path)


def _has(log_dir: Form, topic: Topic, partition: int) -> bool:
    return partition in _rows(log_dir, topic)


def _rows(log_dir: Form, topic: Topic) -> dict[int, Form]:
    """Return what a log dir has of a topic, by partition."""
    return {
        row["partitionIndex"]: row
        for one in log_dir["topics"]
        if one["name"] == topic.name
        for row in one["partitions"]
    }


def _has_moved(topic: Topic, partition: int, path: str) -> Until:
    form = {"topics": [{"topic": topic.name, "partitions": [partition]}]}

    def condition(answer: Form) -> bool:
        found = [each for each in answer["results"] if _has(each, topic, partition)]
        return [each["logDir"] for each in found] == [path]

    return Until(Request("DescribeLogDirs", 1, form), condition)


def reassign(speaker: Speaker) -> Step:
    """AlterPartitionReassignments: to a plan, to none that can be, or back; until that is done."""
    topic = speaker.topic()
    partition = speaker.partition(topic)
    plan: Sequence[int] | None = speaker.mostly(speaker.one_of(_PLANS), None, *_BAD_PLANS)
    if not speaker.is_told_late:
        plan = None  # KRaft raises no leader epoch by it, and refuses what cannot be otherwise.
    brokers = speaker.given.brokers
    wanted = None if plan is None else [brokers[n - 1] if 0 < n <= 3 else n for n in plan]
    rows = [{"partitionIndex": partition, "replicas": wanted}]
    form = {"topics": [{"name": topic.name, "partitions": rows}], "timeoutMs": _WAIT_MS}
    answer = yield from say(speaker, "AlterPartitionReassignments", form, to=CONTROLLER)
    row = first_of(answer, "responses", "partitions")
    if wanted and not answer.get("errorCode") and row.get("errorCode") == 0:
        speaker.copies[topic.name, partition] = len(wanted)
        speaker.epoch_has_records.pop((topic.name, partition), None)
        yield _is_reassigned(topic, partition)
        for index in (1, 2, 3):
            yield _is_placed(topic, partition, wanted, index)


def _is_reassigned(topic: Topic, partition: int) -> Until:
    rows = [{"name": topic.name, "partitionIndexes": [partition]}]
    request = Request("ListPartitionReassignments", 0, {"topics": rows, "timeoutMs": _WAIT_MS})
    return Until(request, lambda answer: not answer["topics"], to=CONTROLLER)


def _is_placed(topic: Topic, partition: int, wanted: Sequence[int], to: int) -> Until:
    form = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}

    def condition(answer: Form) -> bool:
        rows: dict[int, Any] = {
            row["partitionIndex"]: row for row in answer["topics"][0]["partitions"]
        }
        row = rows[partition]
        return row["replicaNodes"] == wanted and sorted(row["isrNodes"]) == sorted(wanted)

    return Until(Request("Metadata", 7, form), condition, to=to)


def list_reassignments(speaker: Speaker) -> Step:
    """ListPartitionReassignments of a topic, or of all: nothing is under way."""
    topic = speaker.topic()
    rows = [{"name": topic.name, "partitionIndexes": [speaker.partition(topic)]}]
    form = {"topics": speaker.mostly(rows, None), "timeoutMs": _WAIT_MS}
    yield from say(speaker, "ListPartitionReassignments", form, to=CONTROLLER)
