"""What is proposed, checked and said before and while a reassignment starts."""

from __future__ import annotations

import random

import pytest

from controller.core.placement import UsableBroker
from jbodlab.kafka_tools.core.failures import EXECUTION, ToolFailure, answered
from jbodlab.kafka_tools.core.reassignment_file import ProposedReassignment, ReplicaOn
from jbodlab.kafka_tools.core.reassignment_start import (
    cancellable,
    check_brokers,
    check_racks,
    check_topics,
    current_replicas,
    moves_started,
    parse_brokers,
    plural,
    propose,
    refused,
    sort_answers,
    timed_out,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from tests.protocol.admin.views import reassignment, topic

FOO = TopicPartition("foo", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,1,2,2,3", r"Broker list contains duplicate entries: \[1, 2\]"),
        ("1,a", 'For input string: "a"'),
        ("1,,2", 'For input string: ""'),
    ],
)
def test_a_list_of_brokers_has_each_once(text: str, message: str):
    assert parse_brokers("5,2,3") == [5, 2, 3]
    with pytest.raises(ToolFailure, match=message):
        parse_brokers(text)


def test_racks_are_everywhere_or_nowhere():
    check_racks([UsableBroker(0, None), UsableBroker(1, None)])
    check_racks([UsableBroker(0, "a"), UsableBroker(1, "a")])
    with pytest.raises(ToolFailure, match="Add --disable-rack-aware in command line"):
        check_racks([UsableBroker(0, "a"), UsableBroker(1, None)])


def test_replicas_are_proposed_for_all_partitions_on_the_brokers_asked_for():
    topics = {"foo": topic("foo", (0, 1, 2), (1, 2, 3)), "bar": topic("bar", (2, 3))}
    candidates = [UsableBroker(0, "a"), UsableBroker(1, "b"), UsableBroker(3, "b")]
    proposed = propose(topics, candidates, random.Random(1))
    assert {p: len(replicas) for p, replicas in proposed.items()} == {
        TopicPartition("bar", 0): 2,
        TopicPartition("foo", 0): 3,
        TopicPartition("foo", 1): 3,
    }
    for replicas in proposed.values():
        assert len(set(replicas)) == len(replicas)
        # Both racks before a second replica in one.
        assert 0 in replicas[:2]


def test_brokers_must_suffice():
    with pytest.raises(KafkaError, match="Replication factor: 3 larger than available brokers: 2"):
        propose(
            {"foo": topic("foo", (0, 1, 2))},
            [UsableBroker(0, None), UsableBroker(1, None)],
            random.Random(1),
        )


def test_topics_partitions_and_brokers_must_be_there():
    plan = ProposedReassignment(
        ((FOO, (1, 9)), (TopicPartition("foo", 1), (1,)), (TopicPartition("foo", 7), (1,)))
    )
    with pytest.raises(ToolFailure, match="Unknown broker id 9"):
        check_brokers(plan, [1, 2])
    with pytest.raises(ToolFailure, match="Topic foo not found") as caught:
        check_topics(["foo"], {})
    assert caught.value.java_class == EXECUTION
    with pytest.raises(ToolFailure, match="Unable to find partition: foo-1, foo-7"):
        current_replicas(plan, {"foo": topic("foo", (1,))})
    assert current_replicas(ProposedReassignment(((FOO, (2,)),)), {"foo": topic("foo", (1,))}) == {
        FOO: (1,)
    }


@pytest.mark.kafka_bug("PR 20003")
def test_what_only_gets_replicas_is_cancelled_too():
    zero, one, two = (TopicPartition("foo", number) for number in range(3))
    known = {
        zero: reassignment(zero, replicas=(1, 2), adding=(2,), removing=()),
        one: reassignment(one, replicas=(1, 2), adding=(), removing=(2,)),
        two: reassignment(two, replicas=(1, 2), adding=(), removing=()),
    }
    wanted = [TopicPartition("foo", number) for number in (3, 2, 1, 0, 0)]
    assert cancellable(wanted, known) == [TopicPartition("foo", 0), TopicPartition("foo", 1)]


@pytest.mark.scenario(196)
def test_only_moves_that_began_are_told_and_replicas_that_are_not_there_yet_wait():
    answers = {
        ReplicaOn(2, FOO): ErrorCode.NONE,
        ReplicaOn(1, FOO): ErrorCode.REPLICA_NOT_AVAILABLE,
        ReplicaOn(0, FOO): ErrorCode.NONE,
    }
    started, pending = sort_answers(answers)
    assert (started, pending) == ([ReplicaOn(0, FOO), ReplicaOn(2, FOO)], [ReplicaOn(1, FOO)])
    assert moves_started(started, dict.fromkeys(answers, "/d")) == (
        "Successfully started moving log directory to /d for replica foo-0 with broker 0 \n"
        "Successfully started moving log directory to /d for replica foo-0 with broker 2 "
    )


def test_a_move_that_is_refused_ends_the_round():
    answers = {ReplicaOn(1, FOO): ErrorCode.LOG_DIR_NOT_FOUND, ReplicaOn(2, FOO): ErrorCode.NONE}
    with pytest.raises(ToolFailure) as caught:
        sort_answers(answers)
    found = "org.apache.kafka.common.errors.LogDirNotFoundException: The user-specified log "
    found += "directory is not found in the broker config."
    assert caught.value.trace() == [
        "org.apache.kafka.server.common.AdminCommandFailedException: Failed to alter dir for "
        "foo-0-1",
        f"Caused by: java.util.concurrent.ExecutionException: {found}",
        f"Caused by: {found}",
    ]


def test_sentences_know_one_and_many():
    assert [plural(count) for count in (0, 1, 2)] == ["s", "", "s"]
    assert timed_out([ReplicaOn(1, FOO)]) == (
        "Timed out before log directory move could be started for: foo-0-1"
    )
    errors = {
        TopicPartition("foo", 1): KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no"),
        FOO: answered(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
    }
    assert refused(errors, "Error:").splitlines() == [
        "Error:",
        "foo-0: No partition reassignment is in progress.",
        "foo-1: no",
    ]
