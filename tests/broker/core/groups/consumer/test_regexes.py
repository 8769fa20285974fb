"""Regular expressions that members subscribe with."""

from __future__ import annotations

from broker.core.groups.topic_patterns import REFRESH_INTERVAL_MS_MIN
from protocol.errors import ErrorCode
from tests.broker.core.groups.consumer.lab import Lab, image_with, tell


def lab_with_regex() -> Lab:
    lab = Lab(image_with(logs1=1, other=1))
    assert lab.beat("a", subscribed_topic_regex="logs.*") == {"logs1": [0]}
    return lab


def test_the_topics_that_it_finds_are_assigned_at_once_and_stored() -> None:
    lab = lab_with_regex()
    assert [number for number, _, _ in lab.written()] == [5, 16, 3, 7, 6, 8]
    _, key, value = lab.written()[1]
    assert (key.regular_expression, value.topics) == ("logs.*", ["logs1"])


def test_topics_that_come_later_are_found_when_the_last_look_is_old_enough() -> None:
    lab = lab_with_regex()
    tell(lab.image, "logs2", 1)
    assert lab.beat("a") == {"logs1": [0]}
    lab.later(REFRESH_INTERVAL_MS_MIN + 1)
    assert lab.beat("a") == {"logs1": [0], "logs2": [0]}


def test_topics_that_are_deleted_are_taken_away_at_once() -> None:
    lab = lab_with_regex()
    tell(lab.image, "logs1", 1, leader=-2)
    assert lab.beat("a") == {}


def test_a_second_member_shares_what_was_found() -> None:
    lab = Lab(image_with(logs1=2))
    for member_id in ("a", "b"):
        lab.beat(member_id, subscribed_topic_regex="logs.*")
    lab.settle("a", "b")
    assert lab.owned == {"a": {"logs1": [0]}, "b": {"logs1": [1]}}


def test_one_that_nobody_uses_any_more_is_forgotten() -> None:
    lab = lab_with_regex()
    lab.beat("a", subscribed_topic_regex="other.*")
    assert list(lab.group.regexes) == ["other.*"]
    assert lab.beat("a") == {"other": [0]}
    lab.ask("a", -1)
    assert lab.group.regexes == {}
    assert lab.group.topics() == []


def test_names_and_a_regular_expression_add_up() -> None:
    lab = lab_with_regex()
    assert lab.beat("a", subscribed_topic_names=["other"]) == {"logs1": [0], "other": [0]}
    assert lab.beat("a", subscribed_topic_regex="") == {"other": [0]}


def test_another_coordinator_knows_what_was_found() -> None:
    lab = lab_with_regex()
    before = lab.group.topics()
    lab.restart()
    assert lab.group.topics() == before == ["logs1"]
    lab.beat("a")
    assert lab.group.epoch == 2


def test_a_refused_change_leaves_the_member_as_it_was() -> None:
    lab = lab_with_regex()
    assert lab.refused("a", 2, subscribed_topic_regex="[") is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert lab.beat("a") == {"logs1": [0]}
