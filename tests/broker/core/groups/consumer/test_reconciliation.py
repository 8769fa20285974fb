"""Each step of a member towards its target."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.groups.consumer.consumer_member import ConsumerMember, Held, MemberState
from broker.core.groups.consumer.reconciliation import (
    Towards,
    reconciled,
    unknown_state_error,
)
from protocol.errors import ErrorCode
from tests.broker.core.groups.consumer.lab import rows, topic_id

STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState
T, U = topic_id("t"), topic_id("u")


def member(
    state: MemberState = STABLE, *, assigned: Held | None = None, revoking: Held | None = None
) -> ConsumerMember:
    return ConsumerMember(
        member_id="a",
        epoch=1,
        previous_epoch=0,
        state=state,
        assigned=assigned or {},
        revoking=revoking or {},
    )


def towards(
    *target: int, epoch: int = 2, owned: Iterable[int] = (), ids: Iterable[bytes] = (T,)
) -> Towards:
    places = {(T, index) for index in owned}
    return Towards(
        epoch=epoch,
        target={T: target} if target else {},
        subscribed_ids=frozenset(ids),
        is_owned=lambda topic, index: (topic, index) in places,
    )


def outcome(found: ConsumerMember) -> tuple[MemberState, int, int, Held, Held]:
    return found.state, found.epoch, found.previous_epoch, found.assigned, found.revoking


def test_free_partitions_are_taken_in_the_epoch_of_the_target() -> None:
    found = reconciled(member(), towards(0, 1), [], subscription_changed=False)
    assert outcome(found) == (STABLE, 2, 1, {T: {0: 2, 1: 2}}, {})


def test_what_a_member_keeps_it_has_had_since_before() -> None:
    start = member(assigned={T: {0: 1}})
    found = reconciled(start, towards(0, 1, owned=[0]), None, subscription_changed=False)
    assert outcome(found) == (STABLE, 2, 1, {T: {0: 1, 1: 2}}, {})


def test_who_has_to_give_back_stays_in_its_epoch_until_it_has() -> None:
    start, goal = member(assigned={T: {0: 1, 1: 1}}), towards(1, 2, owned=[0, 1])
    first = reconciled(start, goal, None, subscription_changed=False)
    assert outcome(first) == (UNREVOKED, 1, 1, {T: {1: 1}}, {T: {0: 1}})
    for still in (None, rows({"t": [0]})):
        assert reconciled(first, goal, still, subscription_changed=False) is first
    second = reconciled(first, goal, rows({"t": [1]}), subscription_changed=False)
    assert outcome(second) == (STABLE, 2, 1, {T: {1: 1, 2: 2}}, {})


def test_partitions_of_others_are_waited_for_in_the_new_epoch() -> None:
    first = reconciled(member(), towards(0, 1, owned=[1]), [], subscription_changed=False)
    assert outcome(first) == (UNRELEASED, 2, 1, {T: {0: 2}}, {})
    again = reconciled(first, towards(0, 1, owned=[0, 1]), [], subscription_changed=False)
    assert outcome(again)[0] is UNRELEASED
    last = reconciled(first, towards(0, 1, owned=[0]), [], subscription_changed=False)
    assert outcome(last) == (STABLE, 2, 2, {T: {0: 2, 1: 2}}, {})


def test_a_partition_that_a_member_is_giving_back_can_become_its_own_again() -> None:
    start = member(UNREVOKED, revoking={T: {0: 1}})
    found = reconciled(start, towards(0, owned=[0], epoch=3), [], subscription_changed=False)
    assert outcome(found) == (STABLE, 3, 1, {T: {0: 3}}, {})


def test_who_is_where_it_shall_be_stays_the_same() -> None:
    start = member(assigned={T: {0: 1}})
    assert reconciled(start, towards(0, epoch=1), None, subscription_changed=False) is start
    assert reconciled(start, towards(0, epoch=1), None, subscription_changed=True) is start


@pytest.mark.parametrize("state", [STABLE, UNREVOKED])
def test_topics_that_are_not_read_any_more_are_given_back_at_once(state: MemberState) -> None:
    revoking: Held = {U: {5: 1}} if state is UNREVOKED else {}
    start = member(state, assigned={T: {0: 1}, U: {1: 1}}, revoking=revoking)
    owned = rows({"t": [0], "u": [1, 5]})
    found = reconciled(start, towards(0, epoch=1), owned, subscription_changed=True)
    assert outcome(found)[:2] == (UNREVOKED, 1)
    assert (found.assigned, found.revoking) == ({T: {0: 1}}, {U: {**revoking.get(U, {}), 1: 1}})


def test_topics_that_a_member_gave_back_by_itself_are_gone_at_once() -> None:
    start = member(assigned={T: {0: 1}, U: {1: 1}})
    found = reconciled(start, towards(0, epoch=1), rows({"t": [0]}), subscription_changed=True)
    assert outcome(found) == (STABLE, 1, 1, {T: {0: 1}}, {})


def test_a_target_in_a_topic_that_is_not_read_is_none() -> None:
    found = reconciled(member(), towards(0, ids=()), [], subscription_changed=False)
    assert outcome(found) == (STABLE, 2, 1, {}, {})


def test_a_state_of_a_later_release_is_left_with_nothing_only() -> None:
    strange = member(UNKNOWN)
    for owned in (None, rows({"t": [0]})):
        error = unknown_state_error(strange, owned)
        assert error is not None
        assert error.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert unknown_state_error(strange, []) is None
    assert unknown_state_error(member(), None) is None
    found = reconciled(strange, towards(0), [], subscription_changed=False)
    assert outcome(found) == (STABLE, 2, 1, {T: {0: 2}}, {})


PARTITIONS = st.frozensets(st.integers(0, 3))


@given(PARTITIONS, PARTITIONS, PARTITIONS)
def test_a_member_that_gives_back_is_at_its_target_after_two_heartbeats(
    has: frozenset[int], target: frozenset[int], others: frozenset[int]
) -> None:
    others -= has
    start = member(assigned={T: dict.fromkeys(sorted(has), 1)} if has else {})
    goal = towards(*sorted(target), owned=[*has, *others])
    first = reconciled(start, goal, None, subscription_changed=False)
    kept = rows({"t": list(first.assigned.get(T, {}))})
    goal = towards(*sorted(target), owned=[*first.assigned.get(T, {}), *others])
    second = reconciled(first, goal, kept, subscription_changed=False)
    assert set(second.assigned.get(T, {})) == target - others
    assert second.state is (UNRELEASED if target & others else STABLE)
    assert second.epoch == goal.epoch
