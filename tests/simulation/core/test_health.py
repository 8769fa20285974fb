from __future__ import annotations

from dataclasses import replace

from broker.core.coordination import partition_for
from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.core.health import (
    health_problems,
    is_group_lost,
    left_out,
    lost_topics,
    untold_ends,
)
from simulation.core.observation import (
    Observation,
    ObservedLogDir,
    ObservedNode,
    ObservedOffsets,
    ObservedPartition,
    ObservedReplica,
)

TP = TopicPartition("a", 0)
WELL = ObservedPartition(leader=1, leader_epoch=0, replicas=(1, 2), isr=(2, 1), offline_replicas=())


def seen(partition: ObservedPartition = WELL) -> Observation:
    return Observation(
        now_ms=0,
        metadata={1: {TP: partition}, 2: {TP: partition}},
        nodes={"broker-1": ObservedNode(state="running")},
        reassigning=(),
    )


def test_a_cluster_is_well_when_everybody_says_so() -> None:
    assert health_problems(seen(), 2) == ()


def test_a_partition_wants_a_leader_and_its_online_replicas_in_the_isr() -> None:
    assert health_problems(seen(replace(WELL, leader=-1)), 2)[0] == (
        "a-0 has no leader, its Isr is [2, 1], says broker-1"
    )
    assert health_problems(seen(replace(WELL, isr=(1,))), 2)[0] == (
        "a-0 has online replicas [2] outside of its Isr [1], says broker-1"
    )


def test_offline_replicas_are_not_missed() -> None:
    assert health_problems(seen(replace(WELL, isr=(1,), offline_replicas=(2,))), 2) == ()


def test_a_replica_is_not_offline_for_long_where_everything_is_online() -> None:
    fenced = replace(
        seen(replace(WELL, isr=(1,), offline_replicas=(2,))),
        log_dirs={(2, "d1"): ObservedLogDir(error="NONE")},
    )
    assert health_problems(fenced, 2)[0] == (
        "a-0 has replica 2 offline, whose broker and log dirs are online, says broker-1"
    )
    broken = replace(fenced, log_dirs={(2, "d1"): ObservedLogDir(error="KAFKA_STORAGE_ERROR")})
    assert health_problems(broken, 2, may_be_broken=True) == ()


def test_what_a_log_dir_left_out_when_it_came_back_is_named() -> None:
    half_back = replace(
        seen(replace(WELL, isr=(1,), offline_replicas=(2,))),
        log_dirs={(2, "d1"): ObservedLogDir(error="NONE")},
    )
    assert left_out(half_back) == ((2, TP),)
    assert left_out(replace(half_back, log_dirs={})) == ()


def test_a_partition_without_an_online_isr_member_has_no_wish() -> None:
    lost = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,))

    assert health_problems(seen(lost), 2) == ()
    assert health_problems(replace(seen(lost), reassigning=(TP,)), 2) == ()


def test_a_reassignment_is_waited_for_where_anybody_shows_the_isr_online() -> None:
    lost = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,))
    doubtful = replace(seen(), metadata={1: {TP: lost}, 2: {TP: WELL}}, reassigning=(TP,))
    forgotten = replace(seen(), metadata={1: {}, 2: {}}, reassigning=(TP,))

    assert health_problems(doubtful, 2) == ("a-0 is still reassigned",)
    assert health_problems(forgotten, 2) == ("a-0 is still reassigned",)


def test_a_topic_is_lost_when_nobody_may_lead_one_of_its_partitions_whoever_is_asked() -> None:
    lost = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,))
    assert lost_topics(seen(lost)) == {"a"}
    assert lost_topics(replace(seen(lost), metadata={1: {TP: lost}, 2: {TP: WELL}})) == set()


def test_a_group_is_lost_with_the_partition_of_its_coordinator_alone() -> None:
    lost = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,))
    offsets = [TopicPartition(CONSUMER_OFFSETS, number) for number in range(3)]
    own = partition_for("members", 3)
    for number in range(3):
        view = {tp: lost if tp.partition == number else WELL for tp in offsets}
        observation = replace(seen(), metadata={1: view, 2: view})
        assert is_group_lost("members", observation) is (number == own)
        doubtful = replace(observation, metadata={1: view, 2: dict.fromkeys(offsets, WELL)})
        assert not is_group_lost("members", doubtful)
    assert not is_group_lost("members", seen(lost)), "a coordinator may make the topic"


def test_where_a_partition_ends_that_has_a_leader_is_waited_for() -> None:
    """Another leader is elected while the one before is asked (seed 694119)."""
    told = {TP: ObservedOffsets(earliest=0, latest=5)}
    assert untold_ends(seen()) == [TP]
    assert untold_ends(replace(seen(), offsets=told)) == []
    assert untold_ends(seen(replace(WELL, leader=-1))) == []
    assert untold_ends(replace(seen(), metadata={1: {}, 2: {TP: WELL}})) == []


def test_moves_reassignments_and_nodes_are_waited_for() -> None:
    moving = ObservedLogDir(error="NONE", futures={TP: ObservedReplica(size_bytes=0, offset_lag=0)})
    observation = replace(
        seen(),
        log_dirs={(1, "d2"): moving},
        reassigning=(TP,),
        nodes={"broker-3": ObservedNode(state="stopped", exit_code=1)},
    )

    assert health_problems(observation, 3) == (
        "broker-3 is stopped, exit code 1",
        "2 of 3 brokers answer",
        "a-0 still moves to d2 of broker-1",
        "a-0 is still reassigned",
    )


def test_the_move_of_a_replica_that_is_lost_with_its_partition_is_not_waited_for() -> None:
    """Its disk was replaced, and its future log waits until the loss is accepted (seed 6)."""
    future = ObservedLogDir(error="NONE", futures={TP: ObservedReplica(size_bytes=0, offset_lag=0)})
    lost = replace(WELL, leader=-1, isr=(2,), offline_replicas=(2,))
    of_two, of_one = (replace(seen(lost), log_dirs={(one, "d2"): future}) for one in (2, 1))

    assert health_problems(of_two, 2) == ()
    assert health_problems(of_one, 2) == ("a-0 still moves to d2 of broker-1",)
    assert health_problems(replace(of_two, metadata={1: {TP: lost}, 2: {TP: WELL}}), 2) == (
        "a-0 still moves to d2 of broker-2",
    )


def test_nodes_may_be_down_where_a_plan_says_so() -> None:
    observation = replace(seen(), nodes={"broker-3": ObservedNode(state="stopped")})

    assert health_problems(observation, 2, may_be_down=True) == ()


def test_log_dirs_are_wanted_online_but_where_a_plan_says_otherwise() -> None:
    observation = replace(seen(), log_dirs={(1, "d2"): ObservedLogDir(error="KAFKA_STORAGE_ERROR")})

    assert health_problems(observation, 2) == ("d2 of broker-1 is offline",)
    assert health_problems(observation, 2, may_be_broken=True) == ()


def test_silence_is_no_sign_of_health() -> None:
    assert health_problems(replace(seen(), reassigning=None), 2) == (
        "nobody tells of reassignments",
    )
