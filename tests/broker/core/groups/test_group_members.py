"""Groups of both protocols side by side, and how one takes the place of another."""

from __future__ import annotations

import pytest

from broker.core.coordination import Decided
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
from tests.broker.core.groups.consumer.lab import GROUP, Lab

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
