"""What the members of groups, and their offsets, ask of a shard."""

from typing import Any

import pytest
from hypothesis import settings

from broker.core.coordination import batch_size_bound
from broker.core.groups.classic_group import GroupState
from broker.core.groups.decision import Decision
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.group_records import GroupMetadataValue
from protocol.messages.groups import JoinGroupRequest
from protocol.stored_records import encode_versioned
from tests.broker.core.groups.lab import DELAY_MS, GROUP, REBALANCE_MS, SESSION_MS, Lab
from tests.broker.core.groups.story import GroupStory

READS_NOTHING = encode_versioned(ConsumerProtocolSubscription(topics=[], user_data=None), 1)
READS_ORDERS = {
    "range": encode_versioned(ConsumerProtocolSubscription(topics=["orders"], user_data=None), 1)
}


def completing(lab: Lab) -> list[str]:
    ids = [lab.id_for() for _ in range(2)]
    for member_id in ids:
        lab.join(member_id)
    lab.later(2 * DELAY_MS)
    return ids


# Heartbeats.


def test_a_heartbeat_is_refused_to_who_is_not_a_member_of_this_generation() -> None:
    lab = Lab()
    assert lab.heartbeat("stranger") == ErrorCode.UNKNOWN_MEMBER_ID
    ids = lab.stable(2)
    assert lab.heartbeat("stranger") == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.heartbeat(ids[0], generation=0) == ErrorCode.ILLEGAL_GENERATION
    assert lab.heartbeat(ids[0], group_instance_id="attic") == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.heartbeat(ids[0], group_id="") == ErrorCode.INVALID_GROUP_ID
    assert lab.heartbeat(ids[0], group_id="other") == ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_keep_a_member_for_as_long_as_they_come() -> None:
    lab = Lab()
    (only,) = lab.stable(1)
    for _ in range(10):
        lab.later(SESSION_MS - 1)
        assert lab.heartbeat(only) == ErrorCode.NONE
    lab.later(SESSION_MS)
    assert lab.heartbeat(only) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_before_the_assignment_is_a_good_one() -> None:
    lab = Lab()
    ids = completing(lab)
    assert lab.heartbeat(ids[0]) == ErrorCode.NONE


def test_a_heartbeat_tells_of_a_rebalance_and_is_a_sign_of_life_all_the_same() -> None:
    lab = Lab()
    ids = lab.stable(2)
    lab.join(ids[0])
    for _ in range(3):
        lab.later(SESSION_MS - 1)
        assert lab.heartbeat(ids[1]) == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(lab.group.members) == ids


def test_an_id_of_a_group_that_is_not_there_is_unknown_and_makes_none() -> None:
    lab = Lab()
    refused = lab.joined(lab.join("stranger"))
    assert (refused.error_code, refused.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "stranger")
    assert not lab.groups.knows(GROUP)
    assert lab.code(lab.join(protocols={})) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert not lab.groups.knows(GROUP)
    lab.join("", version=3)
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)


# Assignments.


def test_an_assignment_is_refused_to_who_is_not_a_member_of_this_generation() -> None:
    lab = Lab()
    ids = completing(lab)
    assert lab.code(lab.sync("stranger")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.code(lab.sync(ids[0], generation=0)) == ErrorCode.ILLEGAL_GENERATION
    assert lab.code(lab.sync(ids[0], group_id="")) == ErrorCode.INVALID_GROUP_ID
    assert lab.code(lab.sync(ids[0], group_id="other")) == ErrorCode.UNKNOWN_MEMBER_ID
    lab.leave(*ids)
    left = lab.sync(ids[0], protocol_name="range")
    assert lab.code(left) == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_assignment_is_refused_to_who_believes_in_another_protocol() -> None:
    lab = Lab()
    ids = completing(lab)
    wrong = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert lab.code(lab.sync(ids[0], protocol_name="sticky")) == wrong
    assert lab.code(lab.sync(ids[0], protocol_type="connect")) == wrong
    assert lab.code(lab.sync(ids[0], protocol_name=None)) == wrong
    assert lab.code(lab.sync(ids[0], protocol_type=None)) == wrong
    older = lab.sync(ids[0], protocol_name=None, protocol_type=None, version=4)
    assert lab.code(older) == ErrorCode.NONE


def test_while_members_join_nobody_gets_an_assignment() -> None:
    lab = Lab()
    ids = lab.stable(2)
    lab.join(ids[0])
    assert lab.code(lab.sync(ids[1])) == ErrorCode.REBALANCE_IN_PROGRESS


def test_only_the_leader_assigns() -> None:
    lab = Lab()
    ids = completing(lab)
    follower = lab.sync(ids[1], {ids[1]: b"mine"})
    assert follower not in lab.told
    leader = lab.sync(ids[0], {ids[0]: b"a", ids[1]: b"b"})
    assert [lab.synced(waiter).assignment for waiter in (leader, follower)] == [b"a", b"b"]
    again = lab.sync(ids[0], {ids[0]: b"all"})
    assert lab.synced(again).assignment == b"a"
    assert len(lab.records) == 1


def test_who_does_not_ask_for_its_assignment_in_time_is_out() -> None:
    lab = Lab()
    ids = completing(lab)
    lab.sync(ids[0], {})
    due_ms = lab.now_ms + REBALANCE_MS - DELAY_MS
    while lab.now_ms < due_ms:
        lab.later(DELAY_MS)
        for member_id in ids:
            assert lab.heartbeat(member_id) == ErrorCode.NONE
    lab.later(DELAY_MS)
    assert list(lab.group.members) == [ids[0]]
    assert lab.heartbeat(ids[0]) == ErrorCode.REBALANCE_IN_PROGRESS


# Commits.


def test_members_of_this_generation_may_commit_and_so_tell_that_they_live() -> None:
    lab = Lab()
    (only,) = lab.stable(1)
    for _ in range(3):
        lab.later(SESSION_MS - 1)
        assert lab.commit(member_id=only, generation=1) == ErrorCode.NONE
    assert lab.commit(member_id=only, generation=0) == ErrorCode.ILLEGAL_GENERATION
    assert lab.commit(member_id="stranger", generation=1) == ErrorCode.UNKNOWN_MEMBER_ID
    static = lab.commit(member_id=only, instance_id="attic", generation=1)
    assert static == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_may_commit_while_others_join_but_not_before_the_assignment() -> None:
    lab = Lab()
    ids = lab.stable(2)
    lab.join(ids[0])
    assert lab.commit(member_id=ids[1], generation=1) == ErrorCode.NONE
    lab.join(ids[1])
    assert lab.commit(member_id=ids[1], generation=1) == ErrorCode.ILLEGAL_GENERATION
    late = lab.commit(member_id=ids[1], generation=2)
    assert late == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_is_outside_of_a_group_may_commit_only_while_nobody_is_in_it() -> None:
    lab = Lab()
    assert lab.commit() == ErrorCode.NONE
    (only,) = lab.stable(1)
    assert lab.commit() == ErrorCode.UNKNOWN_MEMBER_ID
    lab.leave(only)
    assert lab.commit() == ErrorCode.NONE
    assert lab.commit(member_id=only, generation=1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_says_a_generation_of_a_group_that_is_not_there_may_not_commit() -> None:
    assert Lab().commit(member_id="m", generation=0) == ErrorCode.ILLEGAL_GENERATION


def test_a_transaction_of_an_old_client_commits_without_saying_who_it_is() -> None:
    lab = Lab()
    ids = completing(lab)
    assert lab.commit(is_transactional=True) == ErrorCode.NONE
    member = lab.commit(member_id=ids[0], generation=1, is_transactional=True)
    assert member == ErrorCode.NONE
    wrong = lab.commit(member_id=ids[0], generation=0, is_transactional=True)
    assert wrong == ErrorCode.ILLEGAL_GENERATION


def test_who_says_anything_of_itself_is_held_to_it_in_a_transaction_too() -> None:
    lab = Lab()
    (only,) = lab.stable(1)
    unknown, illegal = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
    assert lab.commit(member_id="stranger", is_transactional=True) == unknown
    assert lab.commit(instance_id="attic", is_transactional=True) == unknown
    assert lab.commit(generation=0, is_transactional=True) == unknown
    assert lab.commit(member_id=only, is_transactional=True) == illegal
    assert lab.commit(member_id=only) == illegal


def test_a_commit_of_a_transaction_is_no_sign_of_life() -> None:
    lab = Lab()
    (only,) = lab.stable(1)
    lab.later(SESSION_MS - 1)
    assert lab.commit(member_id=only, generation=1, is_transactional=True) == ErrorCode.NONE
    lab.later(1)
    assert lab.group.is_empty


# Offsets that may go.


def test_offsets_of_topics_that_consumers_read_are_in_use() -> None:
    lab = Lab()
    assert not lab.groups.topics_in_use(GROUP)
    ids = lab.stable(1, protocols=READS_ORDERS)
    assert list(lab.groups.topics_in_use(GROUP)) == ["orders"]
    lab.leave(*ids)
    assert not lab.groups.topics_in_use(GROUP)


def test_of_consumers_that_nobody_can_read_all_offsets_are_in_use() -> None:
    lab = Lab()
    lab.stable(1)
    assert "anything" in lab.groups.topics_in_use(GROUP)


def test_no_offsets_of_members_that_are_not_consumers_may_be_deleted() -> None:
    lab = Lab()
    lab.stable(1, protocol_type="connect")
    with pytest.raises(KafkaError) as refused:
        lab.groups.topics_in_use(GROUP)
    assert refused.value.code == ErrorCode.NON_EMPTY_GROUP


def test_offsets_expire_from_when_the_group_was_empty_or_when_nobody_reads_their_topic() -> None:
    lab = Lab()
    assert lab.groups.expiry(GROUP).may_expire
    ids = lab.stable(1, protocols=READS_ORDERS)
    assert list(lab.groups.expiry(GROUP).kept_topics) == ["orders"]
    lab.id_for(protocols=READS_ORDERS)
    lab.join(ids[0], protocols=READS_ORDERS)
    assert not lab.groups.expiry(GROUP).may_expire
    lab.leave(*ids)
    lab.later(SESSION_MS)
    assert lab.groups.expiry(GROUP).unused_since_ms == lab.group.state_since_ms is not None


@pytest.mark.parametrize(
    "said",
    [{}, {"protocol_type": "connect"}, {"protocols": {"range": READS_NOTHING}}],
    ids=["nobody can read it", "no consumers", "they read nothing"],
)
def test_offsets_of_members_of_which_no_topic_is_known_do_not_expire(said: dict[str, Any]) -> None:
    lab = Lab()
    lab.stable(1, **said)
    assert not lab.groups.expiry(GROUP).may_expire


def test_offsets_of_a_group_of_no_protocol_expire_from_when_each_was_committed() -> None:
    lab = Lab()
    stored = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, members=[]
    )
    lab.groups.replay(GROUP, stored)
    assert lab.groups.expiry(GROUP) == lab.groups.expiry("unknown")


def test_a_group_without_offsets_is_forgotten_once_nobody_is_in_it() -> None:
    lab = Lab()
    assert not lab.groups.offsets_gone(GROUP)
    ids = lab.stable(1)
    assert not lab.groups.offsets_gone(GROUP)
    lab.leave(*ids)
    (tombstone,) = lab.groups.offsets_gone(GROUP)
    assert tombstone == (lab.records[0][0], None)
    assert not lab.groups.knows(GROUP)
    lab.records.append(tombstone)
    assert not lab.reloaded().groups.knows(GROUP)


def test_members_of_a_loaded_group_need_not_join_anew() -> None:
    lab = Lab()
    leader, other = lab.stable(2)
    again = lab.reloaded()
    assert [again.heartbeat(member_id) for member_id in (leader, other)] == [ErrorCode.NONE] * 2
    assert again.group.is_in(GroupState.STABLE)


def test_of_a_loaded_group_that_is_too_large_all_join_anew() -> None:
    lab = Lab()
    lab.stable(3)
    lab.config = Lab(group_max_size=3).config
    assert lab.reloaded().group.is_in(GroupState.STABLE)
    lab.config = Lab(group_max_size=2).config
    assert lab.reloaded().group.is_in(GroupState.PREPARING_REBALANCE)


def test_of_groups_that_end_at_once_so_many_do_as_a_batch_has_room_for() -> None:
    lab = Lab(batch_bytes_max=600)
    for each in range(20):
        lab.join(version=3, group_id=f"group-{each}")
    lab.later(2 * DELAY_MS)
    lab.now_ms += 10 * REBALANCE_MS
    while lab.groups.next_due_ms() is not None:
        decided = lab.take(lab.groups.expire(lab.now_ms, lab.wall_ms))
        assert batch_size_bound(decided.records) <= lab.batch_bytes_max
    assert [group.is_empty for group in lab.groups.groups] == [True] * 20


def test_a_group_that_somebody_is_about_to_join_is_not_forgotten() -> None:
    lab = Lab()
    member_id = lab.id_for()
    assert not lab.groups.offsets_gone(GROUP)
    lab.join(member_id)
    assert lab.group.is_in(GroupState.PREPARING_REBALANCE)


def test_a_group_with_members_cannot_be_deleted() -> None:
    lab = Lab()
    ids = lab.stable(1)
    assert lab.groups.deletion_error(GROUP) == ErrorCode.NON_EMPTY_GROUP
    lab.leave(*ids)
    assert lab.groups.deletion_error(GROUP) == ErrorCode.NONE


def test_a_deleted_group_is_gone_with_all_its_timers_and_may_begin_anew() -> None:
    lab = Lab()
    ids = lab.stable(1)
    lab.leave(*ids)
    pending = lab.id_for()
    assert len(lab.groups.delete(GROUP)) == 1
    assert lab.groups.next_due_ms() is None
    assert lab.code(lab.join(pending)) == ErrorCode.UNKNOWN_MEMBER_ID
    lab.stable(1)
    assert lab.group.generation == 1


def test_a_group_that_the_log_never_heard_of_needs_no_tombstone() -> None:
    lab = Lab()
    lab.id_for()
    assert not lab.groups.delete(GROUP)
    assert not lab.groups.delete("unknown")


# Groups that change their protocol.


def test_a_group_that_becomes_another_one_has_a_tombstone_where_the_log_knew_it() -> None:
    lab, decision = Lab(), Decision(0, 0)
    lab.id_for()
    lab.groups.write_end(lab.group, decision)
    assert not decision.decided().records
    lab.stable(1)
    lab.groups.write_end(lab.group, decision)
    assert list(decision.decided().records) == [(lab.records[0][0], None)]


def test_who_waits_in_a_group_that_becomes_another_one_is_to_join_again() -> None:
    lab, decision = Lab(), Decision(0, 0)
    ids = completing(lab)
    waiter = lab.sync(ids[1])
    lab.groups.dissolve(lab.group, decision)
    lab.take(decision.decided())
    assert lab.code(waiter) == ErrorCode.REBALANCE_IN_PROGRESS
    assert not lab.groups.knows(GROUP)
    assert lab.groups.next_due_ms() is None


@pytest.mark.parametrize("rebalance", [False, True])
def test_a_group_that_was_another_one_is_stored_and_its_sessions_begin(*, rebalance: bool) -> None:
    lab = Lab()
    ids = lab.stable(2)
    group = lab.group
    del lab.records[:]
    lab.groups.dissolve(group, Decision(0, 0))
    decision = Decision(lab.now_ms, lab.wall_ms)
    lab.groups.adopt(group, decision, rebalance=rebalance)
    lab.take(decision.decided())
    state = GroupState.PREPARING_REBALANCE if rebalance else GroupState.STABLE
    assert lab.group.state is lab.reloaded().group.state is state
    assert lab.groups.next_due_ms() == lab.now_ms + SESSION_MS
    assert list(lab.group.members) == ids


def test_what_no_group_takes_is_refused_before_anybody_looks_for_one() -> None:
    groups = Lab().groups
    groups.check_join(JoinGroupRequest(group_id="g", session_timeout_ms=SESSION_MS))
    with pytest.raises(KafkaError, match="INVALID_GROUP_ID"):
        groups.check_join(JoinGroupRequest(group_id="", session_timeout_ms=SESSION_MS))
    with pytest.raises(KafkaError, match="INVALID_SESSION_TIMEOUT"):
        groups.check_join(JoinGroupRequest(group_id="g", session_timeout_ms=1))


TestGroupStory = GroupStory.TestCase
TestGroupStory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
