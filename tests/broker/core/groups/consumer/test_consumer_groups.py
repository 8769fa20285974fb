"""All groups of the consumer protocol of one shard."""

from __future__ import annotations

import pytest

from broker.core.groups.consumer.consumer_groups import existing
from protocol.errors import ErrorCode, KafkaError
from tests.broker.core.groups.consumer.lab import GROUP, SESSION_MS, Lab, image_with


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
