"""What a follower asks its leader for."""

from __future__ import annotations

import pytest

from broker.core.follower_session import SessionRequest
from broker.engine.follow.followed import Followed
from broker.engine.follow.follower_request import FETCH_VERSION, follower_request
from protocol.messages.fetch import FetchRequest, ReplicaState
from protocol.wire.fast import codec
from protocol.wire.record import UnsupportedFieldError
from tests.broker.engine.follow.followers import SETTINGS, TOPIC_ID, FakeReplica

OTHER_ID = b"O" * 16


def followed(index: int, start: int, end: int, epoch: int) -> Followed:
    replica = FakeReplica(index)
    replica.start, replica.end, replica.epoch = start, end, epoch
    return Followed(replica, leader_epoch=7)


def test_it_names_what_the_plan_sends_with_its_position() -> None:
    ready = {(TOPIC_ID, index): followed(index, 3, 9 + index, 6) for index in (0, 1, 2)}
    plan = SessionRequest(5, 8, [(TOPIC_ID, 2), (TOPIC_ID, 0)], [])

    request = follower_request(SETTINGS, plan, ready, 120)

    assert (request.session_id, request.session_epoch) == (5, 8)
    assert request.replica_state == ReplicaState(replica_id=2, replica_epoch=7)
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (120, 1, 1 << 20)
    (topic,) = request.topics
    assert topic.topic_id == TOPIC_ID
    assert [
        (each.partition, each.log_start_offset, each.fetch_offset, each.last_fetched_epoch)
        for each in topic.partitions
    ] == [(2, 3, 11, 6), (0, 3, 9, 6)]
    assert {each.current_leader_epoch for each in topic.partitions} == {7}


def test_a_follower_reads_uncommitted_records_and_is_in_no_rack() -> None:
    request = follower_request(SETTINGS, SessionRequest(0, 0, [], []), {}, 500)
    assert (request.isolation_level, request.rack_id) == (0, "")


def test_its_version_is_the_first_that_tells_the_life_of_its_broker() -> None:
    request = follower_request(SETTINGS, SessionRequest(0, 0, [], []), {}, 500)

    form = codec(FetchRequest, FETCH_VERSION)
    decoded = form.decode(bytearray(form.encode(request)))
    assert decoded.replica_state == ReplicaState(replica_id=2, replica_epoch=7)
    with pytest.raises(UnsupportedFieldError):
        codec(FetchRequest, FETCH_VERSION - 1).encode(request)


def test_a_share_below_the_limit_is_all_that_it_asks_for() -> None:
    entry = followed(0, 0, 0, -1)
    entry.share_bytes = 10
    plan = SessionRequest(0, 0, [(TOPIC_ID, 0)], [])

    (topic,) = follower_request(SETTINGS, plan, {(TOPIC_ID, 0): entry}, 500).topics

    assert topic.partitions[0].partition_max_bytes == 10


def test_what_it_drops_is_forgotten_by_topic() -> None:
    plan = SessionRequest(5, 9, [], [(TOPIC_ID, 0), (OTHER_ID, 4), (TOPIC_ID, 1)])

    forgotten = follower_request(SETTINGS, plan, {}, 500).forgotten_topics_data

    assert [(each.topic_id, each.partitions) for each in forgotten] == [
        (TOPIC_ID, [0, 1]),
        (OTHER_ID, [4]),
    ]
