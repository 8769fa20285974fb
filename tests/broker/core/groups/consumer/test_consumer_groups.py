"""All groups of the consumer protocol of one shard."""

from __future__ import annotations

import pytest

from broker.core.groups.consumer.consumer_groups import existing
from protocol.errors import ErrorCode, KafkaError
from tests.broker.core.groups.consumer.lab import (
    CLASSIC_SESSION_MS,
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Lab,
    image_with,
)


def test_groups_are_told_in_the_order_in_which_they_came() -> None:
    lab = Lab()
    for group_id in ("b", "a"):
        lab.ask("m", group_id=group_id)
    assert [group.group_id for group in lab.members.consumer.groups] == ["b", "a"]
    assert lab.members.consumer.default_assignor == "uniform"


def test_the_first_assignor_that_is_configured_is_the_default() -> None:
    lab = Lab(image_with(orders=2, bills=2), group_consumer_assignors=("range",))
    assert lab.members.consumer.default_assignor == "range"


def test_offsets_of_topics_that_nobody_reads_may_expire() -> None:
    lab = Lab()
    lab.beat("a")
    rule = lab.members.consumer.expiry(lab.group)
    assert (rule.may_expire, rule.unused_since_ms, list(rule.kept_topics)) == (
        True,
        None,
        ["orders"],
    )


def test_timers_of_members_that_left_do_nothing() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    epoch = lab.group.epoch
    lab.later(SESSION_MS)
    assert lab.group.epoch == epoch
    assert lab.members.next_due_ms() is None


def test_a_group_that_is_not_there_is_said_so() -> None:
    with pytest.raises(KafkaError, match="Consumer group readers not found"):
        existing(None, GROUP)


def test_who_is_refused_for_want_of_room_in_the_log_is_alive_all_the_same() -> None:
    lab = Lab(image_with(orders=2, bills=2))
    lab.beat("a")
    lab.later(SESSION_MS - 1)
    lab.batch_bytes_max = 80
    refused = lab.refused("a", lab.epochs["a"], subscribed_topic_names=["bills"])
    assert refused is ErrorCode.UNKNOWN_SERVER_ERROR
    lab.later(SESSION_MS - 1)
    assert list(lab.group.members) == ["a"]
    lab.later(1)
    assert list(lab.group.members) == []


def test_each_member_that_is_loaded_has_the_session_of_its_protocol() -> None:
    lab = Lab()
    lab.beat("a")
    lab.join_classic()
    lab.later(CLASSIC_SESSION_MS - 1)
    lab.restart()
    lab.later(CLASSIC_SESSION_MS - 1)
    assert list(lab.group.members) == ["a", "c"]
    lab.later(1)
    assert list(lab.group.members) == ["a"]
    lab.later(SESSION_MS - CLASSIC_SESSION_MS - 1)
    assert list(lab.group.members) == ["a"]
    lab.later(1)
    assert lab.group.is_empty


def test_who_is_loaded_while_it_gives_back_has_its_whole_time_for_that() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a")
    lab.beat("b")
    lab.ask("a", 2)
    lab.later(REBALANCE_MS // 2)
    lab.restart()
    due_ms = lab.now_ms + REBALANCE_MS
    while lab.now_ms < due_ms:
        assert list(lab.group.members) == ["a", "b"]
        lab.ask("a", 2)
        lab.ask("b", 3)
        lab.later(SESSION_MS // 3)
    assert list(lab.group.members) == ["b"]


def test_sessions_of_a_group_that_was_a_classic_one_begin_and_end_as_they_did() -> None:
    lab = Lab()
    lab.stable_classic({"orders": [0]})
    lab.later(CLASSIC_SESSION_MS - 1)
    lab.beat("a")
    lab.later(CLASSIC_SESSION_MS - 1)
    assert len(lab.group.members) == 2
    lab.later(1)
    assert list(lab.group.members) == ["a"]


def test_who_was_refused_for_want_of_room_keeps_the_session_of_the_classic_protocol() -> None:
    lab = Lab()
    lab.beat("a")
    lab.join_classic()
    lab.later(CLASSIC_SESSION_MS - 1)
    lab.batch_bytes_max = 80
    assert lab.refused("c") is ErrorCode.UNKNOWN_SERVER_ERROR
    lab.batch_bytes_max = 1_000_000
    lab.later(1)
    assert list(lab.group.members) == ["a"]


def test_a_stranger_that_was_refused_for_want_of_room_has_no_session() -> None:
    lab = Lab()
    lab.beat("a")
    due_ms = lab.members.next_due_ms()
    lab.now_ms += 1
    lab.batch_bytes_max = 80
    assert lab.refused("b") is ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.members.next_due_ms() == due_ms
    lab.later(SESSION_MS)
    assert lab.members.next_due_ms() is None


def test_no_timer_is_left_of_members_whose_group_becomes_a_classic_one() -> None:
    lab = Lab()
    lab.beat("a")
    lab.join_classic()
    lab.ask("a", -1)
    assert lab.members.consumer.get(GROUP) is None
    assert lab.members.consumer.next_due_ms() is None


def test_a_group_that_is_deleted_is_not_there_and_has_a_tombstone_for_each_record() -> None:
    lab = Lab()
    lab.beat("a")
    lab.ask("a", -1)
    gone = lab.members.consumer.delete(lab.group)
    assert [value for _, value in gone] == [None] * 3
    assert lab.members.consumer.get(GROUP) is None
    assert lab.members.consumer.groups == []


def test_a_group_for_which_the_log_has_no_room_is_not_there() -> None:
    lab = Lab()
    lab.batch_bytes_max = 80
    assert lab.refused("a") is ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.members.consumer.groups == []
    assert lab.members.consumer.next_due_ms() is None
