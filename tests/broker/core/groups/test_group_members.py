"""Groups of both protocols side by side, and how one takes the place of another."""

from __future__ import annotations

import pytest

from broker.core.coordination import Decided, batch_size_bound
from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.joins import Joining
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
)
from tests.broker.core.groups.consumer.lab import (
    CLASSIC_SESSION_MS,
    GROUP,
    SESSION_MS,
    Lab,
    image_with,
)

ORDERS = TopicPartition("orders", 0)


def join_classic(lab: Lab, member_id: str = "", version: int = 3) -> Decided:
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joining = Joining(1, request, version, "client", "/h", "unique")
    decided = lab.members.join(joining, lab.now_ms, lab.wall_ms)
    lab.take(decided)
    return decided


def leave_classic(lab: Lab, member_id: str) -> None:
    leaving = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=member_id)])
    lab.take(lab.members.leave(1, leaving, lab.now_ms, lab.wall_ms))


def commit_error(lab: Lab, committer: Committer) -> ErrorCode:
    try:
        lab.members.validate_commit(GROUP, committer, [ORDERS], lab.now_ms)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_what_no_group_takes_makes_none() -> None:
    lab = Lab()
    code = lab.refused("a", server_assignor="by hand")
    assert code is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert lab.members.consumer.get(GROUP) is None


def test_an_empty_classic_group_becomes_one_of_the_consumer_protocol() -> None:
    lab = Lab()
    join_classic(lab)
    leave_classic(lab, "client-unique")
    lab.later(10_000)
    assert isinstance(lab.members.get(GROUP), ClassicGroup)
    lab.beat("a")
    assert lab.group.state.value == "Stable"
    lab.restart()
    assert list(lab.group.members) == ["a"]
    assert lab.members.classic.get(GROUP) is None


def test_an_empty_group_of_the_consumer_protocol_becomes_a_classic_one() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    join_classic(lab)
    assert isinstance(lab.members.get(GROUP), ClassicGroup)
    lab.restart()
    assert lab.members.get(GROUP) is None  # Only a generation that was assigned is stored.


def test_who_only_asks_for_a_member_id_leaves_an_empty_group_for_a_classic_one() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    (answer,) = join_classic(lab, version=4).answers
    assert answer.response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert isinstance(lab.members.get(GROUP), ClassicGroup)


def test_commits_are_checked_by_the_protocol_of_the_group() -> None:
    lab = Lab()
    new = Committer(member_id="a", generation=2, has_member_epoch=True, is_transactional=False)
    old = Committer(member_id="a", generation=2, is_transactional=False)
    assert commit_error(lab, new) is ErrorCode.GROUP_ID_NOT_FOUND
    assert commit_error(lab, old) is ErrorCode.ILLEGAL_GENERATION
    assert commit_error(lab, Committer(is_transactional=False)) is ErrorCode.NONE
    lab.beat("a")
    assert commit_error(lab, new) is ErrorCode.NONE
    assert commit_error(lab, old) is ErrorCode.UNSUPPORTED_VERSION
    lab.ask("a", -1)
    assert commit_error(lab, new) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_error(lab, Committer(is_transactional=False)) is ErrorCode.NONE


def test_only_a_group_without_members_is_deleted() -> None:
    lab = Lab()
    lab.beat("a")
    assert lab.members.deletion_error(GROUP) is ErrorCode.NON_EMPTY_GROUP
    assert (list(lab.members.topics_in_use(GROUP)), list(lab.members.group_ids())) == (
        ["orders"],
        [GROUP],
    )
    assert lab.members.offsets_gone(GROUP) == ()
    lab.ask("a", -1)
    assert lab.members.deletion_error(GROUP) is ErrorCode.NONE
    assert lab.members.expiry(GROUP).may_expire
    assert len(lab.members.offsets_gone(GROUP)) == 3
    assert not lab.members.knows(GROUP)


def test_offsets_are_fetched_in_the_epoch_of_the_member() -> None:
    lab = Lab()
    lab.members.validate_fetch(GROUP, "a", 7)
    lab.beat("a")
    lab.members.validate_fetch(GROUP, "a", 2)
    with pytest.raises(KafkaError, match="STALE_MEMBER_EPOCH"):
        lab.members.validate_fetch(GROUP, "a", 1)


# Members of both protocols.


def test_a_classic_group_with_members_is_taken_over_by_who_joins_by_the_other_protocol() -> None:
    lab = Lab(image_with(orders=2))
    member_id = lab.stable_classic({"orders": [0, 1]})
    lab.beat("a")
    assert list(lab.group.members) == [member_id, "a"]
    assert lab.members.classic.get(GROUP) is None
    lab.restart()
    assert list(lab.group.members) == [member_id, "a"]
    assert lab.members.classic.get(GROUP) is None


def test_a_classic_group_that_would_not_take_who_joins_stays_as_it_is() -> None:
    lab = Lab(group_consumer_max_size=1)
    member_id = lab.stable_classic({"orders": [0]})
    written = list(lab.records)
    assert lab.refused("a") is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert lab.refused("a", 3) is ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.refused("a", -1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert lab.members.consumer.get(GROUP) is None
    assert lab.beat_classic(member_id, 1) == ErrorCode.NONE
    assert lab.leave_classic(member_id) == [ErrorCode.NONE]
    wrong = lab.refused("a", subscribed_topic_regex="[")
    assert wrong is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert isinstance(lab.members.get(GROUP), ClassicGroup)
    assert lab.records[:-1] == written


def test_a_group_whose_last_member_of_the_consumer_protocol_left_is_classic_again() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    lab.join_classic()
    lab.ask("a", -1)
    assert lab.members.consumer.get(GROUP) is None
    assert lab.members.consumer.next_due_ms() is None
    group = lab.members.classic.get(GROUP)
    assert group is not None
    assert list(group.members) == ["c"]
    assert lab.beat_classic("c", group.generation) == ErrorCode.REBALANCE_IN_PROGRESS


def test_members_of_the_classic_protocol_are_served_by_the_protocol_of_their_group() -> None:
    lab = Lab(image_with(orders=2))
    only = lab.stable_classic({"orders": [0, 1]})
    assert lab.beat_classic(only, 1) == ErrorCode.NONE
    assert lab.sync_classic(only, 1).error_code == ErrorCode.NONE
    assert lab.beat_classic("stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    lab.beat("a")
    assert lab.beat_classic(only, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    lab.join_classic(only, owned={"orders": [0]})
    assert lab.sync_classic(only, lab.group.members[only].epoch).error_code == ErrorCode.NONE
    assert lab.leave_classic("stranger") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert lab.leave_classic(only) == [ErrorCode.NONE]
    assert list(lab.group.members) == ["a"]
    for ask in (lab.beat_classic, lab.sync_classic):
        with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
            ask(only, 2)


def test_who_may_not_join_is_told_so_and_nobody_is_named() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    refused = lab.told[lab.join_classic("stranger", protocol_type="connect")]
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (refused.member_id, refused.generation_id) == ("", -1)
    with pytest.raises(KafkaError, match="INVALID_SESSION_TIMEOUT"):
        lab.join_classic(session_timeout_ms=1)
    assert list(lab.group.members) == ["a"]


def test_an_empty_group_of_the_consumer_protocol_stays_one_where_nobody_may_join() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    written = list(lab.records)
    refused = lab.told[lab.join_classic(session_timeout_ms=1)]
    assert refused.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert lab.group.is_empty
    assert lab.records == written


def test_what_the_log_would_refuse_is_refused_and_changes_nothing() -> None:
    lab = Lab()
    lab.beat("a")
    needed = batch_size_bound(lab.records)
    for room, is_taken in ((needed - 1, False), (needed, True)):
        lab = Lab()
        lab.batch_bytes_max = room
        if not is_taken:
            assert lab.refused("a") is ErrorCode.UNKNOWN_SERVER_ERROR
            assert (lab.members.get(GROUP), lab.records) == (None, [])
        else:
            assert lab.ask("a").error_code == ErrorCode.NONE


# Time.


def test_sessions_of_both_protocols_end_when_they_are_due() -> None:
    lab = Lab()
    lab.ask("a", group_id="modern")
    lab.stable_classic({"orders": [0]})
    started_ms = lab.now_ms
    assert lab.members.next_due_ms() == started_ms + CLASSIC_SESSION_MS
    lab.later(CLASSIC_SESSION_MS)
    assert lab.members.deletion_error(GROUP) is ErrorCode.NONE
    assert lab.members.next_due_ms() == SESSION_MS
    lab.later(SESSION_MS)
    assert lab.members.deletion_error("modern") is ErrorCode.NONE
    assert lab.members.next_due_ms() is None


def test_what_is_due_by_both_protocols_at_once_is_written_together() -> None:
    lab = Lab()
    lab.ask("a", group_id="modern")
    lab.stable_classic({"orders": [0]})
    lab.now_ms += SESSION_MS
    since = len(lab.records)
    lab.take(lab.members.expire(lab.now_ms, lab.wall_ms))
    assert {number for number, _, _ in lab.written(since)} == {2, 3, 5, 7, 8}
    assert {lab.members.deletion_error(each) for each in (GROUP, "modern")} == {ErrorCode.NONE}


def test_of_what_is_due_so_much_is_done_as_a_batch_has_room_for() -> None:
    lab = Lab()
    for member_id in ("a", "b", "c"):
        lab.ask(member_id, group_id="modern")
    lab.stable_classic({"orders": [0]})
    lab.now_ms += SESSION_MS
    lab.batch_bytes_max = 600
    counts: list[int] = []
    while lab.members.next_due_ms() is not None:
        decided = lab.members.expire(lab.now_ms, lab.wall_ms)
        assert batch_size_bound(decided.records) <= lab.batch_bytes_max
        counts.append(len(decided.records))
    assert len(counts) > 1
    assert all(counts)


# The log, offsets, administrators.


def test_records_of_groups_of_both_protocols_are_loaded_and_so_are_their_tombstones() -> None:
    lab = Lab()
    lab.stable_classic({"orders": [0]})
    lab.ask("a", group_id="modern")
    lab.restart()
    assert list(lab.members.group_ids()) == [GROUP, "modern"]
    assert isinstance(lab.members.get(GROUP), ClassicGroup)
    (member_id,) = lab.members.classic.groups[0].members
    lab.leave_classic(member_id)
    lab.records += lab.members.delete(GROUP)
    lab.restart()
    assert list(lab.members.group_ids()) == ["modern"]


def test_offsets_of_a_classic_group_are_kept_and_deleted_by_its_own_rules() -> None:
    lab = Lab()
    member_id = lab.stable_classic({"orders": [0]})
    lab.members.validate_fetch(GROUP, "anybody", 7)
    assert list(lab.members.topics_in_use(GROUP)) == ["orders"]
    assert list(lab.members.expiry(GROUP).kept_topics) == ["orders"]
    assert lab.members.deletion_error(GROUP) is ErrorCode.NON_EMPTY_GROUP
    assert lab.members.offsets_gone(GROUP) == ()
    lab.leave_classic(member_id)
    assert len(lab.members.delete(GROUP)) == 1
    assert not lab.members.knows(GROUP)


def test_who_commits_in_any_epoch_of_a_group_that_is_not_there_hears_that_it_is_not() -> None:
    first = Committer(member_id="a", generation=0, has_member_epoch=True, is_transactional=False)
    assert commit_error(Lab(), first) is ErrorCode.GROUP_ID_NOT_FOUND
    outside = Committer(has_member_epoch=True, is_transactional=False)
    assert commit_error(Lab(), outside) is ErrorCode.NONE
    lab = Lab()
    lab.stable_classic({"orders": [0]})
    assert commit_error(lab, first) is ErrorCode.UNKNOWN_MEMBER_ID
