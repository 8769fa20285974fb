"""Who may join a classic group."""

import pytest

from broker.core.groups.classic_group import GroupState
from protocol.errors import ErrorCode
from tests.broker.core.groups.lab import (
    DELAY_MS,
    REBALANCE_MS,
    SESSION_MS,
    Lab,
)


def test_a_member_without_an_id_is_given_one_and_asked_to_join_with_it_since_version_4() -> None:
    lab = Lab()
    response = lab.joined(lab.join(version=4))
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id == "client-uuid1"
    assert response.generation_id == -1
    assert lab.group.is_empty


def test_before_members_need_an_id_one_is_taken_in_at_once() -> None:
    lab = Lab()
    waiter = lab.join(version=3)
    lab.later(DELAY_MS)
    response = lab.joined(waiter)
    assert response.error_code == ErrorCode.NONE
    assert response.member_id == response.leader == "client-uuid1"
    assert response.generation_id == 1


def test_a_static_member_is_taken_in_at_once_with_an_id_of_its_instance() -> None:
    lab = Lab()
    waiter = lab.join(instance_id="kitchen")
    lab.later(DELAY_MS)
    assert lab.joined(waiter).member_id == "kitchen-uuid1"
    assert lab.group.instances == {"kitchen": "kitchen-uuid1"}


def test_version_0_has_no_rebalance_timeout_and_the_session_timeout_stands_for_it() -> None:
    lab = Lab()
    lab.join(version=0, rebalance_timeout_ms=-1)
    assert lab.group.rebalance_timeout_ms == SESSION_MS


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "stranger"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_join_that_cannot_be_is_refused_and_leaves_no_group_behind(
    fields: dict[str, object], error: ErrorCode
) -> None:
    lab = Lab()
    assert lab.code(lab.join(**fields)) == error  # pyright: ignore[reportArgumentType]
    assert not lab.groups.groups


def test_sessions_of_exactly_the_least_and_the_most_are_taken() -> None:
    lab = Lab()
    for session_timeout_ms in (6_000, 1_800_000):
        waiter = lab.join(session_timeout_ms=session_timeout_ms)
        assert lab.code(waiter) == ErrorCode.MEMBER_ID_REQUIRED


def test_who_shares_no_protocol_with_the_group_is_refused() -> None:
    lab = Lab()
    ids = lab.stable(2)
    assert lab.code(lab.join(protocols={"sticky": b""})) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    other = lab.join(protocol_type="connect")
    assert lab.code(other) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert list(lab.group.members) == ids


def test_a_member_of_no_generation_that_is_unknown_to_a_group_has_to_begin_anew() -> None:
    lab = Lab()
    lab.stable(1)
    response = lab.joined(lab.join("stranger"))
    assert (response.error_code, response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "stranger")


def test_an_id_that_nobody_joins_with_ends_with_its_session() -> None:
    lab = Lab()
    member_id = lab.id_for()
    lab.later(SESSION_MS - 1)
    assert list(lab.group.pending) == [member_id]
    lab.later(1)
    assert not lab.group.pending
    assert lab.code(lab.join(member_id)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_an_id_that_was_given_out() -> None:
    lab = Lab()
    (leader,) = lab.stable(1)
    newcomer = lab.id_for()
    waiter = lab.join(leader)
    assert waiter not in lab.told
    second = lab.join(newcomer)
    assert {lab.code(waiter), lab.code(second)} == {ErrorCode.NONE}
    assert lab.group.generation == 2


def test_a_group_takes_no_more_members_than_group_max_size() -> None:
    lab = Lab(group_max_size=2)
    ids = lab.stable(2)
    response = lab.joined(lab.join())
    assert (response.error_code, response.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert list(lab.group.members) == ids
    assert lab.heartbeat(ids[1]) == ErrorCode.NONE


def test_members_of_a_group_at_its_most_may_join_again() -> None:
    lab = Lab(group_max_size=2)
    ids = lab.stable(2)
    waiters = [lab.join(member_id) for member_id in ids]
    assert [lab.code(waiter) for waiter in waiters] == [ErrorCode.NONE] * 2


def test_of_a_loaded_group_that_is_too_large_the_last_to_join_again_find_no_room() -> None:
    lab = Lab()
    ids = lab.stable(3)
    lab.config = Lab(group_max_size=2).config
    lab = lab.reloaded()
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)
    waiters = [lab.join(member_id) for member_id in ids]
    assert [lab.code(waiter) for waiter in waiters] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    ]


def test_a_follower_that_joins_again_with_the_same_is_told_the_generation_at_once() -> None:
    lab = Lab()
    ids = lab.stable(2)
    response = lab.joined(lab.join(ids[1]))
    assert (response.error_code, response.generation_id) == (ErrorCode.NONE, 1)
    assert (response.leader, list(response.members)) == (ids[0], [])
    assert lab.group.is_in(GroupState.STABLE)


def test_a_leader_that_joins_again_makes_all_join_again() -> None:
    lab = Lab()
    ids = lab.stable(2)
    waiter = lab.join(ids[0])
    assert waiter not in lab.told
    assert lab.heartbeat(ids[1]) == ErrorCode.REBALANCE_IN_PROGRESS
    lab.join(ids[1])
    assert [row.member_id for row in lab.joined(waiter).members] == ids


def test_a_follower_that_says_something_else_makes_all_join_again() -> None:
    lab = Lab()
    ids = lab.stable(2)
    lab.join(ids[1], protocols={"range": b"other topics"})
    waiter = lab.join(ids[0])
    told = {row.member_id: row.metadata for row in lab.joined(waiter).members}
    assert told == {ids[0]: b"r", ids[1]: b"other topics"}


def test_the_leader_whose_answer_was_lost_is_told_all_members_again() -> None:
    lab = Lab()
    ids = [lab.id_for(), lab.id_for()]
    for member_id in ids:
        lab.join(member_id)
    lab.later(2 * DELAY_MS)
    assert lab.group.is_in(GroupState.COMPLETING_REBALANCE)
    again = lab.joined(lab.join(ids[0]))
    assert [row.member_id for row in again.members] == ids
    assert again.generation_id == 1
    assert not lab.joined(lab.join(ids[1])).members


def test_a_member_that_says_something_else_before_the_assignment_makes_all_join_again() -> None:
    lab = Lab()
    ids = [lab.id_for(), lab.id_for()]
    for member_id in ids:
        lab.join(member_id)
    lab.later(2 * DELAY_MS)
    synced = lab.sync(ids[1])
    lab.join(ids[0], protocols={"range": b"other topics"})
    assert lab.code(synced) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)


def test_a_member_that_asks_twice_is_answered_to_both() -> None:
    lab = Lab()
    ids = lab.stable(2)
    first = lab.join(ids[0])
    second = lab.join(ids[0])
    assert lab.code(first) == ErrorCode.REBALANCE_IN_PROGRESS
    lab.join(ids[1])
    assert lab.code(second) == ErrorCode.NONE


def test_the_protocol_that_most_members_prefer_is_chosen_of_those_that_all_know() -> None:
    lab = Lab()
    ids = [lab.id_for(protocols={"range": b"", "sticky": b""}) for _ in range(3)]
    lab.join(ids[0], protocols={"range": b"r0", "sticky": b"s0", "own": b""})
    lab.join(ids[1], protocols={"sticky": b"s1", "range": b"r1"})
    waiter = lab.join(ids[2], protocols={"sticky": b"s2", "range": b"r2"})
    lab.later(2 * DELAY_MS)
    assert lab.joined(waiter).protocol_name == "sticky"
    assert [member.metadata("sticky") for member in lab.group.members.values()] == [
        b"s0",
        b"s1",
        b"s2",
    ]


# Static members.


def static_group(lab: Lab, *instances: str) -> list[str]:
    waiters = [lab.join(instance_id=instance_id) for instance_id in instances]
    lab.later(2 * DELAY_MS)
    ids = [lab.joined(waiter).member_id for waiter in waiters]
    lab.settle(ids)
    return ids


def test_a_static_member_that_comes_back_keeps_its_assignment_and_nobody_rebalances() -> None:
    lab = Lab()
    leader, follower = static_group(lab, "kitchen", "cellar")
    back = lab.joined(lab.join(instance_id="cellar"))
    assert (back.error_code, back.generation_id, back.leader) == (ErrorCode.NONE, 1, leader)
    assert back.member_id != follower
    assert not back.members
    assert lab.group.is_in(GroupState.STABLE)
    assert lab.synced(lab.sync(back.member_id)).assignment == follower.encode()
    assert list(lab.reloaded().group.members) == [leader, back.member_id]


def test_a_static_leader_that_comes_back_is_told_to_skip_the_assignment() -> None:
    lab = Lab()
    leader, follower = static_group(lab, "kitchen", "cellar")
    back = lab.joined(lab.join(instance_id="kitchen"))
    assert back.skip_assignment
    assert back.leader == back.member_id != leader
    assert sorted(row.member_id for row in back.members) == sorted([back.member_id, follower])


def test_a_static_leader_that_cannot_skip_the_assignment_is_told_that_its_old_id_leads() -> None:
    lab = Lab()
    leader, _ = static_group(lab, "kitchen", "cellar")
    back = lab.joined(lab.join(instance_id="kitchen", version=8))
    assert (back.leader, back.skip_assignment, list(back.members)) == (leader, False, [])
    assert lab.group.leader_id == back.member_id


def test_the_earlier_owner_of_an_instance_id_is_fenced_in_all_it_asks() -> None:
    lab = Lab()
    _, earlier = static_group(lab, "kitchen", "cellar")
    lab.join(instance_id="cellar")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert lab.heartbeat(earlier, group_instance_id="cellar") == fenced
    assert lab.code(lab.join(earlier, instance_id="cellar")) == fenced
    assert lab.code(lab.sync(earlier, group_instance_id="cellar")) == fenced
    assert lab.leave((earlier, "cellar")) == [fenced]
    assert lab.commit(member_id=earlier, instance_id="cellar", generation=1) == fenced


def test_the_earlier_owner_of_an_instance_id_that_waits_is_told_that_it_is_fenced() -> None:
    lab = Lab()
    first = lab.join(instance_id="kitchen")
    second = lab.join(instance_id="kitchen")
    assert lab.code(first) == ErrorCode.FENCED_INSTANCE_ID
    lab.later(2 * DELAY_MS)
    assert lab.code(second) == ErrorCode.NONE
    assert list(lab.group.members) == [lab.joined(second).member_id]


def test_a_static_member_that_comes_back_before_the_assignment_makes_all_join_again() -> None:
    lab = Lab()
    waiters = [lab.join(instance_id=each) for each in ("kitchen", "cellar")]
    lab.later(2 * DELAY_MS)
    _, follower = (lab.joined(waiter).member_id for waiter in waiters)
    waits = lab.sync(follower)
    back = lab.join(instance_id="cellar")
    assert lab.code(waits) == ErrorCode.FENCED_INSTANCE_ID
    assert back not in lab.told
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)


def test_a_static_member_that_comes_back_and_changes_the_protocol_makes_all_join_again() -> None:
    lab = Lab()
    both = {"range": b"", "sticky": b""}
    waiter = lab.join(instance_id="kitchen", protocols=both)
    lab.later(2 * DELAY_MS)
    lab.settle([lab.joined(waiter).member_id])
    assert lab.group.protocol_name == "range"
    lab.later(1)
    back = lab.join(instance_id="kitchen", protocols={"sticky": b"", "range": b""})
    assert lab.joined(back).protocol_name == "sticky"
    assert lab.group.generation == 2


def test_a_static_member_that_is_silent_stays_until_its_session_ends() -> None:
    lab = Lab()
    ids = static_group(lab, "kitchen", "cellar")
    for _ in range(3):
        lab.later(SESSION_MS // 3)
        lab.heartbeat(ids[0])
    lab.later(SESSION_MS // 3)
    assert list(lab.group.members) == [ids[0]]


def test_static_members_that_do_not_join_again_stay_for_the_next_generation() -> None:
    lab = Lab()
    ids = static_group(lab, "kitchen", "cellar")
    waiter = lab.join(ids[0], instance_id="kitchen")
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        lab.later(SESSION_MS // 2)
        lab.heartbeat(ids[1])
    assert [row.member_id for row in lab.joined(waiter).members] == ids


def test_a_static_member_cannot_join_with_an_id_that_was_given_to_a_dynamic_one() -> None:
    lab = Lab()
    member_id = lab.id_for()
    refused = lab.join(member_id, instance_id="kitchen")
    assert lab.code(refused) == ErrorCode.UNKNOWN_MEMBER_ID
