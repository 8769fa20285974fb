"""Plans as JSON: read, checked, written."""

from __future__ import annotations

import json

import pytest

from jbodlab.kafka_tools.core.failures import (
    ADMIN_COMMAND_FAILED,
    ADMIN_OPERATION,
    JSON_MAPPING,
    ToolFailure,
)
from jbodlab.kafka_tools.core.reassignment_file import (
    ReplicaOn,
    check_plan,
    parse_plan,
    parse_topics,
    plan_document,
)
from protocol.ids import TopicPartition

FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 1)


def plan_text(*partitions: dict[str, object]) -> str:
    return json.dumps({"version": 1, "partitions": list(partitions)})


def entry(replicas: list[int], log_dirs: list[str] | None = None, **more: object):
    found: dict[str, object] = {"topic": "foo", "partition": 0, "replicas": replicas, **more}
    return found if log_dirs is None else {**found, "log_dirs": log_dirs}


@pytest.mark.scenario(208)
def test_a_plan_survives_being_written_and_read():
    assignment = {FOO: (1, 2), BAR: (3,)}
    log_dirs = {ReplicaOn(2, FOO): "/d2"}
    document = plan_document(assignment, log_dirs)
    assert document == {
        "version": 1,
        "partitions": [
            {"topic": "bar", "partition": 1, "replicas": [3], "log_dirs": ["any"]},
            {"topic": "foo", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "/d2"]},
        ],
    }
    plan = parse_plan(json.dumps(document))
    assert (plan.assignment, plan.log_dirs) == (assignment, log_dirs)
    # The form of old, without version and log dirs, and with fields that nobody knows.
    plan = parse_plan('{"partitions":[{"topic":"foo","partition":0,"replicas":[1,2],"x":1}]}')
    assert (plan.assignment, plan.log_dirs) == ({FOO: (1, 2)}, {})
    with pytest.raises(ToolFailure, match="Expecting") as caught:
        parse_plan("{invalid json")
    assert caught.value.java_class == ADMIN_OPERATION


@pytest.mark.scenario(213)
def test_a_plan_that_says_any_moves_nothing_between_log_dirs():
    assert parse_plan(plan_text(entry([1, 2], ["any", "any"]))).log_dirs == {}


@pytest.mark.parametrize(
    ("text", "java_class", "message"),
    [
        ("", ADMIN_OPERATION, "The input string shouldn't be empty"),
        ("[]", JSON_MAPPING, "Expected JSON object, received []"),
        ('{"version":2}', ADMIN_OPERATION, "Not supported version field value 2"),
        ('{"partitions":[{}]}', JSON_MAPPING, "No such field exists: `topic`"),
        (
            plan_text(entry([1], partition="a")),
            JSON_MAPPING,
            'Expected `Integer` value, received "a"',
        ),
        (
            plan_text(entry([1, 2], ["any"])),
            ADMIN_COMMAND_FAILED,
            "Size of replicas list [1, 2] is different from size of log dirs list [any] for "
            "partition foo-0",
        ),
    ],
)
def test_a_file_that_is_no_plan_is_refused(text: str, java_class: str, message: str):
    with pytest.raises(ToolFailure) as caught:
        parse_plan(text)
    assert (caught.value.java_class, caught.value.message) == (java_class, message)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "Partition reassignment list cannot be empty"),
        ([entry([])], "Partition replica list cannot be empty"),
        (
            [entry([1]), entry([2])],
            "Partition reassignment contains duplicate topic partitions: foo-0",
        ),
        (
            [entry([1, 1, 2, 2]), entry([3, 3], partition=1)],
            "Partition replica lists may not contain duplicate entries: foo-0 contains multiple "
            "entries for 1,2. foo-1 contains multiple entries for 3",
        ),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(entries: list[object], message: str):
    plan = parse_plan(json.dumps({"partitions": entries}))
    with pytest.raises(ToolFailure) as caught:
        check_plan(plan)
    assert (caught.value.java_class, caught.value.message) == (ADMIN_COMMAND_FAILED, message)


def test_topics_to_move_are_read():
    assert parse_topics('{"topics":[{"topic":"foo"},{"topic":"bar"}],"version":1}') == [
        "foo",
        "bar",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The input string is not a valid JSON"),
        ('{"topics":[', "The input string is not a valid JSON"),
        ('{"version":2}', "Not supported version field value 2"),
        (
            '{"topics":[{"topic":"foo"},{"topic":"foo"}]}',
            "List of topics to reassign contains duplicate entries: [foo]",
        ),
    ],
)
def test_a_file_without_topics_is_refused(text: str, message: str):
    with pytest.raises(ToolFailure) as caught:
        parse_topics(text)
    assert caught.value.message == message
