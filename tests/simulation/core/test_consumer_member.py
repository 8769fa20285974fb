"""A member of the consumer protocol says what Kafka's own consumer said where it was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.json_form import from_json, to_json
from protocol.messages.consumer_groups import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from simulation.core.consumer_member import ConsumerMember
from tests.golden.vectors import load_vectors

TOPIC = bytes(range(16))
VERSION = 1


def recorded(client: str) -> list[dict[str, Any]]:
    """Return a client's heartbeats and their answers, in order."""
    return [
        one
        for one in load_vectors("java_clients")
        if one["client"] == client and one["api"] == "ConsumerGroupHeartbeat"
    ]


def member(group: str = "members", member_id: str = "m") -> ConsumerMember:
    return ConsumerMember(group, member_id, ["orders"], rebalance_timeout_ms=300_000)


@pytest.mark.parametrize(("client", "count"), [("reader", 3), ("first", 7), ("second", 5)])
def test_heartbeats_are_those_of_the_java_consumer(client: str, count: int):
    exchanges = recorded(client)
    asked = exchanges[0]["request"]
    one = member(asked["groupId"], asked["memberId"])
    for number, exchange in enumerate(exchanges):
        assert exchange["version"] == VERSION
        if exchange["request"]["topicPartitions"] is not None and not one.is_settled:
            one.reconciled()  # When it does is its threads' business.
        is_last = number == len(exchanges) - 1
        request = one.leave() if is_last else one.heartbeat()
        assert to_json(request, VERSION) == exchange["request"], number
        one.answered(from_json(ConsumerGroupHeartbeatResponse, VERSION, exchange["response"]))
    assert len(exchanges) == count


def answer(
    epoch: int, *partitions: int, code: ErrorCode = ErrorCode.NONE
) -> ConsumerGroupHeartbeatResponse:
    assigned = [TopicPartitions(topic_id=TOPIC, partitions=list(partitions))]
    return ConsumerGroupHeartbeatResponse(
        error_code=code,
        member_epoch=epoch,
        heartbeat_interval_ms=1000,
        assignment=Assignment(topic_partitions=assigned) if partitions else None,
    )


def settled() -> ConsumerMember:
    one = member()
    one.heartbeat()
    one.answered(answer(3, 0, 1))
    one.reconciled()
    one.heartbeat()
    one.answered(answer(3))
    return one


def test_a_heartbeat_without_an_answer_is_followed_by_one_that_tells_all():
    one = settled()
    assert one.heartbeat().topic_partitions is None
    one.not_answered()
    again = one.heartbeat()
    assert (again.member_epoch, again.subscribed_topic_names) == (3, ("orders",))
    assert again.topic_partitions == [TopicPartitions(topic_id=TOPIC, partitions=[0, 1])]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    ],
)
def test_who_is_fenced_owns_nothing_and_joins_anew(code: ErrorCode):
    one = settled()
    one.heartbeat()
    assert one.answered(answer(0, code=code)) is code
    assert (one.owned, one.target) == ((), ())
    again = one.heartbeat()
    assert (again.member_epoch, again.topic_partitions) == (0, [])
    assert again.subscribed_topic_names == ("orders",)


def test_another_error_changes_nothing_but_what_is_told_next():
    one = settled()
    one.heartbeat()
    one.answered(answer(0, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    assert (one.epoch, one.owned) == (3, ((TOPIC, 0), (TOPIC, 1)))
    assert one.heartbeat().rebalance_timeout_ms == 300_000


def test_a_target_is_told_of_once_it_is_reached():
    one = settled()
    one.heartbeat()
    one.answered(answer(3, 0))
    assert not one.is_settled
    assert one.heartbeat().topic_partitions is None
    one.reconciled()
    assert one.heartbeat().topic_partitions == [TopicPartitions(topic_id=TOPIC, partitions=[0])]
