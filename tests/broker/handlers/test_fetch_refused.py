"""Fetches that are refused as a whole."""

from __future__ import annotations

import pytest

from broker.handlers.fetch import refuse
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

ORDERS_ID = bytes(range(16))


@pytest.mark.parametrize("version", [11, 15])
def test_who_may_not_fetch_as_a_follower_is_told_so_outside_of_sessions(version: int) -> None:
    """One that need not name its partitions was told that nothing is new (seed 1045000)."""
    denied = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "not a follower")
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    topic = FetchTopic(topic="orders", topic_id=ORDERS_ID, partitions=[asked])
    request = FetchRequest(session_id=7, session_epoch=0, topics=[topic])
    response = refuse(request, version, denied)
    codes = [part.error_code for topic in response.responses for part in topic.partitions]
    assert (response.error_code, codes) == (ErrorCode.NONE, [denied.code])

    request.session_epoch, request.topics = 1, []
    assert refuse(request, version, denied).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
