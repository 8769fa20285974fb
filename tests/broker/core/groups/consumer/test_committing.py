"""Who may commit and fetch offsets of a group of the consumer protocol."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.groups.consumer.committing import commit_error, fetch_error
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.consumer.consumer_member import ConsumerMember
from broker.core.groups.consumer.known_topics import KnownTopics
from broker.core.groups.membership import Committer
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.consumer_group_records import ClassicMemberMetadata
from tests.broker.core.groups.consumer.lab import GROUP, image_with, topic_id

NONE, STALE = ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH
ILLEGAL, UNKNOWN = ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID
ORDERS = TopicPartition("orders", 0)
TOPICS = KnownTopics(image_with(orders=3))
MEMBER = ConsumerMember(
    member_id="a",
    epoch=5,
    assigned={topic_id("orders"): {0: 3, 1: 5}},
    revoking={topic_id("orders"): {2: 4}},
)
CLASSIC = replace(
    MEMBER, classic=ClassicMemberMetadata(session_timeout_ms=1, supported_protocols=[])
)
NEW = Committer(has_member_epoch=True, is_transactional=False)


def group_with(member: ConsumerMember = MEMBER) -> ConsumerGroup:
    group = ConsumerGroup(GROUP)
    group.put(member)
    return group


def error(committer: Committer, *indexes: int, member: ConsumerMember = MEMBER) -> ErrorCode:
    tps = [TopicPartition("orders", index) for index in indexes]
    return commit_error(group_with(member), committer, tps, TOPICS)


@pytest.mark.parametrize(
    ("epoch", "index", "code"),
    [
        *((5, 0, NONE), (5, 9, NONE), (6, 0, STALE)),
        *((4, 0, NONE), (3, 0, NONE), (2, 0, STALE), (4, 1, STALE), (4, 2, NONE), (4, 9, STALE)),
    ],
)
def test_an_earlier_epoch_is_good_for_what_the_member_has_had_since(
    epoch: int, index: int, code: ErrorCode
) -> None:
    assert error(replace(NEW, member_id="a", generation=epoch), index) is code
    classic = replace(NEW, member_id="a", generation=epoch)
    expected = ILLEGAL if code is STALE else code
    assert error(classic, index, member=CLASSIC) is expected
    assert error(replace(classic, is_transactional=True), index) is expected


def test_one_partition_of_others_refuses_the_whole_commit() -> None:
    assert error(replace(NEW, member_id="a", generation=4), 0, 1) is STALE


def test_who_is_no_member_may_commit_while_there_is_none() -> None:
    assert error(NEW, 0) is UNKNOWN
    assert error(replace(NEW, member_id="b", generation=5), 0) is UNKNOWN
    assert commit_error(ConsumerGroup(GROUP), NEW, [ORDERS], TOPICS) is NONE
    stranger = replace(NEW, generation=1)
    assert commit_error(ConsumerGroup(GROUP), stranger, [ORDERS], TOPICS) is UNKNOWN


def test_a_transaction_need_not_say_whose_it_is() -> None:
    assert error(replace(NEW, is_transactional=True), 0) is NONE
    assert error(replace(NEW, is_transactional=True, member_id="b"), 0) is UNKNOWN


def test_members_of_the_new_protocol_commit_with_versions_that_know_it() -> None:
    old = Committer(member_id="a", generation=5, is_transactional=False)
    assert error(old, 0) is ErrorCode.UNSUPPORTED_VERSION
    assert error(old, 0, member=CLASSIC) is NONE
    assert error(replace(old, is_transactional=True), 0) is NONE


def test_offsets_are_fetched_by_members_in_their_epoch_and_by_who_says_nothing() -> None:
    group = group_with()
    asked = [(None, -1), ("a", 5), ("a", 4), ("b", 5), (None, 5), (None, 0)]
    found = [fetch_error(group, member_id, epoch) for member_id, epoch in asked]
    assert found == [NONE, NONE, STALE, UNKNOWN, UNKNOWN, UNKNOWN]
    assert fetch_error(group_with(CLASSIC), "a", 4) is ILLEGAL
