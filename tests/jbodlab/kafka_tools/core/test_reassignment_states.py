"""How far reassignments are, and the words for it."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.reassignment_file import ProposedReassignment, ReplicaOn
from jbodlab.kafka_tools.core.reassignment_states import (
    Active,
    Cancelled,
    Completed,
    MissingLogDir,
    MissingReplica,
    PartitionState,
    Placement,
    describe_moves,
    describe_partitions,
    describe_reassignments,
    is_done,
    move_states,
    partition_states,
    placements,
)
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.jbodlab.kafka_tools.builders import log_dir
from tests.protocol.admin.views import reassignment, topic

FOO, FOO_1, BAR = TopicPartition("foo", 0), TopicPartition("foo", 1), TopicPartition("bar", 0)


def test_partitions_of_a_plan_are_sorted_and_compared_with_what_is():
    plan = ProposedReassignment(
        ((FOO_1, (1, 2, 3)), (FOO, (0, 1, 3)), (BAR, (3, 2)), (TopicPartition("x", 5), ()))
    )
    under_way = {FOO: reassignment(FOO, replicas=(0, 1, 2, 3), adding=(3,), removing=(2,))}
    topics = {"foo": topic("foo", (0, 1, 2), (1, 2, 3)), "bar": topic("bar", (2, 3))}
    assert list(partition_states(plan, under_way, topics).items()) == [
        (BAR, PartitionState((2, 3), (3, 2), is_done=True)),
        (FOO, PartitionState((0, 1, 3), (0, 1, 3), is_done=False)),
        (FOO_1, PartitionState((1, 2, 3), (1, 2, 3), is_done=True)),
        (TopicPartition("x", 5), PartitionState((), (), is_done=True)),
    ]


@pytest.mark.kafka_bug("verify-partition-count")
def test_a_partition_number_that_the_topic_does_not_have_is_one_that_is_not_there():
    plan = ProposedReassignment(
        ((TopicPartition("foo", 1), (1,)), (TopicPartition("foo", 2), (1,)))
    )
    states = partition_states(plan, {}, {"foo": topic("foo", (1,))})
    assert [state.current for state in states.values()] == [(), ()]


@pytest.mark.scenario(190)
def test_states_of_partitions_have_kafkas_words():
    states = {
        FOO: PartitionState((0, 1, 3), (0, 1, 3), is_done=True),
        FOO_1: PartitionState((1, 2, 3), (1, 2, 3), is_done=False),
        BAR: PartitionState((3, 2), (2, 3), is_done=True),
    }
    assert describe_partitions(states).splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition foo-0 is completed.",
        "Reassignment of partition foo-1 is still in progress.",
        "There is no active reassignment of partition bar-0, but replica set is 3,2 rather than "
        "2,3.",
    ]
    wanted = {ReplicaOn(b, p): "/d" for b, p in [(2, FOO), (1, FOO_1), (1, FOO), (1, BAR)]}
    assert [str(replica) for replica in move_states(wanted, {})] == [
        *("bar-0-1", "foo-0-1", "foo-1-1", "foo-0-2"),
    ]


@pytest.mark.scenario(191)
def test_moves_are_completed_active_cancelled_or_missing():
    replicas = {name: ReplicaOn(broker, FOO) for broker, name in enumerate("abcdef")}
    wanted = dict.fromkeys(replicas.values(), "/to")
    dirs = {
        0: [log_dir("/to", FOO)],
        1: [log_dir("/from", FOO), log_dir("/to", (FOO, True))],
        2: [log_dir("/from", FOO), log_dir("/other", (FOO, True))],
        3: [log_dir("/from", FOO), log_dir("/to")],
        4: [log_dir("/from", FOO, error=ErrorCode.KAFKA_STORAGE_ERROR), log_dir("/to")],
    }
    found = placements(replicas.values(), dirs)
    assert found[replicas["e"]] == Placement(None, None)
    states = move_states(wanted, found)
    assert list(states.values()) == [
        Completed(),
        Active("/from", "/to", "/to"),
        Active("/from", "/other", "/to"),
        Cancelled("/from", "/to"),
        MissingLogDir(),
        MissingReplica(),
    ]
    assert list(map(is_done, states.values())) == [True, False, False, True, False, False]


@pytest.mark.scenario(192)
def test_states_of_moves_have_kafkas_words():
    states = {
        ReplicaOn(0, FOO): Completed(),
        ReplicaOn(1, FOO): Active("/a", "/b", "/b"),
        ReplicaOn(1, FOO_1): Active("/a", "/b", "/c"),
        ReplicaOn(2, BAR): Cancelled("/a", "/b"),
        ReplicaOn(2, FOO): MissingLogDir(),
        ReplicaOn(3, FOO): MissingReplica(),
    }
    assert describe_moves(states).splitlines() == [
        "Reassignment of replica foo-0-0 completed successfully.",
        "Reassignment of replica foo-0-1 is still in progress.",
        "Partition foo-1 on broker 1 is being moved to log dir /b instead of /c.",
        "Partition bar-0 on broker 2 is not being moved from log dir /a to /b.",
        "Partition foo-0 is not found in any live log dir on broker 2. There is likely an offline "
        "log directory on the broker.",
        "Partition foo-0 cannot be found in any live log directory on broker 3.",
    ]


def test_what_is_under_way_is_listed():
    assert describe_reassignments({}) == "No partition reassignments found."
    under_way = {
        FOO: reassignment(FOO, replicas=(3, 1), adding=(3,), removing=(1,)),
        BAR: reassignment(BAR, replicas=(1, 2), adding=(), removing=()),
    }
    assert describe_reassignments(under_way).splitlines() == [
        "Current partition reassignments:",
        "bar-0: replicas: 1,2.",
        "foo-0: replicas: 3,1. adding: 3. removing: 1.",
    ]
