"""The rules of the in-sync replicas and the high watermark."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.isr import (
    FollowerState,
    IsrAnswer,
    IsrState,
    effective_min_insync_replicas,
    follower_high_watermark,
    is_replicated,
    leader_high_watermark,
    may_append,
    may_join_isr,
    on_alter_partition_error,
    on_alter_partition_success,
    out_of_sync_replicas,
)
from protocol.errors import ErrorCode
from protocol.ids import BrokerId

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
LAG_MS = 30_000


def isr(*members: BrokerId, proposed: tuple[BrokerId, ...] | None = None) -> IsrState:
    return IsrState(members, 5, proposed)


def follower(end: int, *, caught_up_ms: int = 0) -> FollowerState:
    return FollowerState(log_end_offset=end, last_caught_up_ms=caught_up_ms)


def lagging(state: IsrState, followers: dict[BrokerId, FollowerState], *, now_ms: int) -> list[int]:
    return list(
        out_of_sync_replicas(
            state, followers, leader_end_offset=10, now_ms=now_ms, lag_time_max_ms=LAG_MS
        )
    )


def test_a_follower_at_the_end_is_caught_up_however_long_ago() -> None:
    assert lagging(isr(B1, B2), {B2: follower(10)}, now_ms=10**9) == []


def test_a_follower_behind_for_too_long_is_out_of_sync() -> None:
    followers = {B2: follower(9, caught_up_ms=100), B3: follower(9, caught_up_ms=101)}
    assert lagging(isr(B1, B2, B3), followers, now_ms=100 + LAG_MS) == []
    assert lagging(isr(B1, B2, B3), followers, now_ms=101 + LAG_MS) == [B2]


def test_a_replica_outside_the_isr_does_not_lag() -> None:
    assert lagging(isr(B1), {B2: follower(0)}, now_ms=10**9) == []


def test_nothing_lags_while_a_change_is_under_way() -> None:
    assert lagging(isr(B1, B2, proposed=(B1,)), {B2: follower(0)}, now_ms=10**9) == []


def test_a_fetch_from_the_end_catches_up_now() -> None:
    state = FollowerState()
    state.on_fetch(10, 0, leader_end_offset=10, now_ms=500)
    assert state.last_caught_up_ms == 500
    assert state.is_caught_up(11, now_ms=500 + LAG_MS, lag_time_max_ms=LAG_MS)
    assert not state.is_caught_up(11, now_ms=501 + LAG_MS, lag_time_max_ms=LAG_MS)


def test_a_follower_that_reaches_the_former_end_was_caught_up_then() -> None:
    state = FollowerState()
    state.on_fetch(5, 0, leader_end_offset=10, now_ms=500)
    assert not state.is_caught_up(10, now_ms=500, lag_time_max_ms=LAG_MS)
    state.on_fetch(10, 0, leader_end_offset=20, now_ms=900)
    assert state.last_caught_up_ms == 500
    state.on_fetch(15, 0, leader_end_offset=30, now_ms=1000)
    assert state.last_caught_up_ms == 500


def test_a_clock_that_has_just_begun_catches_nobody_up() -> None:
    state = FollowerState()
    assert not state.is_caught_up(10, now_ms=0, lag_time_max_ms=LAG_MS)
    state.on_fetch(0, 0, leader_end_offset=10, now_ms=0)
    assert not state.is_caught_up(10, now_ms=1, lag_time_max_ms=LAG_MS)


def test_a_new_leader_epoch_gives_isr_members_their_time() -> None:
    member, other = follower(10), follower(10)
    member.on_leader_epoch(in_isr=True, leader_end_offset=10, now_ms=100)
    other.on_leader_epoch(in_isr=False, leader_end_offset=10, now_ms=100)
    assert member.is_caught_up(10, now_ms=100 + LAG_MS, lag_time_max_ms=LAG_MS)
    assert not other.is_caught_up(10, now_ms=100, lag_time_max_ms=LAG_MS)
    assert member.log_end_offset == -1


def test_a_fetch_of_an_earlier_life_of_its_broker_is_told_from_a_later_one_s() -> None:
    follower = FollowerState()
    assert not follower.is_later_life_than(3)
    follower.on_fetch(5, 0, 4, leader_end_offset=9, now_ms=0)
    assert [follower.is_later_life_than(epoch) for epoch in (-1, 3, 4, 5)] == [
        False,
        True,
        False,
        False,
    ]
    follower.on_leader_epoch(in_isr=True, leader_end_offset=9, now_ms=0)
    assert follower.broker_epoch == -1


def test_one_change_at_a_time() -> None:
    state = isr(B1, B2)
    grown = state.expand(B3)
    assert grown.proposed == (B1, B2, B3)
    assert grown.maximal == (B1, B2, B3)
    assert grown.shrink([B2]) is grown
    assert grown.expand(B3) is grown
    assert state.expand(B2) is state
    assert state.shrink([]) is state
    assert state.shrink([B3]) is state


def test_a_shrinking_isr_counts_in_full_until_it_is_confirmed() -> None:
    shrunk = isr(B1, B2, B3).shrink([B2])
    assert shrunk.proposed == (B1, B3)
    assert shrunk.maximal == (B1, B2, B3)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (ErrorCode.INELIGIBLE_REPLICA, IsrAnswer.ROLLED_BACK),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, IsrAnswer.ROLLED_BACK),
        (ErrorCode.FENCED_LEADER_EPOCH, IsrAnswer.WAIT),
        (ErrorCode.INVALID_UPDATE_VERSION, IsrAnswer.WAIT),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, IsrAnswer.WAIT),
        (ErrorCode.NOT_CONTROLLER, IsrAnswer.RETRY),
        (ErrorCode.UNKNOWN_SERVER_ERROR, IsrAnswer.RETRY),
    ],
)
def test_what_an_error_of_the_controller_means(code: ErrorCode, answer: IsrAnswer) -> None:
    sent = isr(B1).expand(B2)
    state, decided = on_alter_partition_error(sent, code)
    assert decided is answer
    assert state == (isr(B1) if answer is IsrAnswer.ROLLED_BACK else sent)


def success(epoch: int, *, newer: bool = False) -> tuple[IsrState, IsrAnswer]:
    return on_alter_partition_success(
        isr(B1).expand(B2), isr=[B1, B2], partition_epoch=epoch, is_newer_leader_epoch=newer
    )


def test_the_controller_s_state_is_taken_over() -> None:
    assert success(6) == (IsrState((B1, B2), 6), IsrAnswer.COMMITTED)


def test_an_answer_of_another_time_changes_nothing() -> None:
    assert success(4) == (isr(B1).expand(B2), IsrAnswer.WAIT)
    assert success(6, newer=True) == (isr(B1).expand(B2), IsrAnswer.WAIT)


def test_joining_needs_the_high_watermark_and_the_epoch_s_start() -> None:
    assert may_join_isr(follower(10), high_watermark=10, leader_epoch_start_offset=10)
    assert not may_join_isr(follower(9), high_watermark=10, leader_epoch_start_offset=5)
    assert not may_join_isr(follower(9), high_watermark=5, leader_epoch_start_offset=10)
    assert not may_join_isr(FollowerState(), high_watermark=0, leader_epoch_start_offset=0)


def high_watermark(
    state: IsrState, followers: dict[BrokerId, FollowerState], *joining: BrokerId
) -> int:
    return leader_high_watermark(3, state, followers, leader_end_offset=10, joining=joining)


def test_the_high_watermark_is_the_least_end_of_the_isr() -> None:
    followers = {B2: follower(7), B3: follower(5)}
    assert high_watermark(isr(B1, B2, B3), followers) == 5
    assert high_watermark(isr(B1, B2), followers) == 7
    assert high_watermark(isr(B1), followers) == 10


def test_the_high_watermark_waits_for_those_about_to_join() -> None:
    followers = {B2: follower(7), B3: follower(5)}
    assert high_watermark(isr(B1, B2).expand(B3), followers) == 5
    assert high_watermark(isr(B1, B2), followers, B3) == 5


def test_the_high_watermark_stands_until_every_member_was_heard_of() -> None:
    assert high_watermark(isr(B1, B2), {B2: FollowerState()}) == 3


@given(
    st.integers(0, 20),
    st.integers(0, 20),
    st.dictionaries(st.sampled_from([B2, B3]), st.integers(-1, 20)),
    st.sampled_from([(B1,), (B1, B2), (B1, B2, B3)]),
)
def test_the_high_watermark_never_falls_nor_passes_a_member(
    current: int, end: int, ends: dict[BrokerId, int], members: tuple[BrokerId, ...]
) -> None:
    followers = {broker: follower(at) for broker, at in ends.items()}
    raised = leader_high_watermark(current, IsrState(members, 0), followers, leader_end_offset=end)
    assert raised >= current
    if raised > current:
        assert raised <= end
        assert all(raised <= ends[member] for member in members if member in ends)


def test_a_follower_s_high_watermark_stays_in_its_log() -> None:
    def bounded(leader: int) -> int:
        return follower_high_watermark(leader, log_start_offset=4, log_end_offset=8)

    assert [bounded(leader) for leader in (2, 4, 6, 8, 12)] == [4, 4, 6, 8, 8]


def test_min_insync_replicas_never_exceeds_the_replicas() -> None:
    assert effective_min_insync_replicas(2, 1) == 1
    assert effective_min_insync_replicas(2, 3) == 2


def test_only_acks_all_needs_enough_replicas() -> None:
    small = isr(B1)
    assert may_append(small, acks=-1, min_insync_replicas=2) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert may_append(small, acks=1, min_insync_replicas=2) == ErrorCode.NONE
    assert may_append(isr(B1, B2), acks=-1, min_insync_replicas=2) == ErrorCode.NONE


def test_a_produce_waits_for_the_high_watermark_then_for_enough_replicas() -> None:
    def decide(high_watermark: int, state: IsrState) -> ErrorCode | None:
        return is_replicated(
            state, high_watermark=high_watermark, required_offset=5, min_insync_replicas=2
        )

    assert decide(4, isr(B1)) is None
    assert decide(5, isr(B1)) == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert decide(5, isr(B1, B2)) == ErrorCode.NONE
    assert decide(5, isr(B1).expand(B2)) == ErrorCode.NONE
