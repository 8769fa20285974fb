"""Moves between log dirs: the decision table of AlterReplicaLogDirs and the states of a move."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.future_log import (
    MOVE_TABLE,
    CleaningPauses,
    CopyErrorAction,
    Move,
    MoveDecision,
    MoveEvent,
    MoveState,
    UndeclaredMove,
    can_swap,
    decide_copy_error,
    decide_move,
    mover_index,
)
from broker.core.hosted import HostedState, ReplicaView
from broker.core.log_dirs import LogDirStates
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition

T0 = TopicPartition("t", 0)
OVER = {MoveState.SWAPPED, MoveState.CANCELLED}

ABSENT = ReplicaView(HostedState.ABSENT)
OFFLINE = ReplicaView(HostedState.OFFLINE)


def online(log_dir: str = "/d1", future: str | None = None) -> ReplicaView:
    return ReplicaView(HostedState.ONLINE, 3, log_dir=log_dir, future_log_dir=future)


def decide(
    path: str,
    replica: ReplicaView,
    *,
    tp: TopicPartition = T0,
    is_known: bool = True,
    offline: tuple[str, ...] = (),
    cordoned: tuple[str, ...] = (),
) -> MoveDecision:
    log_dirs = LogDirStates(["/d1", "/d2", "/d3"], offline=offline)
    log_dirs.cordon(cordoned)
    return decide_move(tp, path, replica=replica, is_known=is_known, log_dirs=log_dirs)


@pytest.mark.scenario(92)
def test_another_log_dir_starts_a_move() -> None:
    assert decide("/d2", online()) == MoveDecision(ErrorCode.NONE, remember=True, start=True)


@pytest.mark.scenario(100)
def test_the_log_dir_it_is_in_needs_nothing() -> None:
    assert decide("/d1", online()) == MoveDecision(ErrorCode.NONE)


@pytest.mark.scenario(99)
def test_the_same_request_again_changes_nothing() -> None:
    assert decide("/d2", online(future="/d2")) == MoveDecision(ErrorCode.NONE)
    assert decide("/d2", online(future="/d2"), offline=("/d3",)) == MoveDecision(ErrorCode.NONE)


@pytest.mark.scenario(102)
def test_the_current_log_dir_cancels_a_move() -> None:
    assert decide("/d1", online(future="/d2")) == MoveDecision(ErrorCode.NONE, abandon_future=True)


@pytest.mark.scenario(101)
def test_a_third_log_dir_abandons_the_move_and_starts_another() -> None:
    assert decide("/d3", online(future="/d2")) == MoveDecision(
        ErrorCode.NONE, abandon_future=True, remember=True, start=True
    )


@pytest.mark.scenario(91, 93)
def test_an_unknown_partition_is_remembered() -> None:
    assert decide("/d2", ABSENT, is_known=False) == MoveDecision(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, remember=True
    )


@pytest.mark.scenario(105)
def test_a_partition_without_a_replica_here_is_remembered() -> None:
    assert decide("/d2", ABSENT) == MoveDecision(ErrorCode.REPLICA_NOT_AVAILABLE, remember=True)


def test_a_log_that_nobody_asked_for_yet_is_remembered_unless_it_is_there() -> None:
    idle = ReplicaView(HostedState.ABSENT, log_dir="/d1")
    assert decide("/d2", idle) == MoveDecision(ErrorCode.REPLICA_NOT_AVAILABLE, remember=True)
    assert decide("/d1", idle) == MoveDecision(ErrorCode.REPLICA_NOT_AVAILABLE)


@pytest.mark.scenario(93, 98)
@pytest.mark.parametrize("path", ["/d2/", "d2", "/", "/d2/t-0", "any", "", "/D2"])
def test_a_path_that_is_not_configured_is_not_found(path: str) -> None:
    for replica in (online(), online(future="/d2"), OFFLINE, ABSENT):
        assert decide(path, replica) == MoveDecision(ErrorCode.LOG_DIR_NOT_FOUND)


@pytest.mark.scenario(93)
def test_an_offline_target_is_a_storage_error_and_leaves_a_move_alone() -> None:
    for replica in (online(), online(future="/d3"), ABSENT):
        decision = decide("/d2", replica, offline=("/d2",))
        assert decision == MoveDecision(ErrorCode.KAFKA_STORAGE_ERROR)


@pytest.mark.scenario(93)
def test_an_offline_replica_is_a_storage_error() -> None:
    assert decide("/d2", OFFLINE, offline=("/d1",)) == MoveDecision(ErrorCode.KAFKA_STORAGE_ERROR)


@pytest.mark.scenario(148)
def test_no_move_starts_while_any_log_dir_is_offline_but_the_wish_is_kept() -> None:
    assert decide("/d2", online(), offline=("/d3",)) == MoveDecision(
        ErrorCode.KAFKA_STORAGE_ERROR, remember=True
    )


def test_cancelling_works_while_a_log_dir_is_offline() -> None:
    decision = decide("/d1", online(future="/d2"), offline=("/d3",))
    assert decision == MoveDecision(ErrorCode.NONE, abandon_future=True)


def test_a_cordoned_target_is_an_invalid_assignment() -> None:
    decision = decide("/d2", online(), cordoned=("/d2",))
    assert decision == MoveDecision(ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert decide("/d3", online(), cordoned=("/d1", "/d2")).start


@pytest.mark.scenario(104)
def test_a_name_too_long_for_a_future_log_is_refused() -> None:
    # "<topic>-0." + 32 digits + "-future" is 255 characters with a topic of 213.
    fits, too_long = TopicPartition("t" * 213, 0), TopicPartition("t" * 214, 0)
    assert decide("/d2", online(), tp=fits).start
    assert decide("/d2", ABSENT, tp=too_long) == MoveDecision(ErrorCode.INVALID_TOPIC_EXCEPTION)
    wide = TopicPartition("t" * 213, 10)
    assert decide("/d2", online(), tp=wide).error == ErrorCode.INVALID_TOPIC_EXCEPTION


def every_replica() -> list[ReplicaView]:
    futures = [
        online(log_dir, future) for log_dir, future in product(["/d1", "/d2"], [None, "/d3"])
    ]
    return [ABSENT, OFFLINE, ReplicaView(HostedState.ABSENT, log_dir="/d2"), *futures]


@pytest.mark.scenario(109, 259)
def test_every_combination_keeps_the_laws_of_moves() -> None:
    paths = ["/d1", "/d2", "/d3", "any"]
    offline_sets = [(), ("/d1",), ("/d2",), ("/d3",), ("/d2", "/d3")]
    for path, replica, offline, known in product(
        paths, every_replica(), offline_sets, [True, False]
    ):
        if replica.log_dir in offline or replica.future_log_dir in offline:
            continue
        decision = decide(path, replica, offline=offline, is_known=known)
        if decision.start:
            assert decision.error == ErrorCode.NONE
            assert not offline
            assert path not in (replica.log_dir, replica.future_log_dir)
        if decision.abandon_future:
            assert replica.future_log_dir not in (None, path)
        if decision.remember:
            assert path not in (replica.log_dir, replica.future_log_dir)
        if path == "any" or path in offline or replica is OFFLINE:
            assert decision == MoveDecision(decision.error)
            assert decision.error != ErrorCode.NONE
        if decision.start or decision.error == ErrorCode.NONE:
            assert replica.state is HostedState.ONLINE


def move() -> Move:
    return Move(T0, source_dir="/d1", target_dir="/d2", leader_epoch=3, fallback_offset=7)


def moved_to(state: MoveState) -> Move:
    """Return a move driven to ``state`` by events alone."""
    paths: dict[MoveState, list[MoveEvent]] = {
        MoveState.TRUNCATING: [],
        MoveState.COPYING: [MoveEvent.TRUNCATED],
        MoveState.SWAPPING: [MoveEvent.TRUNCATED, MoveEvent.CAUGHT_UP],
        MoveState.FAILED: [MoveEvent.TRUNCATED, MoveEvent.ERROR],
        MoveState.SWAPPED: [MoveEvent.TRUNCATED, MoveEvent.CAUGHT_UP, MoveEvent.SWAP_DONE],
        MoveState.CANCELLED: [MoveEvent.CANCEL],
    }
    driven = move()
    for event in paths[state]:
        driven.on(event)
    assert driven.state is state
    return driven


def test_every_declared_move_is_made_and_every_other_one_raises() -> None:
    for state, event in product(MoveState, MoveEvent):
        driven = moved_to(state)
        target = MOVE_TABLE.get((state, event))
        if target is None:
            with pytest.raises(UndeclaredMove, match=f"{event.name} while {state.name}"):
                driven.on(event)
            assert driven.state is state
        else:
            driven.on(event)
            assert driven.state is target


def test_every_state_but_the_last_can_be_cancelled() -> None:
    for state in MoveState:
        assert ((state, MoveEvent.CANCEL) in MOVE_TABLE) == (state not in OVER)


@pytest.mark.kafka_bug("KAFKA-14824", "KAFKA-15082", "KAFKA-16114", "KAFKA-19458")
@pytest.mark.scenario(219)
@given(st.lists(st.sampled_from(list(MoveEvent)), max_size=20))
def test_the_pause_is_released_exactly_once_on_every_way_out(events: list[MoveEvent]) -> None:
    pauses = CleaningPauses()
    pauses.pause(T0)
    driven = move()
    for event in events:
        if (driven.state, event) in MOVE_TABLE and driven.on(event):
            pauses.resume(T0)
        assert pauses.is_paused(T0) == (not driven.is_over)
        assert driven.is_active == (driven.state not in OVER | {MoveState.FAILED})


def test_a_move_to_its_own_log_dir_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Move(T0, source_dir="/d1", target_dir="/d1", leader_epoch=0, fallback_offset=0)


@pytest.mark.kafka_bug("KAFKA-9654")
@pytest.mark.scenario(123, 141)
def test_a_new_leader_epoch_starts_a_failed_move_again() -> None:
    driven = moved_to(MoveState.FAILED)
    driven.on_leader_epoch(3, fallback_offset=9)
    assert driven.state is MoveState.FAILED
    driven.on_leader_epoch(4, fallback_offset=9)
    assert driven.state is MoveState.TRUNCATING
    assert (driven.leader_epoch, driven.fallback_offset) == (4, 9)


def test_an_equal_leader_epoch_does_not_disturb_a_copy() -> None:
    driven = moved_to(MoveState.COPYING)
    driven.on_leader_epoch(3, fallback_offset=0)
    assert driven.state is MoveState.COPYING
    assert driven.fallback_offset == 7


@pytest.mark.scenario(141)
def test_a_cut_of_the_current_log_reaches_the_future_log() -> None:
    driven = moved_to(MoveState.COPYING)
    driven.on_current_truncated(5)
    assert driven.state is MoveState.TRUNCATING
    assert driven.fallback_offset == 5
    driven.on_current_truncated(6)
    assert driven.fallback_offset == 5


@pytest.mark.kafka_bug("KAFKA-8002")
@pytest.mark.scenario(131)
def test_logs_swap_when_they_end_alike() -> None:
    assert can_swap(current_end_offset=10, future_end_offset=10)
    assert not can_swap(current_end_offset=11, future_end_offset=10)
    assert not can_swap(current_end_offset=10, future_end_offset=11)


def copy_error(code: ErrorCode, *, newer: bool = False, end: int = 10) -> CopyErrorAction:
    return decide_copy_error(code, fetch_offset=8, current_end_offset=end, epoch_is_newer_now=newer)


@pytest.mark.scenario(142)
def test_what_a_mover_does_about_errors_of_the_current_log() -> None:
    out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE
    assert copy_error(out_of_range, end=5) is CopyErrorAction.TRUNCATE_TO_CURRENT_END
    assert copy_error(out_of_range, end=20) is CopyErrorAction.RESTART_AT_CURRENT_START
    assert copy_error(ErrorCode.UNKNOWN_LEADER_EPOCH) is CopyErrorAction.RETRY
    assert copy_error(ErrorCode.CORRUPT_MESSAGE) is CopyErrorAction.RETRY
    assert copy_error(ErrorCode.FENCED_LEADER_EPOCH) is CopyErrorAction.FAIL
    assert copy_error(ErrorCode.FENCED_LEADER_EPOCH, newer=True) is CopyErrorAction.RETRY
    assert copy_error(ErrorCode.KAFKA_STORAGE_ERROR) is CopyErrorAction.FAIL
    assert copy_error(ErrorCode.UNKNOWN_SERVER_ERROR) is CopyErrorAction.FAIL


@pytest.mark.kafka_bug("KAFKA-7441")
def test_pauses_are_counted() -> None:
    pauses = CleaningPauses()
    assert [pauses.pause(T0), pauses.pause(T0), pauses.resume(T0)] == [1, 2, 1]
    assert pauses.is_paused(T0)
    assert pauses.resume(T0) == 0
    assert pauses.count(T0) == 0
    with pytest.raises(AssertionError):
        pauses.resume(T0)


def test_movers_are_numbered_as_apache_kafka_numbers_its_threads() -> None:
    # Seen on 3.9.2 with two log dirs: t-0 -> 0, t-1 -> 1, m-0 -> 1.
    assert mover_index(TopicPartition("t", 0), 2) == 0
    assert mover_index(TopicPartition("t", 1), 2) == 1
    assert mover_index(TopicPartition("m", 0), 2) == 1


@given(st.text("abcdefghij-._0123456789", min_size=1, max_size=249), st.integers(0, 10**6))
def test_every_partition_has_a_mover(topic: str, partition: int) -> None:
    assert 0 <= mover_index(TopicPartition(topic, partition), 3) < 3


def test_each_event_of_a_move_has_a_witness_with_where_it_stood() -> None:
    seen: list[tuple[object, object]] = []

    def witness(state: object, event: object) -> None:
        seen.append((state, event))

    driven = move()
    driven.witness = witness
    driven.on(MoveEvent.TRUNCATED)
    driven.on(MoveEvent.CANCEL)
    assert seen == [
        (MoveState.TRUNCATING, MoveEvent.TRUNCATED),
        (MoveState.COPYING, MoveEvent.CANCEL),
    ]


def test_a_mover_reads_again_from_where_the_current_log_ends_alike() -> None:
    out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE
    assert copy_error(out_of_range, end=8) is CopyErrorAction.RESTART_AT_CURRENT_START
    assert copy_error(out_of_range, end=7) is CopyErrorAction.TRUNCATE_TO_CURRENT_END
    assert copy_error(ErrorCode.KAFKA_STORAGE_ERROR, newer=True) is CopyErrorAction.FAIL


def test_partitions_are_numbered_by_the_hash_that_java_has_of_them() -> None:
    """Python says it another way: 31 times what was so far, as 32 bits with a sign, then abs."""

    def java(topic: str, partition: int) -> int:
        code = 0
        for number in (*map(ord, topic), partition):
            code = (31 * code + number + 2**31) % 2**32 - 2**31
        return 0 if code == -(2**31) else abs(code)

    for topic in ("orders", "payments-by-day", "x" * 40, "__consumer_offsets"):
        for partition in range(40):
            hashed = java(topic, partition)
            assert mover_index(TopicPartition(topic, partition), 1_000_003) == hashed % 1_000_003
    least = 2**31 - 31 * ord("t")  # Of that the hash is the least of all, which has no opposite.
    for partition, hashed in ((least, 0), (least + 1, 2**31 - 1), (least - 1, 2**31 - 1)):
        assert java("t", partition) == hashed
        assert mover_index(TopicPartition("t", partition), 1_000_003) == hashed % 1_000_003
