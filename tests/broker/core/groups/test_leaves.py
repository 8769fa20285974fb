"""Members that leave."""

from broker.core.groups.classic_group import GroupState
from protocol.errors import ErrorCode
from tests.broker.core.groups.lab import DELAY_MS, Lab

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


def test_when_a_member_leaves_the_others_join_again() -> None:
    lab = Lab()
    ids = lab.stable(3)
    assert lab.leave(ids[0]) == [NONE]
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)
    assert lab.group.leader_id == ids[1]
    assert lab.heartbeat(ids[1]) == ErrorCode.REBALANCE_IN_PROGRESS


def test_when_the_last_member_leaves_the_group_is_empty_at_once() -> None:
    lab = Lab()
    (only,) = lab.stable(1)
    assert lab.leave(only) == [NONE]
    assert lab.group.is_empty
    assert lab.reloaded().group.is_empty


def test_several_leave_at_once_and_each_is_told_its_own_fate() -> None:
    lab = Lab()
    ids = lab.stable(3)
    assert lab.leave(ids[0], "stranger", ids[1]) == [NONE, UNKNOWN, NONE]
    assert list(lab.group.members) == [ids[2]]
    assert lab.leave("stranger") == [UNKNOWN]


def test_an_admin_removes_static_members_by_their_instance_alone() -> None:
    lab = Lab()
    waiters = [lab.join(instance_id=each) for each in ("kitchen", "cellar")]
    lab.later(2 * DELAY_MS)
    ids = [lab.joined(waiter).member_id for waiter in waiters]
    lab.settle(ids)
    assert lab.leave(("", "cellar"), ("", "attic"), ("", None)) == [NONE, UNKNOWN, UNKNOWN]
    assert list(lab.group.members) == [ids[0]]
    assert lab.leave((ids[0], "attic"), (ids[0], "kitchen")) == [UNKNOWN, NONE]
    assert lab.group.is_empty


def test_who_leaves_while_it_waits_is_answered() -> None:
    lab = Lab()
    ids = lab.stable(2)
    waiter = lab.join(ids[0])
    lab.leave(ids[0])
    assert lab.code(waiter) == UNKNOWN
    ids = [ids[1], lab.id_for()]
    for member_id in ids:
        lab.join(member_id)
    synced = lab.sync(ids[1])
    lab.leave(ids[1])
    assert lab.code(synced) == UNKNOWN


def test_the_last_one_that_others_wait_for_leaves_and_they_wait_no_longer() -> None:
    lab = Lab()
    ids = lab.stable(2)
    waiter = lab.join(ids[0])
    lab.leave(ids[1])
    assert lab.code(waiter) == NONE


def test_an_id_that_nobody_joined_with_is_given_back() -> None:
    lab = Lab()
    ids = lab.stable(1)
    pending = lab.id_for()
    assert lab.leave(pending) == [NONE]
    assert not lab.group.pending
    assert list(lab.group.members) == ids


def test_nobody_leaves_a_group_that_is_not_there() -> None:
    lab = Lab()
    assert lab.leave("stranger", "another") == [UNKNOWN, UNKNOWN]
    assert lab.leave("stranger", group_id="") == [ErrorCode.INVALID_GROUP_ID]
