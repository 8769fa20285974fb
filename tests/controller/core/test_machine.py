"""Whole situations, compared request by request with what Apache Kafka 3.9.2 sent in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from controller.core.effects import End
from controller.core.machine import HalfDoneError
from controller.core.records import ControllerStarted, Record, ReplicasProbed
from controller.core.run_state import Hearing, Waiting, WantedTopic
from protocol.messages.control import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.topics import CreatePartitionsRequest, CreatePartitionsTopic
from tests.controller.core.cluster import (
    CLUSTER_ID,
    SESSION_MS,
    Cluster,
    create_request,
    registered,
    three_brokers,
    tp,
)
from tests.controller.core.golden import before, normal, recorded
from tests.controller.core.heard import nothing_newer
from tests.controller.core.reassigning import alter, set_isr
from tests.controller.core.story import (
    Move,
    Story,
    check_records,
    check_settled,
    check_state,
    moves,
)


def at_epoch(controller_epoch: int) -> ControllerStarted:
    """The next controller has this epoch."""
    return ControllerStarted(CLUSTER_ID, controller_epoch - 1)


def let_brokers_know(cluster: Cluster) -> None:
    """Give the broker models the leader epochs that the state has."""
    for name in cluster.state.partitions():
        partition = cluster.state.partition(name)
        for broker_id in partition.replicas:
            cluster.brokers[broker_id].epochs[name] = partition.leader_epoch


def started(*records: Record, controller_epoch: int = 1) -> Cluster:
    cluster = three_brokers(at_epoch(controller_epoch), *records)
    let_brokers_know(cluster)
    return cluster


def test_starting_brokers_are_told_who_is_there() -> None:
    cluster = Cluster()
    cluster.start_broker(1)
    first = normal(cluster.take())
    cluster.start_broker(2)
    second = normal(cluster.take())

    start = recorded("start")
    assert first == {1: start[1][:1]}
    assert second == {1: start[1][1:2], 2: start[2][:1]}


def test_a_new_topic_reaches_its_replicas_first_and_then_everyone() -> None:
    cluster = started()

    result = cluster.create("t", [1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2])

    assert result.error_code == 0
    assert normal(cluster.take()) == recorded("create-topic")


def test_who_makes_a_topic_is_answered_once_the_last_broker_was_told() -> None:
    cluster = started()
    cluster.held = [3]
    token = cluster.ask(create_request("t", [1, 2]), 7)

    cluster.settle()
    assert token not in cluster.answers
    cluster.answer_next(3)

    assert cluster.answers[token].topics[0].error_code == 0


def test_new_partitions_are_placed_and_told_as_kafka_does() -> None:
    cluster = started()
    cluster.create("t", [1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2])
    cluster.take()

    cluster.call(
        CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="t", count=6, assignments=None)], timeout_ms=60000
        ),
        3,
    )

    assert normal(cluster.take()) == recorded("new-partitions")


def test_a_deleted_topic_is_forgotten_stopped_and_removed() -> None:
    cluster = started()
    cluster.create("m", [3])
    cluster.take()

    assert [r.error_code for r in cluster.delete("m")] == [0]

    assert normal(cluster.take()) == recorded("delete-topic")
    assert "m" not in cluster.state.topics


@pytest.mark.scenario(171, 179)
def test_a_failed_log_dir_is_probed_and_its_replicas_leave_the_isr() -> None:
    expected = recorded("dir-failure")
    cluster = started(*before(expected[1][0]))

    cluster.fail_log_dir(1, 1, ["t-1", "t-4", "t-5"])

    assert normal(cluster.take()) == expected
    assert list(cluster.state.offline) == [1]


def test_new_replicas_still_go_to_a_broker_with_an_offline_log_dir() -> None:
    cluster = started()
    cluster.beat(1, offline=[1])

    cluster.create("n", [1, 2, 3], [2, 1, 3])

    assert normal(cluster.take()) == recorded("create-topic-with-dir-offline")


def shutdown_cluster() -> Cluster:
    """Broker 1 has t-1, t-4, t-5 on an offline log dir."""
    rows = recorded("controlled-shutdown")[2]
    state: dict[str, Any] = {
        "t-0": [1, 4, [1, 2, 3], 4, [1, 2, 3], 1, []],
        "t-1": [2, 2, [2, 3], 2, [2, 3, 1], 1, []],
        "t-2": [3, 0, [3, 1, 2], 0, [3, 1, 2], 1, []],
        "t-3": [1, 0, [1, 3, 2], 0, [1, 3, 2], 1, []],
        "t-4": [2, 1, [2, 3], 1, [2, 3, 1], 1, []],
        "t-5": [3, 1, [3, 2], 1, [3, 1, 2], 1, []],
        "n-0": [1, 0, [1, 2, 3], 0, [1, 2, 3], 1, []],
        "n-1": [2, 0, [2, 1, 3], 0, [2, 1, 3], 1, []],
    }
    assert list(rows[0]["partitions"]) == ["n-0", "t-0", "t-3"]
    bad = (tp("t-1"), tp("t-4"), tp("t-5"))
    cluster = started(*before({"partitions": state}), ReplicasProbed(1, bad, ()))
    cluster.brokers[1].bad = list(bad)
    return cluster


@pytest.mark.scenario(163)
def test_a_controlled_shutdown_moves_leaders_and_stops_followers() -> None:
    cluster = shutdown_cluster()

    response = cluster.shut_down(1)

    assert list(response.remaining_partitions) == []
    sent = normal(cluster.take())
    assert sent == recorded("controlled-shutdown")


def test_a_new_controller_tells_everyone_everything_twice() -> None:
    expected = recorded("failover-clean")
    live = [record for broker_id in (2, 3) for record in registered(broker_id, broker_id)]
    cluster = Cluster([at_epoch(2), *live, *before(expected[2][2])])

    cluster.settle()

    sent = normal(cluster.take())
    for broker_id, requests in expected.items():
        # Where Kafka's first word names brokers alone, ours has every partition as it was.
        before_elections = sent[broker_id][0].pop("partitions")
        assert before_elections.keys() == requests[2]["partitions"].keys()
        assert requests[0].pop("partitions") == {}
    assert sent == expected


@pytest.mark.scenario(176, 181)
def test_a_returning_broker_gets_everything_and_its_replicas_rejoin() -> None:
    expected = recorded("broker-returns")
    live = [record for broker_id in (2, 3) for record in registered(broker_id, broker_id)]
    cluster = Cluster([at_epoch(2), *live, *before(expected[1][0])])
    cluster.settle()
    cluster.take()

    cluster.start_broker(1)
    for request in expected[1][3:]:
        alter_isrs(cluster, request["partitions"])

    assert normal(cluster.take()) == expected


def alter_isrs(cluster: Cluster, rows: dict[str, list[Any]]) -> None:
    by_topic: dict[str, list[PartitionData]] = {}
    leader = next(iter(rows.values()))[0]
    for name, (_, leader_epoch, isr, partition_epoch, *_) in rows.items():
        by_topic.setdefault(tp(name).topic, []).append(
            PartitionData(
                partition_index=tp(name).partition,
                leader_epoch=leader_epoch,
                new_isr_with_epochs=[BrokerState(broker_id=member) for member in isr],
                partition_epoch=partition_epoch - 1,
            )
        )
    response = cluster.call(
        AlterPartitionRequest(
            broker_id=leader,
            broker_epoch=cluster.state.brokers[leader].broker_epoch,
            topics=[
                TopicData(topic_id=cluster.state.topics[topic].topic_id, partitions=partitions)
                for topic, partitions in by_topic.items()
            ],
        ),
        3,
    )
    assert all(p.error_code == 0 for topic in response.topics for p in topic.partitions)


def test_a_reassignment_is_told_as_kafka_does() -> None:
    cluster = started()
    cluster.create("m", [1])
    cluster.take()

    alter(cluster, ("m-0", [3]))
    set_isr(cluster, "m-0", [1, 3])

    assert normal(cluster.take()) == recorded("reassignment")


def test_preferred_leaders_are_elected_where_they_do_not_lead() -> None:
    expected = recorded("preferred-election")
    rows = expected[1][1]["partitions"]
    earlier = {"n-0": 2, "t-0": 2, "t-3": 3}
    state: dict[str, Any] = {
        name: [earlier[name], row[1] - 1, row[2], row[3] - 1, row[4], 2, []]
        for name, row in rows.items()
    }
    for name, replicas in {"t-1": [2, 3, 1], "t-2": [3, 1, 2]}.items():
        state[name] = [replicas[0], 1, [2, 3, 1], 3, replicas, 2, []]
    cluster = started(*before({"partitions": state}), controller_epoch=2)

    response = cluster.call(ElectLeadersRequest(topic_partitions=None), 2)

    assert normal(cluster.take()) == expected
    codes = [p.error_code for t in response.replica_election_results for p in t.partition_result]
    assert codes == [0, 0, 0]


def test_a_dead_broker_costs_each_survivor_one_request() -> None:
    expected = recorded("broker-dies")
    rows = expected[1][1]["partitions"]
    changed = ("t-5", "t-4", "t-2", "t-1")
    state: dict[str, Any] = {
        name: [row[0], row[1] - 1, [*row[2], 3], row[3] - 1, row[4], 4, []]
        if name in changed
        else [*row[:6], []]
        for name, row in rows.items()
    }
    cluster = started(*before({"partitions": state}), controller_epoch=4)

    cluster.expire(3)

    assert normal(cluster.take()) == expected


@pytest.mark.kafka_bug("elected-on-a-bad-log-dir")
@pytest.mark.scenario(157)
def test_after_a_killed_controller_no_replica_on_a_bad_log_dir_is_elected() -> None:
    first = recorded("failover-after-kill")[2][2]
    bad = (tp("s-0"), tp("t-5"), tp("t-4"), tp("t-2"), tp("n-1"))
    cluster = Cluster(
        [
            at_epoch(5),
            *registered(2, 2),
            *before(first),
            ReplicasProbed(2, bad, ()),
        ]
    )
    cluster.brokers[2].bad = list(bad)
    cluster.brokers[2].files = {tp: None for tp in cluster.state.hosted_by(2) if tp not in bad}

    cluster.settle()

    # Kafka elects s-0 for a moment: leader epoch 1 -> 2 -> 3. Nothing has changed here.
    assert (cluster.partition("s-0").leader, cluster.partition("s-0").leader_epoch) == (-1, 1)
    assert cluster.partition("t-0").leader == 2
    assert cluster.partition("t-0").leader_epoch == 10


@pytest.mark.scenario(255, 260, 261, 262)
@hypothesis_settings(max_examples=120, deadline=None)
@given(moves)
def test_whatever_happens_the_rules_hold(story_moves: list[Move]) -> None:
    story = Story()
    for move in story_moves:
        story.play(move)
        check_state(story.cluster.state)

    cluster = story.end()

    check_settled(cluster)
    check_records(cluster.records)
    assert cluster.replay() == cluster.state


@hypothesis_settings(max_examples=40, deadline=None)
@given(moves)
def test_a_new_controller_finds_the_same_state(story_moves: list[Move]) -> None:
    story = Story()
    for move in story_moves:
        story.play(move)
    before = story.end()

    after = before.restart()
    after.settle()

    check_settled(after)
    for name in before.state.partitions():
        # What a leaving broker still leads is elected anew.
        if not before.state.is_shutting_down(before.state.partition(name).leader):
            assert after.state.partition(name).isr == before.state.partition(name).isr
    assert list(after.state.topics) == list(before.state.topics)


def test_a_defect_half_way_is_no_ordinary_error() -> None:
    cluster = three_brokers()
    cluster.machine.run.channels.pop(2)

    with pytest.raises(HalfDoneError):
        cluster.create("t", [2])


def test_a_defect_before_any_change_is_an_ordinary_error() -> None:
    cluster = three_brokers()

    with pytest.raises(KeyError):
        cluster.ask("no request")


def test_a_tick_is_due_with_the_first_of_all_that_is_waited_for() -> None:
    machine = Cluster().machine
    run = machine.run
    topic = WantedTopic(name="t", partitions=1, replication_factor=1, configs={})
    run.balance_at_ms, run.reassignments_due_ms = None, 70_000
    due_ms = [machine.next_deadline_ms()]
    run.balance_at_ms = 60_000
    due_ms.append(machine.next_deadline_ms())
    run.last_seen_ms[1] = 50_000 - SESSION_MS
    due_ms.append(machine.next_deadline_ms())
    run.waiting += [Waiting({}, None, End(""), None), Waiting({}, 40_000, End(""), None)]
    due_ms.append(machine.next_deadline_ms())
    run.wanted_topics, run.wanted_since_ms = [topic], 30_000 - SESSION_MS
    due_ms.append(machine.next_deadline_ms())
    run.hearing = Hearing({}, 20_000)
    due_ms.append(machine.next_deadline_ms())
    assert due_ms == [70_000, 60_000, 50_000, 40_000, 30_000, 20_000]


def test_what_was_put_off_while_brokers_were_heard_is_done_with_the_last_of_them() -> None:
    brokers = [record for broker_id in (1, 2, 3) for record in registered(broker_id, broker_id)]
    cluster = Cluster(brokers, is_heard=False)
    cluster.machine.want_topics(
        [WantedTopic(name="t", partitions=1, replication_factor=1, configs={})]
    )
    for request in nothing_newer(cluster.machine):
        assert cluster.state.topics == {}
        cluster.ask(request, 1)
    assert list(cluster.state.topics) == ["t"]
