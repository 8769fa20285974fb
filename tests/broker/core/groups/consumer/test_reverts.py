"""A heartbeat that the log has no room for changes nothing, whatever it would have changed."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import pytest

from broker.core.groups.classic_group import ClassicGroup
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from protocol.errors import ErrorCode
from tests.broker.core.groups.consumer.lab import GROUP, SESSION_MS, Lab, tell

TOO_SMALL = 80
"""Bytes: the header of a batch and not one record."""
_SEEN = ("seen_generation", "seen_names")
"""What is looked at anew after a refusal, and stored nowhere."""


def state_of(group: ConsumerGroup) -> dict[str, Any]:
    """Return all that a group is."""
    names = [name for name in ConsumerGroup.__slots__ if name not in _SEEN]
    return {name: copy(getattr(group, name)) for name in names}


def two_members() -> Lab:
    lab = Lab()
    lab.settle("a", "b")
    return lab


def with_regex() -> Lab:
    lab = Lab()
    lab.beat("a", subscribed_topic_regex="ord.*")
    return lab


def gives_back() -> Lab:
    """``b`` came, and ``a`` has to give it something."""
    lab = Lab()
    lab.settle("a")
    lab.beat("b")
    lab.beat("a")
    return lab


def with_new_topic() -> Lab:
    lab = two_members()
    lab.beat("a", subscribed_topic_names=["orders", "bills"])
    tell(lab.image, "bills", 2)
    return lab


def with_static() -> Lab:
    lab = Lab()
    lab.beat("a", instance_id="kitchen")
    lab.ask("a", -2, instance_id="kitchen")
    return lab


REFUSED: dict[str, tuple[Callable[[], Lab], Callable[[Lab], ErrorCode]]] = {
    "joins": (two_members, lambda lab: lab.refused("c")),
    "reads another topic": (
        two_members,
        lambda lab: lab.refused("a", lab.epochs["a"], subscribed_topic_names=["bills"]),
    ),
    "has no regular expression any more": (
        with_regex,
        lambda lab: lab.refused("a", lab.epochs["a"], subscribed_topic_regex=""),
    ),
    "gave back": (
        gives_back,
        lambda lab: lab.refused("a", lab.epochs["a"], topic_partitions=[]),
    ),
    "finds a new topic": (with_new_topic, lambda lab: lab.refused("a", lab.epochs["a"])),
    "takes a place over": (with_static, lambda lab: lab.refused("b", instance_id="kitchen")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_heartbeat_that_the_log_has_no_room_for_changes_nothing(name: str) -> None:
    begin, beat = REFUSED[name]
    lab = begin()
    before, written = state_of(lab.group), len(lab.records)
    due_ms = lab.members.next_due_ms()
    lab.batch_bytes_max = TOO_SMALL
    assert beat(lab) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert state_of(lab.group) == before
    assert len(lab.records) == written
    lab.restart()
    assert state_of(lab.group) == before
    lab.batch_bytes_max = 1_048_588
    assert due_ms is not None
    lab.later(due_ms - lab.now_ms - 1)
    assert list(lab.group.members) == list(before["members"])


@pytest.mark.parametrize("name", REFUSED)
def test_who_was_refused_goes_on_once_there_is_room(name: str) -> None:
    begin, beat = REFUSED[name]
    lab, other = begin(), begin()
    lab.batch_bytes_max = TOO_SMALL
    beat(lab)
    lab.batch_bytes_max = 1_048_588
    for each in (lab, other):
        with pytest.raises(AssertionError, match="it was taken"):
            beat(each)
    assert state_of(lab.group) == state_of(other.group)


def test_a_group_that_could_not_begin_is_not_there() -> None:
    lab = Lab()
    lab.batch_bytes_max = TOO_SMALL
    assert lab.refused("a") is ErrorCode.UNKNOWN_SERVER_ERROR
    assert lab.members.get(GROUP) is None
    assert lab.members.next_due_ms() is None


def test_a_silent_member_is_removed_though_another_one_is_refused_again_and_again() -> None:
    lab = two_members()
    for _ in range(3):
        lab.later(SESSION_MS // 3 - 1)
        lab.batch_bytes_max = TOO_SMALL
        lab.refused("a", lab.epochs["a"], subscribed_topic_names=["bills"])
        lab.batch_bytes_max = 1_048_588
    lab.later(SESSION_MS // 3)
    assert list(lab.group.members) == ["a"]


def test_who_has_to_give_partitions_back_has_no_more_time_for_it_by_being_refused() -> None:
    lab = gives_back()
    assert lab.owned["a"] != {}
    for _ in range(4):
        lab.later(14_000)
        lab.beat("b")
        lab.batch_bytes_max = TOO_SMALL
        lab.refused("a", lab.epochs["a"], subscribed_topic_names=["bills"])
        lab.batch_bytes_max = 1_048_588
    lab.later(14_000)
    assert list(lab.group.members) == ["b"]


def test_a_classic_group_stays_one_when_its_upgrade_does_not_fit() -> None:
    lab = Lab()
    member_id = lab.stable_classic({"orders": [0, 1, 2, 3]})
    written = len(lab.records)
    lab.batch_bytes_max = TOO_SMALL
    assert lab.refused("a") is ErrorCode.UNKNOWN_SERVER_ERROR
    assert isinstance(lab.members.get(GROUP), ClassicGroup)
    assert lab.beat_classic(member_id, 1) == ErrorCode.NONE
    assert len(lab.records) == written
    assert lab.members.consumer.next_due_ms() is None
    lab.batch_bytes_max = 1_048_588
    lab.beat("a")
    assert list(lab.group.members) == [member_id, "a"]
