"""What a broker makes of LeaderAndIsr, StopReplica and UpdateMetadata: every case, enumerated."""

from __future__ import annotations

from itertools import product

import pytest

from broker.core.control_rules import (
    LeaderAndIsrDecision,
    ReplicaAction,
    StopAction,
    check_control_epochs,
    decide_leader_and_isr,
    decide_stop_replica,
    leader_and_isr_answer,
    refuse_leader_and_isr,
)
from broker.core.hosted import HostedState, Loss, ReplicaView
from broker.core.log_dirs import LogDirStates
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, BrokerId, TopicPartition
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)

ME = BrokerId(1)
ID, OTHER_ID = bytes(range(16)), bytes(range(1, 17))
T0 = TopicPartition("t", 0)
ABSENT = ReplicaView(HostedState.ABSENT)


def online(epoch: int = 5, topic_id: bytes = ID) -> ReplicaView:
    return ReplicaView(HostedState.ONLINE, epoch, topic_id, "/d1")


def offline(topic_id: bytes = ID) -> ReplicaView:
    return ReplicaView(HostedState.OFFLINE, topic_id=topic_id)


def idle(topic_id: bytes = ID) -> ReplicaView:
    return ReplicaView(HostedState.ABSENT, topic_id=topic_id, log_dir="/d1")


def state(
    *,
    index: int = 0,
    epoch: int = 6,
    leader: int = 2,
    replicas: tuple[int, ...] = (2, 1),
    isr: tuple[int, ...] | None = None,
    is_new: bool = False,
) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        partition_index=index,
        controller_epoch=1,
        leader=leader,
        leader_epoch=epoch,
        isr=list(replicas if isr is None else isr),
        partition_epoch=0,
        replicas=list(replicas),
        adding_replicas=[],
        removing_replicas=[],
        is_new=is_new,
    )


def request(*states: LeaderAndIsrPartitionState, topic_id: bytes = ID) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(
        controller_id=0,
        controller_epoch=1,
        broker_epoch=-1,
        topic_states=[
            LeaderAndIsrTopicState(topic_name="t", topic_id=topic_id, partition_states=list(states))
        ],
        live_leaders=[],
    )


def decide(
    replica: ReplicaView,
    asked: LeaderAndIsrPartitionState,
    *,
    topic_id: bytes = ID,
    any_offline: bool = False,
) -> tuple[ReplicaAction, ErrorCode, bool]:
    log_dirs = LogDirStates(["/d1", "/d2"], offline=["/d2"] if any_offline else [])
    [decision] = decide_leader_and_isr(
        request(asked, topic_id=topic_id), broker_id=ME, view=lambda _: replica, log_dirs=log_dirs
    )
    assert decision.tp == T0
    assert decision.state is asked
    return decision.action, decision.error, decision.create_log


LEAD = (ReplicaAction.LEAD, ErrorCode.NONE, False)
FOLLOW = (ReplicaAction.FOLLOW, ErrorCode.NONE, False)
CREATE = (ReplicaAction.FOLLOW, ErrorCode.NONE, True)
STALE = (ReplicaAction.REFUSE, ErrorCode.STALE_CONTROLLER_EPOCH, False)
STORAGE_ERROR = (ReplicaAction.REFUSE, ErrorCode.KAFKA_STORAGE_ERROR, False)
NOW_OFFLINE = (ReplicaAction.HOST_OFFLINE, ErrorCode.KAFKA_STORAGE_ERROR, False)


def test_a_newer_leader_epoch_makes_a_leader_or_a_follower() -> None:
    assert decide(online(), state(leader=1)) == LEAD
    assert decide(online(), state(leader=2)) == FOLLOW
    assert decide(online(), state(leader=-1)) == FOLLOW
    assert decide(online(), state(epoch=100)) == FOLLOW


def test_what_was_stopped_is_told_again_in_the_same_epoch() -> None:
    stopped = online()._replace(is_stopped=True)
    assert decide(stopped, state(epoch=5, leader=2)) == FOLLOW
    assert decide(stopped, state(epoch=5, leader=1)) == LEAD
    assert decide(stopped, state(epoch=4)) == STALE
    assert decide(online(), state(epoch=5)) == STALE


@pytest.mark.scenario(85)
def test_the_same_leader_epoch_is_stale_which_is_the_normal_answer_to_a_probe() -> None:
    assert decide(online(), state(epoch=5)) == STALE
    assert decide(online(), state(epoch=5), any_offline=True) == STALE


def test_an_older_leader_epoch_is_stale() -> None:
    assert decide(online(), state(epoch=4)) == STALE


def test_an_offline_partition_is_a_storage_error_whatever_is_asked() -> None:
    for epoch, leader, is_new in product((0, 5, 9), (1, 2, -1), (False, True)):
        asked = state(epoch=epoch, leader=leader, is_new=is_new)
        assert decide(offline(), asked, any_offline=True) == STORAGE_ERROR


def test_a_lost_replica_is_made_anew_from_another_member_of_the_isr_only() -> None:
    lost = ReplicaView(HostedState.OFFLINE, topic_id=ID, loss=Loss.REBUILD)
    assert decide(lost, state(leader=2, isr=(2, 3))) == CREATE
    assert decide(lost, state(leader=2, isr=(2,)), any_offline=True) == CREATE
    assert decide(lost, state(leader=-1, isr=(2,)), any_offline=True) == CREATE
    assert decide(lost, state(leader=1), any_offline=True) == STORAGE_ERROR
    assert decide(lost, state(leader=1, replicas=(1,))) == STORAGE_ERROR
    assert decide(lost, state(leader=-1, replicas=(1,))) == STORAGE_ERROR
    assert decide(lost, state(leader=2, isr=())) == STORAGE_ERROR


def test_a_new_partition_is_not_the_one_whose_log_is_missing_under_its_name() -> None:
    missing = ReplicaView(HostedState.OFFLINE, loss=Loss.REBUILD)
    assert decide(missing, state(leader=1, is_new=True)) == (LEAD[0], LEAD[1], True)
    assert decide(missing, state(leader=1)) == STORAGE_ERROR


@pytest.mark.parametrize("loss", Loss)
def test_a_lost_replica_does_not_begin_empty_while_it_stands_in_the_isr(loss: Loss) -> None:
    lost = ReplicaView(HostedState.OFFLINE, topic_id=ID, loss=loss)
    assert decide(lost, state(leader=2, isr=(1, 2))) == STORAGE_ERROR
    assert decide(lost, state(leader=-1, isr=(1, 2))) == STORAGE_ERROR


def test_what_was_said_in_the_epoch_of_the_loss_may_be_of_before_it() -> None:
    lost = ReplicaView(HostedState.OFFLINE, topic_id=ID, loss=Loss.REBUILD, failed_epoch=5)
    assert decide(lost, state(leader=2, isr=(2,), epoch=5)) == STORAGE_ERROR
    assert decide(lost, state(leader=2, isr=(2,), epoch=6)) == CREATE
    assert decide(lost, state(leader=-1, isr=(2,), epoch=5)) == CREATE


def test_a_loss_that_was_accepted_lets_a_replica_begin_empty() -> None:
    lost = ReplicaView(HostedState.OFFLINE, topic_id=ID, loss=Loss.ACCEPTED)
    assert decide(lost, state(leader=1, replicas=(1,))) == (LEAD[0], LEAD[1], True)


@pytest.mark.parametrize(
    "replica",
    [
        ReplicaView(HostedState.OFFLINE, topic_id=ID, loss=Loss.ACCEPTED, failed_epoch=5),
        ReplicaView(HostedState.ABSENT, topic_id=ID, log_dir="/d1", failed_epoch=5),
    ],
)
def test_a_replica_that_came_back_leads_under_a_later_epoch_only(replica: ReplicaView) -> None:
    assert decide(replica, state(leader=1, replicas=(1,), epoch=5)) == STORAGE_ERROR
    assert decide(replica, state(leader=1, epoch=5, is_new=True)) == STORAGE_ERROR  # Seed 1151652.
    assert decide(replica, state(leader=1, replicas=(1,), epoch=6))[:2] == LEAD[:2]
    assert decide(replica, state(leader=-1, replicas=(1,), epoch=5))[:2] == FOLLOW[:2]


@pytest.mark.kafka_bug("KAFKA-16234")
@pytest.mark.scenario(84)
def test_an_unknown_replica_is_created_unless_its_data_may_be_on_an_offline_log_dir() -> None:
    assert decide(ABSENT, state(), any_offline=False) == CREATE
    assert decide(ABSENT, state(is_new=True), any_offline=False) == CREATE
    assert decide(ABSENT, state(is_new=True), any_offline=True) == CREATE
    assert decide(ABSENT, state(), any_offline=True) == NOW_OFFLINE


@pytest.mark.scenario(67)
def test_a_log_found_on_disk_is_used_while_another_log_dir_is_offline() -> None:
    assert decide(idle(), state(epoch=0), any_offline=True) == FOLLOW
    assert decide(idle(), state(leader=1), any_offline=True) == LEAD


def test_a_partition_assigned_elsewhere_is_unknown_here() -> None:
    refused = (ReplicaAction.REFUSE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False)
    assert decide(online(), state(replicas=(2, 3))) == refused
    assert decide(ABSENT, state(replicas=(2, 3)), any_offline=True) == refused
    assert decide(online(), state(replicas=(2, 3), epoch=5)) == STALE


@pytest.mark.scenario(83)
def test_another_topic_id_is_inconsistent() -> None:
    inconsistent = (ReplicaAction.REFUSE, ErrorCode.INCONSISTENT_TOPIC_ID, False)
    for replica, epoch in product((online(), idle()), (4, 5, 6)):
        assert decide(replica, state(epoch=epoch), topic_id=OTHER_ID) == inconsistent


@pytest.mark.scenario(83)
def test_a_topic_id_may_come_later_or_be_left_out() -> None:
    assign = (ReplicaAction.ASSIGN_TOPIC_ID, ErrorCode.NONE, False)
    keep = (ReplicaAction.KEEP, ErrorCode.NONE, False)
    assert decide(online(topic_id=ZERO_UUID), state(epoch=5)) == assign
    assert decide(online(topic_id=ZERO_UUID), state(epoch=6)) == FOLLOW
    assert decide(online(), state(epoch=6), topic_id=ZERO_UUID) == FOLLOW
    assert decide(online(), state(epoch=5), topic_id=ZERO_UUID) == keep
    assert decide(online(), state(epoch=5, leader=1), topic_id=ZERO_UUID) == STALE


@pytest.mark.kafka_bug("KAFKA-16157")
@pytest.mark.scenario(88)
def test_a_topic_made_anew_replaces_the_offline_replica_of_the_old_one() -> None:
    fresh = state(epoch=0, is_new=True)
    assert decide(offline(), fresh, topic_id=OTHER_ID, any_offline=True) == CREATE
    assert decide(offline(), fresh, topic_id=ZERO_UUID, any_offline=True) == STORAGE_ERROR
    assert decide(offline(), state(), topic_id=OTHER_ID, any_offline=True) == STORAGE_ERROR


def test_every_combination_keeps_the_laws_of_leader_and_isr() -> None:
    replicas = [
        ABSENT,
        *(make(topic_id) for make in (idle, offline) for topic_id in (ZERO_UUID, ID)),
        *(online(5, topic_id) for topic_id in (ZERO_UUID, ID)),
    ]
    asked = [
        state(epoch=epoch, leader=leader, replicas=assigned, is_new=is_new)
        for epoch, leader, assigned, is_new in product(
            (0, 4, 5, 6), (1, 2, -1), ((1, 2), (2, 3)), (False, True)
        )
    ]
    for replica, one, topic_id, any_offline in product(
        replicas, asked, (ZERO_UUID, ID, OTHER_ID), (False, True)
    ):
        action, error, create_log = decide(replica, one, topic_id=topic_id, any_offline=any_offline)
        takes_role = action in (ReplicaAction.LEAD, ReplicaAction.FOLLOW)
        is_refused = action in (ReplicaAction.REFUSE, ReplicaAction.HOST_OFFLINE)
        assert is_refused == (error != ErrorCode.NONE)
        assert not create_log or takes_role
        if takes_role:
            assert ME in one.replicas
            assert one.leader_epoch > replica.leader_epoch
            assert create_log == (replica.log_dir is None)
        if create_log and any_offline:
            assert one.is_new, "a fresh empty log while the data may be on the offline log dir"
        if replica.state is HostedState.ONLINE:
            assert action is not ReplicaAction.HOST_OFFLINE


@pytest.mark.scenario(87)
def test_each_partition_of_a_request_is_decided_by_itself() -> None:
    views = {0: online(), 1: offline(), 2: ABSENT}
    decisions = decide_leader_and_isr(
        request(state(index=0), state(index=1), state(index=2)),
        broker_id=ME,
        view=lambda tp: views[tp.partition],
        log_dirs=LogDirStates(["/d1", "/d2"], offline=["/d2"]),
    )
    assert [decision.action for decision in decisions] == [
        ReplicaAction.FOLLOW,
        ReplicaAction.REFUSE,
        ReplicaAction.HOST_OFFLINE,
    ]


def test_a_partition_named_twice_counts_as_its_last_entry_says() -> None:
    [decision] = decide_leader_and_isr(
        request(state(leader=1), state(leader=2)),
        broker_id=ME,
        view=lambda _: online(),
        log_dirs=LogDirStates(["/d1"]),
    )
    assert decision.action is ReplicaAction.FOLLOW


def decision_of(topic: str, topic_id: bytes, error: ErrorCode) -> LeaderAndIsrDecision:
    return LeaderAndIsrDecision(
        TopicPartition(topic, 0), topic_id, state(), ReplicaAction.FOLLOW, error, create_log=True
    )


def test_the_answer_has_both_layouts_and_the_errors_met_on_the_way() -> None:
    response = leader_and_isr_answer(
        [
            decision_of("t", ID, ErrorCode.NONE),
            decision_of("u", OTHER_ID, ErrorCode.STALE_CONTROLLER_EPOCH),
        ],
        {T0: ErrorCode.KAFKA_STORAGE_ERROR},
    )
    assert response.error_code == 0
    flat = [(row.topic_name, row.error_code) for row in response.partition_errors]
    assert flat == [("t", 56), ("u", 11)]
    grouped = {topic.topic_id: topic.partition_errors[0].error_code for topic in response.topics}
    assert grouped == {ID: 56, OTHER_ID: 11}


@pytest.mark.scenario(86)
def test_a_refused_request_has_the_error_on_top_and_in_every_partition() -> None:
    response = refuse_leader_and_isr(
        request(state(index=0), state(index=1)), ErrorCode.STALE_BROKER_EPOCH
    )
    assert response.error_code == 77
    grouped = [row for topic in response.topics for row in topic.partition_errors]
    for rows in (response.partition_errors, grouped):
        assert [row.error_code for row in rows] == [77, 77]


@pytest.mark.scenario(78, 86)
@pytest.mark.parametrize(
    ("broker_epoch", "controller_epoch", "error"),
    [
        (-1, 4, ErrorCode.NONE),
        (10, 4, ErrorCode.NONE),
        (11, 5, ErrorCode.NONE),
        (9, 4, ErrorCode.STALE_BROKER_EPOCH),
        (9, 3, ErrorCode.STALE_BROKER_EPOCH),
        (10, 3, ErrorCode.STALE_CONTROLLER_EPOCH),
        (-1, 3, ErrorCode.STALE_CONTROLLER_EPOCH),
    ],
)
def test_stale_senders_are_refused(
    broker_epoch: int, controller_epoch: int, error: ErrorCode
) -> None:
    assert error == check_control_epochs(
        broker_epoch=broker_epoch,
        own_broker_epoch=10,
        controller_epoch=controller_epoch,
        seen_controller_epoch=4,
    )


def stop(
    replica: ReplicaView, epoch: int, *, delete: bool, **unread: bool
) -> tuple[StopAction, ErrorCode]:
    asked = StopReplicaPartitionState(leader_epoch=epoch, delete_partition=delete)
    states = [StopReplicaTopicState(topic_name="t", partition_states=[asked])]
    [decision] = decide_stop_replica(
        StopReplicaRequest(topic_states=states),
        view=lambda _: replica,
        any_unread=unread.get("any_unread", False),
        is_elsewhere=lambda _: unread.get("others", False),
    )
    return decision.action, decision.error


@pytest.mark.kafka_bug("KAFKA-13972")
@pytest.mark.scenario(81)
def test_stop_replica_checks_the_leader_epoch_of_an_online_partition() -> None:
    for delete, action in ((False, StopAction.STOP), (True, StopAction.DELETE)):
        answers = [stop(online(5), epoch, delete=delete) for epoch in (-2, -1, 4, 5, 6)]
        done = (action, ErrorCode.NONE)
        fenced = (StopAction.NOTHING, ErrorCode.FENCED_LEADER_EPOCH)
        assert answers == [done, done, fenced, done, done]


@pytest.mark.scenario(79, 82)
def test_stop_replica_leaves_an_offline_partition_alone() -> None:
    for epoch, delete in product((-2, -1, 4, 9), (False, True)):
        expected = (StopAction.NOTHING, ErrorCode.KAFKA_STORAGE_ERROR)
        assert stop(offline(), epoch, delete=delete) == expected


def test_stop_replica_deletes_an_offline_partition_whose_log_lies_on_a_good_log_dir() -> None:
    held_back = ReplicaView(HostedState.OFFLINE, log_dir="/d1")
    assert stop(held_back, -2, delete=True) == (StopAction.DELETE_FILES, ErrorCode.NONE)
    assert stop(held_back, 9, delete=False)[1] == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.scenario(80)
def test_stop_replica_of_what_is_not_hosted_is_no_error() -> None:
    for replica, epoch in product((ABSENT, idle()), (-2, 0, 9)):
        assert stop(replica, epoch, delete=False) == (StopAction.NOTHING, ErrorCode.NONE)
        assert stop(replica, epoch, delete=True) == (StopAction.DELETE_FILES, ErrorCode.NONE)


def test_what_may_lie_on_a_log_dir_that_was_never_read_is_not_said_to_be_deleted() -> None:
    replicas = (ABSENT, idle(), online(5))
    # Beside a log another one may lie there, as of a move that ended in its swap (seed 925571).
    for others, gone in ((False, [False, True, True]), (True, [False] * 3)):
        told = [stop(one, -2, delete=True, any_unread=True, others=others)[1] for one in replicas]
        assert [code is ErrorCode.NONE for code in told] == gone
