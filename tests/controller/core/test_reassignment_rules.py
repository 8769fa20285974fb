"""What reassignments may ask for and what they make of an assignment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.reassignment_records import AssignmentChanged
from controller.core.reassignment_rules import (
    Assignment,
    check_cancel,
    check_target,
    is_complete,
    reassigned,
    reverted,
)
from controller.core.records import DeletionQueued, LogDirsCordoned, Record
from controller.core.state import ClusterState, Partition
from protocol.errors import ErrorCode, KafkaError
from tests.controller.core.cluster import log_dir, registered, topic_records, tp

T0 = tp("t-0")
LED = Partition(replicas=(1, 2), leader=1, leader_epoch=0, isr=(1, 2), partition_epoch=0)


def cluster(*records: Record) -> ClusterState:
    """Brokers 1, 2, 3 are live, 4 is fenced; t-0 is on 1 and 2."""
    state = ClusterState()
    live = [record for broker_id in (1, 2, 3) for record in registered(broker_id, broker_id)]
    for record in (*live, registered(4, 4)[0], *topic_records("t", [LED]), *records):
        record.apply(state)
    return state


def refusal(
    state: ClusterState, target: list[int] | None, name: str = "t-0", *, is_factor_free: bool = True
) -> tuple[ErrorCode, str]:
    try:
        if target is None:
            check_cancel(state, tp(name))
        else:
            check_target(state, tp(name), target, is_factor_free=is_factor_free)
    except KafkaError as error:
        return error.code, error.message
    pytest.fail(f"{target} is accepted for {name}")


@pytest.mark.scenario(168)
@pytest.mark.parametrize(
    ("before", "target", "expected"),
    [
        (((1, 2, 3), (), ()), [4, 5, 6], ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))),
        (((1, 2, 3), (), ()), [1, 2, 3], ((1, 2, 3), (), ())),
        (((1, 2, 3), (), ()), [3, 1, 4], ((3, 1, 4, 2), (4,), (2,))),
        (((1, 2, 3), (), ()), [2, 1, 3], ((2, 1, 3), (), ())),
        (((4, 5, 1, 2), (4, 5), (1, 2)), [4, 6], ((4, 6, 1, 2), (4, 6), (1, 2))),
        (((4, 5, 1, 2), (4, 5), (1, 2)), [1, 2], ((1, 2), (), ())),
        (((3, 1, 2), (3,), (2,)), [2], ((2, 1), (), (1,))),
    ],
)
def test_adding_and_removing_are_counted_from_the_original(
    before: tuple[tuple[int, ...], ...],
    target: list[int],
    expected: tuple[tuple[int, ...], ...],
) -> None:
    replicas, adding, removing = before
    partition = Partition(replicas=replicas, adding_replicas=adding, removing_replicas=removing)

    assert reassigned(partition, target) == expected


@pytest.mark.scenario(168)
@given(
    st.lists(st.integers(1, 6), min_size=1, unique=True),
    st.lists(st.integers(1, 6), min_size=1, unique=True),
    st.lists(st.integers(1, 6), min_size=1, unique=True),
)
def test_asking_twice_changes_nothing_and_the_way_back_is_always_there(
    origin: list[int], first: list[int], second: list[int]
) -> None:
    def after(partition: Partition, target: list[int]) -> Partition:
        replicas, adding, removing = reassigned(partition, target)
        return Partition(replicas=replicas, adding_replicas=adding, removing_replicas=removing)

    start = Partition(replicas=tuple(origin))
    once = after(start, first)
    again = after(once, first)
    other = after(once, second)

    assert (again.adding_replicas, again.removing_replicas) == (
        once.adding_replicas,
        once.removing_replicas,
    )
    assert list(once.target_replicas) == first
    assert list(other.target_replicas) == second
    assert sorted(other.origin_replicas) == sorted(origin)
    assert sorted(reverted(other).replicas) == sorted(origin)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([], "Empty replica list specified in partition reassignment."),
        ([1, 1], "Duplicate replica ids in partition reassignment replica list: 1, 1"),
        ([1, -3], "Invalid broker id in replica list: 1, -3"),
        (
            [1, 4],
            "Replica assignment has brokers that are not alive. "
            "Replica list: 4, live broker list: 1, 2, 3",
        ),
        (
            [9],
            "Replica assignment has brokers that are not alive. "
            "Replica list: 9, live broker list: 1, 2, 3",
        ),
    ],
)
def test_unsound_targets_are_refused(target: list[int], message: str) -> None:
    assert refusal(cluster(), target) == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def test_replicas_that_stay_need_not_be_alive() -> None:
    state = cluster()
    led = Partition(replicas=(1, 4), leader=1, leader_epoch=0, isr=(1,), partition_epoch=0)
    state.topics["t"].partitions[0] = led

    assert check_target(state, T0, [4, 3], is_factor_free=True).adding == (3,)


@pytest.mark.kafka_bug("KAFKA-20832")
@pytest.mark.scenario(251)
def test_a_broker_with_every_log_dir_cordoned_gets_no_replica() -> None:
    state = cluster(LogDirsCordoned(3, (log_dir(3, 1), log_dir(3, 2))))

    code, message = refusal(state, [1, 3])

    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message.endswith("all cordoned or offline: 3")


def test_a_broker_with_one_log_dir_left_gets_replicas() -> None:
    state = cluster(LogDirsCordoned(3, (log_dir(3, 1),)))

    assert check_target(state, T0, [1, 3], is_factor_free=True).adding == (3,)


def test_replicas_on_a_broker_that_was_cordoned_later_may_stay() -> None:
    state = cluster(LogDirsCordoned(1, (log_dir(1, 1), log_dir(1, 2))))

    assert check_target(state, T0, [1, 3], is_factor_free=True).adding == (3,)


@pytest.mark.parametrize("name", ["t-1", "u-0", "t--1"])
def test_what_does_not_exist_is_refused(name: str) -> None:
    expected = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")

    assert refusal(cluster(), [1], name) == expected
    assert refusal(cluster(), None, name) == expected


def test_topics_that_are_being_deleted_do_not_exist() -> None:
    state = cluster(DeletionQueued("t"))

    assert refusal(state, [1])[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(state, None)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_replication_factor_can_be_held() -> None:
    expected = (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "The replication factor is changed from 2 to 3",
    )

    assert refusal(cluster(), [1, 2, 3], is_factor_free=False) == expected
    assert check_target(cluster(), T0, [1, 3], is_factor_free=False).adding == (3,)
    assert check_target(cluster(), T0, [1, 2, 3], is_factor_free=True).adding == (3,)


def test_the_factor_under_reassignment_is_that_of_its_target() -> None:
    state = cluster(AssignmentChanged("t", 0, (3, 1, 2), (3,), (1, 2)))

    assert check_target(state, T0, [2], is_factor_free=False).removing == (1,)
    assert refusal(state, [1, 2], is_factor_free=False)[0] == ErrorCode.INVALID_REPLICATION_FACTOR


def test_only_what_is_under_way_can_be_cancelled() -> None:
    assert refusal(cluster(), None) == (
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        "No partition reassignment is in progress.",
    )
    state = cluster(AssignmentChanged("t", 0, (3, 1, 2), (3,), (2,)))
    assert check_cancel(state, T0) == Assignment((1, 2))


@pytest.mark.kafka_bug("KAFKA-14424")
def test_the_last_replicas_in_sync_are_not_given_up() -> None:
    """KAFKA-14424: cancelling must not leave a partition without anyone who has its records."""
    state = cluster(AssignmentChanged("t", 0, (3, 1, 2), (3,), (1, 2)))
    led = Partition(
        replicas=(3, 1, 2),
        adding_replicas=(3,),
        removing_replicas=(1, 2),
        leader=3,
        leader_epoch=4,
        isr=(3,),
        partition_epoch=4,
    )
    state.topics["t"].partitions[0] = led

    assert refusal(state, None)[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refusal(state, [2, 1])[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert check_target(state, T0, [3, 1], is_factor_free=True).adding == (3,)


def test_complete_is_what_has_every_target_in_sync_and_one_online() -> None:
    state = cluster(AssignmentChanged("t", 0, (3, 4, 1, 2), (3, 4), (1, 2)))
    topic = state.topics["t"]

    def with_isr(*isr: int) -> bool:
        partition = topic.partitions[0]
        topic.partitions[0] = Partition(
            replicas=partition.replicas,
            adding_replicas=partition.adding_replicas,
            removing_replicas=partition.removing_replicas,
            leader=isr[0],
            leader_epoch=1,
            isr=isr,
        )
        return is_complete(state, T0)

    assert not with_isr(1, 2, 3)
    assert with_isr(1, 2, 3, 4)
    topic.partitions[0] = Partition(
        replicas=(4, 1), adding_replicas=(4,), removing_replicas=(1,), leader=-1, isr=(4,)
    )
    assert not is_complete(state, T0)
    topic.partitions[0] = Partition(replicas=(1,))
    assert is_complete(state, T0)
