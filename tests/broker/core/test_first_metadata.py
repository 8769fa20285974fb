"""Who waits for the first UpdateMetadata, how many, and how long."""

from __future__ import annotations

import pytest

from broker.core.first_metadata import FirstMetadata, needs_metadata
from broker.handlers import HANDLERS
from protocol.apis import APIS
from protocol.messages.fetch import FetchRequest, ReplicaState
from protocol.messages.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest

CONSUMER, DEBUGGING, FOLLOWER = -1, -2, 0
OF_EVERYBODY = {"ApiVersions", "LeaderAndIsr", "UpdateMetadata", "StopReplica"}


@pytest.mark.parametrize("key", sorted(HANDLERS))
def test_only_api_versions_and_controllers_requests_never_wait(key: int) -> None:
    api = APIS[key]
    request = api.request()
    if isinstance(request, ListOffsetsRequest):
        request.replica_id = CONSUMER
    assert needs_metadata(request) is (api.name not in OF_EVERYBODY)


@pytest.mark.parametrize(
    ("replica_id", "waits"), [(CONSUMER, True), (DEBUGGING, True), (FOLLOWER, False)]
)
def test_followers_do_not_wait_where_consumers_do(replica_id: int, waits: bool) -> None:
    old_fetch = FetchRequest(replica_id=replica_id)
    fetch = FetchRequest(replica_state=ReplicaState(replica_id=replica_id))
    offsets = ListOffsetsRequest(replica_id=replica_id)
    end_of_epoch = OffsetForLeaderEpochRequest(replica_id=replica_id)
    for request in (old_fetch, fetch, offsets, end_of_epoch):
        assert needs_metadata(request) is waits, request


def test_a_request_waits_for_its_time_counted_from_when_it_came() -> None:
    rule = FirstMetadata()
    first = rule.take(10, now_ms=1_000, timeout_ms=30_000)
    second = rule.take(10, now_ms=2_500, timeout_ms=500)
    assert first is not None
    assert second is not None
    assert (rule.until_ms(first), rule.until_ms(second)) == (31_000, 3_000)


def test_no_more_than_so_many_requests_wait() -> None:
    rule = FirstMetadata(requests_max=2)
    numbers = [rule.take(1, now_ms=0, timeout_ms=1) for _ in range(3)]
    assert numbers == [1, 2, None]
    rule.leave(1)
    assert rule.take(1, now_ms=0, timeout_ms=1) == 3
    assert len(rule) == 2


def test_no_more_than_so_many_bytes_wait_what_came_behind_them_included() -> None:
    rule = FirstMetadata(bytes_max=100)
    assert rule.take(101, now_ms=0, timeout_ms=1) is None
    number = rule.take(60, now_ms=0, timeout_ms=1)
    assert number is not None
    assert rule.grow(number, 40)
    assert not rule.grow(number, 1)
    assert rule.take(1, now_ms=0, timeout_ms=1) is None

    rule.leave(number)
    rule.leave(number)
    assert rule.size_bytes == 0
    assert rule.take(100, now_ms=0, timeout_ms=1) is not None


def test_a_broker_lets_2000_requests_and_64_mib_wait() -> None:
    rule = FirstMetadata()
    assert None not in [rule.take(1, now_ms=0, timeout_ms=1) for _ in range(2_000)]
    assert rule.take(1, now_ms=0, timeout_ms=1) is None
    rule = FirstMetadata()
    first = rule.take(64 << 20, now_ms=0, timeout_ms=1)
    assert first is not None
    assert rule.take(1, now_ms=0, timeout_ms=1) is None
    assert not rule.is_known
