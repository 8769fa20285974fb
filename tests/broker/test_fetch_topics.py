"""Partitions of a fetch's answer: neighbours of one topic together, in the order they come in."""

from __future__ import annotations

import pytest

from broker.engine.types import FetchPart, FetchResult, LeaderHint
from broker.fetch_topics import FetchTopics
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition


def part(topic: str, index: int) -> FetchPart:
    return FetchPart(TopicPartition(topic, index), ZERO_UUID, 0, 0, -1, -1, 1000)


def test_neighbours_share_a_topic_and_what_comes_back_later_is_named_again() -> None:
    topics = FetchTopics(12)
    topics.add([(part("a", 0), FetchResult()), (part("a", 1), FetchResult())])
    topics.add([(part("b", 0), FetchResult()), (part("a", 2), FetchResult())])
    found = [(it.topic, [p.partition_index for p in it.partitions]) for it in topics.topics]
    assert found == [("a", [0, 1]), ("b", [0]), ("a", [2])]


def test_bytes_and_leaders_are_summed_up_over_all() -> None:
    topics = FetchTopics(17)
    hint = LeaderHint(3, 7)
    moved = FetchResult(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint)
    topics.add([(part("a", 0), FetchResult(records_size_bytes=5)), (part("a", 1), moved)])
    topics.add([(part("a", 2), FetchResult(records_size_bytes=6))])
    assert (topics.sent_bytes, list(topics.leaders)) == (11, [3])
    told = topics.topics[0].partitions[1].current_leader
    assert (told.leader_id, told.leader_epoch) == (3, 7)


@pytest.mark.parametrize(
    ("version", "replica_id", "release", "told"),
    [
        (16, -1, None, [3]),
        (15, -1, None, []),
        (16, 2, None, []),
        (16, 2, "4.0", []),
        (16, 2, "3.9", [3]),
    ],
)
def test_followers_are_told_by_old_releases_alone_where_leaders_are(
    version: int, replica_id: int, release: str | None, told: list[int]
) -> None:
    topics = FetchTopics(version)
    hint = LeaderHint(3, 7)
    moved = FetchResult(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint)
    topics.add([(part("a", 0), moved)])
    assert list(topics.whose_endpoints(replica_id, release)) == told


def test_a_topic_that_may_not_be_read_has_no_aborted_transactions_rather_than_null() -> None:
    topics = FetchTopics(12)
    refused = FetchResult(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    failed = FetchResult(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    topics.add([(part("a", 0), refused), (part("b", 0), failed)])
    (one,), (other,) = (each.partitions for each in topics.topics)
    assert (one.aborted_transactions, other.aborted_transactions) == ((), None)
