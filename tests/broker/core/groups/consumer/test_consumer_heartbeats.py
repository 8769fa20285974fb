"""Who may join, go on and leave, and what each is told."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from tests.broker.core.groups.consumer.lab import GROUP, SESSION_MS, Lab, image_with, rows

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
