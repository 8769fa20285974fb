"""The phases of a rebalance, and what their timers end."""

from broker.core.groups.classic_group import GroupState
from broker.core.groups.decision import Decision
from broker.core.groups.rebalances import NEW_MEMBER_JOIN_TIMEOUT_MS
from protocol.errors import ErrorCode
from tests.broker.core.groups.lab import DELAY_MS, REBALANCE_MS, SESSION_MS, Lab


def completing(lab: Lab, count: int) -> list[str]:
    """Have members join that do not ask for their shares yet; the first leads."""
    ids = [lab.id_for() for _ in range(count)]
    for member_id in ids:
        lab.join(member_id)
    lab.later(2 * DELAY_MS)
    return ids


def test_a_first_rebalance_waits_for_more_members_once_after_each_that_comes() -> None:
    lab = Lab()
    ids = [lab.id_for() for _ in range(3)]
    first = lab.join(ids[0])
    lab.later(DELAY_MS - 1)
    lab.join(ids[1])
    lab.later(1)
    assert first not in lab.told
    lab.later(DELAY_MS - 1)
    lab.join(ids[2])
    lab.later(1)
    assert first not in lab.told
    lab.later(DELAY_MS)
    assert [row.member_id for row in lab.joined(first).members] == ids


def test_a_first_rebalance_waits_no_longer_than_its_rebalance_timeout() -> None:
    lab = Lab()
    first = lab.join(lab.id_for(), rebalance_timeout_ms=7_000)
    for _ in range(7):
        lab.later(1_000)
        lab.join(lab.id_for(), rebalance_timeout_ms=7_000)
    assert lab.now_ms == 7_000
    assert first in lab.told


def test_without_a_delay_the_first_member_is_answered_at_the_next_moment() -> None:
    lab = Lab(group_initial_rebalance_delay_ms=0)
    waiter = lab.join(lab.id_for())
    lab.later(0)
    assert lab.code(waiter) == ErrorCode.NONE


def test_only_the_leader_is_told_of_all_members() -> None:
    lab = Lab()
    waiters = [lab.join(lab.id_for()) for _ in range(3)]
    lab.later(2 * DELAY_MS)
    responses = [lab.joined(waiter) for waiter in waiters]
    assert [len(response.members) for response in responses] == [3, 0, 0]
    assert {response.leader for response in responses} == {responses[0].member_id}
    assert {response.protocol_name for response in responses} == {"range"}
    assert {response.protocol_type for response in responses} == {"consumer"}


def test_followers_get_their_assignments_when_the_leader_says_them_and_the_log_first() -> None:
    lab = Lab()
    ids = completing(lab, 3)
    early = lab.sync(ids[1])
    assert early not in lab.told
    assert not lab.records
    leader = lab.sync(ids[0], {ids[0]: b"a", ids[1]: b"b"})
    late = lab.sync(ids[2])
    told = [lab.synced(waiter).assignment for waiter in (leader, early, late)]
    assert told == [b"a", b"b", b""]
    assert len(lab.records) == 1
    assert lab.group.is_in(GroupState.STABLE)


def test_a_member_that_syncs_twice_is_answered_to_both() -> None:
    lab = Lab()
    ids = completing(lab, 2)
    first, second = lab.sync(ids[1]), lab.sync(ids[1])
    assert lab.code(first) == ErrorCode.REBALANCE_IN_PROGRESS
    lab.sync(ids[0])
    assert lab.code(second) == ErrorCode.NONE


def test_members_that_do_not_join_again_in_time_are_out_of_the_group() -> None:
    lab = Lab()
    ids = lab.stable(3)
    waiters = [lab.join(ids[1], protocols={"range": b"new"}), lab.join(ids[2])]
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        assert waiters[0] not in lab.told
        lab.heartbeat(ids[0])
        lab.later(SESSION_MS // 2)
    assert list(lab.group.members) == ids[1:]
    assert lab.joined(waiters[0]).leader == ids[1]
    assert lab.heartbeat(ids[0]) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_dies_costs_the_others_its_session_and_no_more() -> None:
    lab = Lab()
    ids = lab.stable(3)
    lab.later(SESSION_MS - 1)
    for member_id in ids[1:]:
        assert lab.heartbeat(member_id) == ErrorCode.NONE
    lab.later(1)
    waiters = [lab.join(member_id) for member_id in ids[1:]]
    assert [lab.code(waiter) for waiter in waiters] == [ErrorCode.NONE] * 2
    assert lab.joined(waiters[0]).leader == ids[1]


def test_who_waits_for_the_others_needs_no_heartbeat_and_has_a_new_session_when_told() -> None:
    lab = Lab()
    ids = lab.stable(2)
    waiter = lab.join(ids[0])
    for _ in range(4):
        lab.heartbeat(ids[1])
        lab.later(SESSION_MS // 2)
    assert waiter not in lab.told
    lab.join(ids[1])
    assert lab.code(waiter) == ErrorCode.NONE
    lab.later(SESSION_MS - 1)
    assert list(lab.group.members) == ids


def test_who_waits_for_the_assignment_needs_no_heartbeat() -> None:
    lab = Lab()
    ids = completing(lab, 2)
    waiter = lab.sync(ids[1])
    for _ in range(4):
        lab.heartbeat(ids[0])
        lab.later(SESSION_MS // 2)
    lab.sync(ids[0], {ids[1]: b"all"})
    assert lab.synced(waiter).assignment == b"all"
    lab.later(SESSION_MS - 1)
    assert list(lab.group.members) == ids


def test_a_new_member_that_may_be_gone_waits_five_minutes_and_no_longer() -> None:
    lab = Lab()
    (leader,) = lab.stable(1, rebalance_timeout_ms=10 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    waiter = lab.join(version=3)
    for _ in range(2 * NEW_MEMBER_JOIN_TIMEOUT_MS // SESSION_MS - 1):
        lab.later(SESSION_MS // 2)
        lab.heartbeat(leader)
    assert waiter not in lab.told
    lab.later(SESSION_MS // 2)
    response = lab.joined(waiter)
    assert (response.error_code, response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(lab.group.members) == [leader]


def test_members_that_never_ask_for_their_assignment_are_out_after_the_rebalance_timeout() -> None:
    lab = Lab()
    ids = completing(lab, 3)
    waiter = lab.sync(ids[1])
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        assert waiter not in lab.told
        for member_id in ids:
            lab.heartbeat(member_id)
        lab.later(SESSION_MS // 2)
    assert lab.code(waiter) == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(lab.group.members) == [ids[1]]


def test_a_member_of_a_stable_group_that_never_asks_for_its_assignment_is_out_too() -> None:
    lab = Lab()
    ids = completing(lab, 2)
    lab.sync(ids[0])
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        for member_id in ids:
            lab.heartbeat(member_id)
        lab.later(SESSION_MS // 2)
    assert list(lab.group.members) == [ids[0]]
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)


def test_a_group_whose_members_are_all_gone_is_empty_and_the_log_knows_it() -> None:
    lab = Lab()
    lab.stable(2)
    lab.later(SESSION_MS)
    assert lab.group.is_empty
    assert lab.group.generation == 2
    again = lab.reloaded().group
    assert again.is_empty
    assert (again.generation, again.protocol_type, again.leader_id) == (2, "consumer", None)
    assert again.state_since_ms == lab.group.state_since_ms


def test_an_assignment_too_large_for_the_log_is_refused_and_all_join_again() -> None:
    lab = Lab(batch_bytes_max=1_000)
    ids = completing(lab, 2)
    waits = lab.sync(ids[1])
    leader = lab.sync(ids[0], {ids[0]: bytes(1_000)})
    assert [lab.code(waiter) for waiter in (waits, leader)] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert not lab.records
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)
    lab.join(ids[0])
    lab.join(ids[1])
    lab.settle(ids)
    assert lab.group.is_in(GroupState.STABLE)


def test_a_static_member_that_comes_back_with_too_much_for_the_log_makes_all_join_again() -> None:
    lab = Lab(batch_bytes_max=1_000)
    waiter = lab.join(instance_id="kitchen")
    lab.later(2 * DELAY_MS)
    lab.settle([lab.joined(waiter).member_id])
    lab.join(instance_id="kitchen", protocols={"range": bytes(1_000)})
    assert len(lab.records) == 1
    assert lab.group.is_in(GroupState.COMPLETING_REBALANCE)


def test_a_stable_group_is_found_again_by_who_loads_it_with_its_sessions_begun_anew() -> None:
    lab = Lab()
    ids = lab.stable(3)
    lab.later(SESSION_MS - 1)
    again = lab.reloaded()
    assert again.group.is_in(GroupState.STABLE)
    again.later(SESSION_MS - 1)
    assert [again.heartbeat(member_id) for member_id in ids] == [ErrorCode.NONE] * 3
    assert again.synced(again.sync(ids[2])).assignment == ids[2].encode()
    again.later(SESSION_MS)
    assert again.group.is_empty


def test_a_generation_that_was_not_assigned_is_unknown_to_who_loads_the_group() -> None:
    lab = Lab()
    ids = lab.stable(2)
    for member_id in ids:
        lab.join(member_id)
    assert lab.group.generation == 2
    again = lab.reloaded()
    assert again.group.generation == 1
    assert again.heartbeat(ids[0], generation=2) == ErrorCode.ILLEGAL_GENERATION
    assert again.code(again.sync(ids[0], generation=2)) == ErrorCode.ILLEGAL_GENERATION


def test_many_groups_that_end_at_once_are_told_to_the_log_in_batches_that_it_takes() -> None:
    lab = Lab(batch_bytes_max=1_000)
    for each in range(50):
        lab.join(version=3, group_id=f"group-{each}")
    lab.later(2 * DELAY_MS)
    assert len(lab.groups.groups) == 50
    lab.now_ms += NEW_MEMBER_JOIN_TIMEOUT_MS
    batches = 0
    while (due_ms := lab.groups.next_due_ms()) is not None and due_ms <= lab.now_ms:
        decided = lab.take(lab.groups.expire(lab.now_ms, lab.wall_ms))
        assert sum(len(key) + len(value or b"") for key, value in decided.records) < 1_000
        batches += 1
    assert batches > 1
    assert all(group.is_empty for group in lab.groups.groups)


def test_who_is_told_to_join_again_has_a_new_session_to_do_so_and_no_more() -> None:
    lab = Lab()
    ids = completing(lab, 2)
    waiter = lab.sync(ids[1])
    for _ in range(3):
        lab.heartbeat(ids[0])
        lab.later(SESSION_MS // 2)
    lab.leave(ids[0])
    assert lab.code(waiter) == ErrorCode.REBALANCE_IN_PROGRESS
    lab.later(SESSION_MS - 1)
    assert list(lab.group.members) == [ids[1]]
    lab.later(1)
    assert lab.group.is_empty


def test_a_protocol_without_a_name_is_told_as_none() -> None:
    lab = Lab()
    member = lab.join(lab.id_for(), protocols={"": b"x"})
    lab.later(DELAY_MS)
    assert lab.joined(member).protocol_name is None


def static_group(lab: Lab, *instances: str) -> list[str]:
    waiters = [lab.join(instance_id=instance_id) for instance_id in instances]
    lab.later(2 * DELAY_MS)
    return [lab.joined(waiter).member_id for waiter in waiters]


def all_beat(lab: Lab, ids: list[str], ms: int) -> None:
    """Let so much time pass, in which nobody is silent for a session."""
    end_ms = lab.now_ms + ms
    while lab.now_ms < end_ms:
        lab.later(min(SESSION_MS // 2, end_ms - lab.now_ms))
        for member_id in ids:
            lab.heartbeat(member_id)


def test_where_only_static_members_are_and_none_joins_they_have_as_long_again() -> None:
    lab = Lab()
    ids = static_group(lab, "kitchen", "cellar")
    lab.settle(ids)
    guest = lab.id_for()
    lab.join(guest)
    lab.leave(guest)
    all_beat(lab, ids, 2 * REBALANCE_MS)
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)
    assert list(lab.group.members) == ids
    waiter = lab.join(ids[1], instance_id="cellar")
    all_beat(lab, ids[:1], REBALANCE_MS - 1)
    assert waiter not in lab.told
    all_beat(lab, ids[:1], 1)
    told = lab.joined(waiter)
    assert (told.generation_id, told.leader) == (2, ids[1])
    assert [row.member_id for row in told.members] == ids


def test_an_id_that_nobody_joins_with_ends_without_a_rebalance() -> None:
    lab = Lab()
    ids = lab.stable(2)
    lab.id_for()
    all_beat(lab, ids, SESSION_MS)
    assert not lab.group.pending
    assert lab.group.is_in(GroupState.STABLE)


def test_a_first_rebalance_waits_once_where_members_ask_for_less_than_its_delay() -> None:
    lab = Lab()
    first = lab.join(lab.id_for(), rebalance_timeout_ms=DELAY_MS)
    lab.later(1)
    second = lab.join(lab.id_for(), rebalance_timeout_ms=DELAY_MS)
    lab.later(DELAY_MS - 1)
    assert [lab.code(first), lab.code(second)] == [ErrorCode.NONE] * 2


def test_a_first_rebalance_does_not_end_because_somebody_who_joined_leaves() -> None:
    lab = Lab()
    ids = [lab.id_for() for _ in range(2)]
    waiters = [lab.join(member_id) for member_id in ids]
    lab.leave(ids[0])
    assert waiters[1] not in lab.told
    lab.later(2 * DELAY_MS)
    assert lab.joined(waiters[1]).leader == ids[1]


def test_a_static_member_that_came_back_to_its_share_is_not_out_for_not_asking_before() -> None:
    lab = Lab()
    leader, _ = static_group(lab, "kitchen", "cellar")
    lab.sync(leader, {})
    back = lab.joined(lab.join(instance_id="cellar")).member_id
    all_beat(lab, [leader, back], 2 * REBALANCE_MS)
    assert list(lab.group.members) == [leader, back]
    assert lab.group.is_in(GroupState.STABLE)


def test_who_has_all_asked_for_their_shares_have_no_limit_any_more() -> None:
    lab = Lab()
    ids = lab.stable(2)
    all_beat(lab, ids, 2 * REBALANCE_MS)
    assert list(lab.group.members) == ids
    assert lab.group.is_in(GroupState.STABLE)


def test_who_waits_for_its_share_when_it_is_removed_is_told_that_it_is_unknown() -> None:
    lab = Lab()
    _, follower = static_group(lab, "kitchen", "cellar")
    waiter = lab.sync(follower)
    lab.leave(follower)
    assert lab.code(waiter) == ErrorCode.UNKNOWN_MEMBER_ID


def test_shares_of_a_generation_that_was_not_assigned_are_nobodys() -> None:
    lab = Lab()
    ids = lab.stable(2)
    for member_id in ids:
        lab.join(member_id)
    lab.leave(ids[0])
    assert [member.assignment for member in lab.group.members.values()] == [b""]


def test_who_waits_in_a_group_that_ends_is_to_join_what_takes_its_place() -> None:
    lab, decision = Lab(), Decision(0, 0)
    ids = lab.stable(3)
    joins = [lab.join(member_id) for member_id in ids[:2]]
    lab.id_for()
    lab.groups.dissolve(lab.group, decision)
    lab.take(decision.decided())
    told = [(lab.joined(waiter).error_code, lab.joined(waiter).member_id) for waiter in joins]
    assert told == [(ErrorCode.REBALANCE_IN_PROGRESS, member_id) for member_id in ids[:2]]
    assert lab.groups.next_due_ms() is None


def test_who_waits_for_its_share_in_a_group_that_ends_is_to_join_what_takes_its_place() -> None:
    lab, decision = Lab(), Decision(0, 0)
    _, follower = static_group(lab, "kitchen", "cellar")
    waiter = lab.sync(follower)
    lab.groups.dissolve(lab.group, decision)
    lab.take(decision.decided())
    assert lab.code(waiter) == ErrorCode.REBALANCE_IN_PROGRESS
    assert lab.groups.next_due_ms() is None
