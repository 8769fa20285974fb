"""Who may join, go on and leave, and what each is told."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages import consumer_group_records as messages
from tests.broker.core.groups.consumer.lab import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    Lab,
    image_with,
    rows,
    tell,
    topic_id,
)

INVALID = ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("member_id", "epoch", "said", "code"),
    [
        ("", 0, {}, INVALID),
        ("", 1, {"version": 0}, INVALID),
        ("", -1, {"version": 0}, INVALID),
        ("a", 0, {"group_id": ""}, INVALID),
        ("a", 0, {"instance_id": ""}, INVALID),
        ("a", 0, {"rack_id": ""}, INVALID),
        ("a", 0, {"rebalance_timeout_ms": -1}, INVALID),
        ("a", 0, {"topic_partitions": None}, INVALID),
        ("a", 0, {"topic_partitions": rows({"orders": [0]})}, INVALID),
        ("a", 0, {"subscribed_topic_names": None}, INVALID),
        ("a", -2, {}, INVALID),
        ("a", -3, {}, INVALID),
        ("a", 0, {"server_assignor": "mine"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ("a", 0, {"subscribed_topic_regex": "["}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ("a", 1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
        ("a", -1, {}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
def test_what_no_group_takes_is_refused_and_leaves_no_group(
    member_id: str, epoch: int, said: dict[str, Any], code: ErrorCode
) -> None:
    lab = Lab()
    assert lab.refused(member_id, epoch, **said) is code
    assert (lab.members.get(GROUP), lab.records) == (None, [])


def test_a_member_of_version_0_gets_an_id() -> None:
    lab = Lab()
    assert lab.ask("", 0, version=0).member_id == "unique"
    assert list(lab.group.members) == ["unique"]


def test_a_first_answer_tells_epoch_interval_and_assignment() -> None:
    lab = Lab(image_with(orders=1))
    told = lab.ask("a")
    assert (told.error_code, told.member_id, told.member_epoch) == (ErrorCode.NONE, "a", 2)
    assert told.heartbeat_interval_ms == 5_000
    assert told.assignment is not None
    assert [list(row.partitions) for row in told.assignment.topic_partitions] == [[0]]


def test_an_assignment_is_told_when_it_changed_or_when_everything_is_said() -> None:
    lab = Lab(image_with(orders=1))
    lab.ask("a")
    assert lab.ask("a", 2).assignment is None
    full: dict[str, Any] = {
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": rows({"orders": [0]}),
    }
    assert lab.ask("a", 2, **full).assignment is not None


def test_a_member_of_another_epoch_is_fenced_but_when_its_answer_was_lost() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a")
    epoch = lab.epochs["a"]
    fenced = ErrorCode.FENCED_MEMBER_EPOCH
    assert lab.refused("a", epoch + 1) is fenced
    assert lab.refused("a", epoch - 1) is fenced
    lab.ask("b")
    lab.settle("a")
    assert lab.epochs["a"] == 3
    assert lab.refused("a", 2) is fenced
    assert lab.refused("a", 2, topic_partitions=rows({"orders": [0, 1]})) is fenced
    assert lab.ask("a", 2, topic_partitions=rows({"orders": [0]})).member_epoch == 3


def test_who_was_fenced_joins_again_with_its_id() -> None:
    lab = Lab(image_with(orders=2))
    lab.settle("a", "b")
    told = lab.ask("a")
    assert told.member_epoch == lab.group.epoch
    assert list(lab.group.members) == ["a", "b"]


def test_strangers_are_unknown() -> None:
    lab = Lab()
    lab.beat("a")
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert lab.refused("b", 2) is unknown
    assert lab.refused("b", -1) is unknown
    assert lab.refused("b", 2, instance_id="desk") is unknown
    assert lab.refused("b", -2, instance_id="desk") is unknown


def test_a_group_takes_no_more_members_than_it_may_have() -> None:
    lab = Lab(group_consumer_max_size=1)
    lab.beat("a")
    assert lab.refused("b") is ErrorCode.GROUP_MAX_SIZE_REACHED
    lab.beat("a")
    assert lab.ask("a").error_code == ErrorCode.NONE


def test_another_subscription_begins_an_epoch() -> None:
    lab = Lab(image_with(orders=1, bills=1))
    lab.beat("a")
    assert lab.beat("a", subscribed_topic_names=["bills"]) == {}
    assert lab.beat("a") == {"bills": [0]}
    assert lab.group.epoch == 3


def test_a_member_may_read_nothing() -> None:
    lab = Lab()
    assert lab.beat("a", subscribed_topic_names=[]) == {}
    assert lab.group.state.value == "Stable"


def test_a_static_member_that_is_away_comes_back_to_its_partitions_with_another_id() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a", instance_id="desk")
    lab.beat("b")
    lab.settle("b")
    for _ in range(2):
        lab.beat("a", instance_id="desk")
        lab.beat("b")
    had, epoch = lab.owned["a"], lab.group.epoch
    told = lab.ask("a", -2, instance_id="desk")
    assert (told.member_id, told.member_epoch) == ("a", -2)
    lab.settle("b")
    assert lab.beat("c", instance_id="desk") == had
    assert (lab.epochs["c"], lab.group.epoch) == (epoch, epoch)
    assert list(lab.group.members) == ["b", "c"]


def test_a_static_member_that_stays_away_is_removed() -> None:
    lab = Lab()
    lab.beat("a", instance_id="desk")
    lab.ask("a", -2, instance_id="desk")
    lab.later(SESSION_MS)
    assert lab.group.is_empty


def test_an_instance_id_is_for_one_member_at_a_time() -> None:
    lab = Lab()
    lab.beat("a", instance_id="desk")
    assert lab.refused("b", instance_id="desk") is ErrorCode.UNRELEASED_INSTANCE_ID
    assert lab.refused("b", 2, instance_id="desk") is ErrorCode.FENCED_INSTANCE_ID
    assert lab.refused("b", -1, instance_id="desk") is ErrorCode.FENCED_INSTANCE_ID
    lab.ask("a", -1, instance_id="desk")
    assert lab.ask("b", instance_id="desk").error_code == ErrorCode.NONE


def test_the_replaced_member_of_an_instance_id_is_fenced() -> None:
    lab = Lab()
    lab.beat("a", instance_id="desk")
    lab.ask("a", -2, instance_id="desk")
    lab.beat("b", instance_id="desk")
    assert lab.refused("a", 2, instance_id="desk") is ErrorCode.FENCED_INSTANCE_ID
    assert lab.refused("a", 2) is ErrorCode.UNKNOWN_MEMBER_ID


EVERYTHING: dict[str, Any] = {
    "rebalance_timeout_ms": REBALANCE_MS,
    "subscribed_topic_names": ["orders"],
    "topic_partitions": rows({"orders": [0]}),
}


@pytest.mark.parametrize(
    ("said", "is_told"),
    [
        ({}, True),
        ({"rebalance_timeout_ms": -1}, False),
        ({"subscribed_topic_names": None}, False),
        ({"topic_partitions": None}, False),
        ({"subscribed_topic_names": None, "subscribed_topic_regex": ""}, True),
    ],
)
def test_who_lost_an_answer_says_everything_and_is_told_what_it_has(
    said: dict[str, Any], *, is_told: bool
) -> None:
    lab = Lab(image_with(orders=1))
    lab.ask("a")
    told = lab.ask("a", 2, **{**EVERYTHING, **said})
    assert (told.assignment is not None) is is_told


def test_what_a_member_does_not_say_again_stays_as_it_said_it() -> None:
    lab = Lab(image_with(orders=1), group_consumer_assignors=("uniform", "range"))
    lab.ask("a", instance_id="desk", rack_id="r1", server_assignor="range")
    before = lab.group.members["a"]
    lab.ask("a", 2, instance_id="desk")
    assert lab.group.members["a"] == before
    assert (before.rack_id, before.assignor, before.topics) == ("r1", "range", {"orders"})
    assert before.rebalance_timeout_ms == REBALANCE_MS
    lab.ask("a", 2, instance_id="desk", rack_id="r2", rebalance_timeout_ms=5)
    after = lab.group.members["a"]
    assert (after.rack_id, after.rebalance_timeout_ms) == ("r2", 5)
    assert [number for number, _, _ in lab.written()][-1] == 5


def test_topics_that_a_member_reads_no_more_are_given_back_before_a_new_assignment() -> None:
    lab = Lab(image_with(orders=1, bills=1), group_consumer_assignment_interval_ms=1_000)
    lab.beat("a", subscribed_topic_names=["orders", "bills"])
    assert lab.beat("a", subscribed_topic_names=["bills"]) == {"bills": [0]}
    assert lab.group.epoch > lab.group.assignment_epoch


def test_topics_of_a_regular_expression_that_is_gone_are_given_back_at_once() -> None:
    lab = Lab(image_with(orders=1, bills=1), group_consumer_assignment_interval_ms=1_000)
    names, regex = ["bills"], "ord.*"
    has = lab.beat("a", subscribed_topic_names=names, subscribed_topic_regex=regex)
    assert has == {"bills": [0], "orders": [0]}
    assert lab.beat("a", subscribed_topic_regex="") == {"bills": [0]}
    assert lab.group.regexes == {}
    assert lab.group.epoch > lab.group.assignment_epoch


def test_a_regular_expression_that_stays_is_no_change_and_another_one_is() -> None:
    lab = Lab(image_with(orders=1, bills=1))
    lab.beat("a", subscribed_topic_regex="ord.*")
    epoch, regexes = lab.group.epoch, dict(lab.group.regexes)
    written = len(lab.written())
    lab.beat("a")
    lab.beat("a", subscribed_topic_regex="ord.*")
    assert (lab.group.epoch, lab.group.regexes, len(lab.written())) == (epoch, regexes, written)
    assert lab.beat("a", subscribed_topic_regex="bil.*") == {}
    assert lab.group.epoch > epoch


def test_a_member_by_names_and_one_by_regular_expression_alone_may_join() -> None:
    lab = Lab(image_with(orders=1))
    told = lab.ask("a", subscribed_topic_names=["orders"], subscribed_topic_regex=None)
    assert told.error_code == ErrorCode.NONE
    told = lab.ask("b", subscribed_topic_names=None, subscribed_topic_regex="ord.*")
    assert told.error_code == ErrorCode.NONE


def test_who_leaves_by_version_0_says_who_it_is() -> None:
    lab = Lab(image_with(orders=1))
    lab.ask("a", version=0)
    assert lab.refused("", 2, version=0) is INVALID
    assert lab.ask("a", 2, version=0).member_epoch == 2
    assert lab.ask("a", -1, version=0).member_epoch == -1
    assert lab.group.is_empty


def test_a_member_that_a_later_release_left_behind_has_to_own_nothing() -> None:
    lab = Lab(image_with(orders=1))
    lab.beat("a")
    key = messages.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="a")
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=2,
        previous_member_epoch=0,
        state=99,
        assigned_partitions=[],
        partitions_pending_revocation=[],
    )
    lab.members.consumer.replay(key, value)
    assert lab.refused("a", 2) is ErrorCode.FENCED_MEMBER_EPOCH
    owned = rows({"orders": [0]})
    assert lab.refused("a", 2, topic_partitions=owned) is ErrorCode.FENCED_MEMBER_EPOCH
    assert lab.ask("a", 2, topic_partitions=[]).member_epoch == 2


def test_a_regular_expression_that_the_group_has_is_not_looked_at_again() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a", subscribed_topic_regex="ord.*")
    assert lab.ask("b", subscribed_topic_regex="ord.*").error_code == ErrorCode.NONE
    assert lab.refused("c", subscribed_topic_regex="*") is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert lab.ask("c", subscribed_topic_regex="").error_code == ErrorCode.NONE


def test_the_session_of_who_was_replaced_is_not_that_of_who_came_for_it() -> None:
    lab = Lab(image_with(orders=1))
    lab.beat("a", instance_id="desk")
    lab.later(SESSION_MS - 1)
    lab.ask("a", -2, instance_id="desk")
    lab.beat("b", instance_id="desk")
    assert lab.members.next_due_ms() == lab.now_ms + SESSION_MS
    lab.later(SESSION_MS - 1)
    assert list(lab.group.members) == ["b"]


def test_a_static_member_that_is_away_keeps_what_it_has_and_gives_nothing_back() -> None:
    lab = Lab(image_with(orders=2))
    lab.beat("a", instance_id="desk")
    lab.beat("b")
    lab.ask("a", 2, instance_id="desk")
    revoking = lab.group.members["a"].revoking
    assert revoking
    lab.ask("a", -2, instance_id="desk")
    away = lab.group.members["a"]
    (kept,) = away.assigned[topic_id("orders")]
    assert (away.epoch, away.revoking) == (-2, {})
    assert away.assigned == {topic_id("orders"): {kept: 0}}
    assert lab.group.is_owned(topic_id("orders"), kept)
    assert not lab.group.is_owned(topic_id("orders"), 1 - kept)


def test_who_is_away_for_a_while_is_a_static_member() -> None:
    lab = Lab(image_with(orders=1))
    lab.beat("a", instance_id="desk")
    assert lab.ask("a", -1, instance_id="desk").member_epoch == -1
    assert lab.group.is_empty


def test_a_static_member_goes_on_and_joins_again_with_its_own_id() -> None:
    lab = Lab(image_with(orders=1))
    lab.beat("a", instance_id="desk")
    assert lab.beat("a", instance_id="desk") == {"orders": [0]}
    lab.ask("a", -2, instance_id="desk")
    epoch = lab.group.epoch
    told = lab.ask("a", instance_id="desk")
    assert (told.member_epoch, list(lab.group.members)) == (epoch, ["a"])


def test_a_first_heartbeat_after_new_partitions_tells_of_them() -> None:
    lab = Lab(image_with(orders=1))
    lab.ask("a")
    tell(lab.image, "orders", 2)
    told = lab.ask("a", 2)
    assert told.assignment is not None
    assert told.member_epoch == 3
