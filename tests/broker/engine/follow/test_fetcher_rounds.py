"""The rounds of a fetch loop: disks that it waits for, partitions that leave, and back-offs."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from broker.core.log_dirs import LogDirFailed
from protocol.errors import ErrorCode
from protocol.messages.fetch import EpochEndOffset, FetchRequest, FetchResponse
from tests.broker.engine.follow.followers import FakeReplica, Loops, answer

BACK_OFFS_S = [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 1]
ROUND_TRIP_S = 0.001


def asked(request: FetchRequest) -> list[int]:
    return [part.partition for topic in request.topics for part in topic.partitions]


def forgotten(loops: Loops) -> list[int]:
    """Return what was taken out of the session by now."""
    return [
        index
        for _, request in loops.leader.fetches
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]


def now_s() -> float:
    return asyncio.get_running_loop().time()


def ended_in(seconds: float) -> asyncio.Future[None]:
    loop = asyncio.get_running_loop()
    work: asyncio.Future[None] = loop.create_future()
    loop.call_later(seconds, work.set_result, None)
    return work


async def following(loops: Loops, *replicas: FakeReplica) -> None:
    """Follow partitions until their first fetch waits at the leader."""
    for replica in replicas:
        loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.0025)
    assert len(loops.leader.fetches) == 1


async def test_each_round_waits_for_its_disks(loops: Loops) -> None:
    replica = FakeReplica()

    def work() -> None:
        replica.work = ended_in(0.012)

    loops.leader.on_fetch = work
    loops.leader.script = [answer(records=b"x")] * 20
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.5)
    assert len(replica.appended) == 20
    assert forgotten(loops) == []


async def test_a_round_waits_for_the_slowest_of_its_disks(loops: Loops) -> None:
    quick, slow = FakeReplica(0), FakeReplica(1)
    loops.leader.script = [
        lambda request: FetchResponse(
            session_id=5,
            responses=[
                *answer(0, records=b"x")(request).responses,
                *answer(1, records=b"x")(request).responses,
            ],
        )
    ]
    quick.work, slow.work = ended_in(0.01), ended_in(0.03)
    for replica in (quick, slow):
        loops.fetcher.follow(replica, 0)
        replica.reconcile = lambda _answer: (None, True)  # type: ignore[method-assign]
    await asyncio.sleep(0.1)
    assert [asked(request) for _, request in loops.leader.fetches] == [[0, 1], [0, 1]]
    assert forgotten(loops) == []
    first, second = [at for at, _ in loops.leader.fetches]
    assert second - first == pytest.approx(0.03, abs=0.003)


async def test_a_disk_that_hangs_is_waited_for_50_ms_and_polls_of_50_ms_follow(
    loops: Loops,
) -> None:
    slow, quick = FakeReplica(0), FakeReplica(1)
    loops.leader.script = [answer(0, records=b"x")]
    loops.leader.on_fetch = lambda: setattr(slow, "work", asyncio.Future())
    for replica in (slow, quick):
        loops.fetcher.follow(replica, 0)
    await asyncio.sleep(1)
    times = [at for at, _ in loops.leader.fetches]
    assert times[1] - times[0] == pytest.approx(0.05 + ROUND_TRIP_S)
    assert [request.max_wait_ms for _, request in loops.leader.fetches[1:]] == [50] * len(times[1:])
    assert len(times) > 10


async def test_a_disk_that_ends_late_ends_no_later_round(loops: Loops) -> None:
    late, busy = FakeReplica(0), FakeReplica(1)
    loops.leader.script = [answer(0, records=b"x"), answer(1, records=b"x")]
    for replica in (late, busy):
        loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.0015)
    late.work = work = asyncio.get_running_loop().create_future()
    while len(loops.leader.fetches) < 2:  # noqa: ASYNC110 -- a fake leader has no event for it
        await asyncio.sleep(0.0005)
    busy.work = ended_in(0.03)
    asyncio.get_running_loop().call_later(0.01, work.set_result, None)
    await asyncio.sleep(0.1)
    assert busy.appended
    assert forgotten(loops) == [0], "the busy one stays in the session"


async def test_a_partition_whose_append_fails_on_the_disk_is_set_aside(loops: Loops) -> None:
    replica = FakeReplica()
    await following(loops, replica)
    replica.work = work = asyncio.get_running_loop().create_future()
    loops.leader.script = [answer(records=b"x")]
    await asyncio.sleep(1)
    assert replica.appended
    work.set_exception(LogDirFailed("/d", "append", OSError("broken")))
    await asyncio.sleep(1)
    assert loops.fetcher.failed_count == 1


async def test_a_partition_whose_append_was_cancelled_goes_on(loops: Loops) -> None:
    replica = FakeReplica()
    await following(loops, replica)
    replica.work = work = asyncio.get_running_loop().create_future()
    loops.leader.script = [answer(records=b"x")]
    await asyncio.sleep(1)
    work.cancel()
    replica.work = None
    count = len(loops.leader.fetches)
    await asyncio.sleep(1)
    assert loops.fetcher.failed_count == 0
    assert [0] in [asked(request) for _, request in loops.leader.fetches[count:]]


async def test_what_is_followed_no_more_is_not_fetched_once_its_disk_is_done(loops: Loops) -> None:
    gone, stays = FakeReplica(0), FakeReplica(1)
    await following(loops, gone, stays)
    gone.work = work = asyncio.get_running_loop().create_future()
    loops.leader.script = [answer(0, records=b"x")]
    await asyncio.sleep(1)
    loops.fetcher.unfollow(gone)
    count = len(loops.leader.fetches)
    work.set_result(None)
    await asyncio.sleep(2)
    assert [asked(r) for _, r in loops.leader.fetches[count:] if asked(r)] == []


async def test_a_partition_that_is_followed_anew_is_fetched_once_its_new_leader_has_answered(
    loops: Loops,
) -> None:
    replica, other = FakeReplica(0), FakeReplica(1)
    await following(loops, replica, other)
    loops.leader.epoch_code = ErrorCode.UNKNOWN_LEADER_EPOCH
    loops.fetcher.follow(replica, 1)
    await asyncio.sleep(3)
    assert forgotten(loops) == [0]
    count = len(loops.leader.epoch_requests)
    loops.leader.epoch_code = ErrorCode.NONE
    await asyncio.sleep(3)
    assert len(loops.leader.epoch_requests) == count + 1
    assert asked(loops.leader.fetches[-1][1]) == []
    assert len(loops.fetcher) == 2
    assert loops.fetcher.unsettled == []


async def test_a_partition_that_is_followed_anew_is_asked_about_as_of_its_new_epoch_alone(
    loops: Loops,
) -> None:
    replica = FakeReplica()
    loops.leader.script = [answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.0035)
    loops.fetcher.follow(replica, 1)
    await asyncio.sleep(0.005)
    count = len(loops.leader.epoch_requests)
    await asyncio.sleep(1)
    assert len(loops.leader.epoch_requests) == count
    epochs = [
        part.current_leader_epoch
        for _, request in loops.leader.fetches
        for topic in request.topics
        for part in topic.partitions
    ]
    assert epochs == [0, 1]


async def test_an_offset_out_of_range_has_the_leaders_range_asked_for(loops: Loops) -> None:
    replica = FakeReplica()
    loops.leader.script = [answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(1)
    assert replica.ranges == [(10, 20)]


@pytest.mark.parametrize("end_offset", [0, 2])
async def test_a_log_that_parts_from_the_leaders_is_cut_and_no_success(
    loops: Loops, end_offset: int
) -> None:
    def parted(request: FetchRequest) -> FetchResponse:
        response = answer()(request)
        data = response.responses[0].partitions[0]
        data.diverging_epoch = EpochEndOffset(epoch=3, end_offset=end_offset)
        return response

    replica = FakeReplica()
    refused = answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    loops.leader.script = [*[refused] * 6, parted, refused]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(10)
    assert (3, end_offset) in [(end.epoch, end.end_offset) for end in replica.answers]
    times = [at for at, request in loops.leader.fetches if asked(request)]
    pauses = [later - at for at, later in pairwise(times)]
    expected = [*BACK_OFFS_S[:6], -ROUND_TRIP_S, 1]
    assert pauses == pytest.approx([each + 2 * ROUND_TRIP_S for each in expected])


async def test_an_answer_whose_records_are_null_has_none(loops: Loops) -> None:
    def null(request: FetchRequest) -> FetchResponse:
        response = answer()(request)
        response.responses[0].partitions[0].records = None
        return response

    replica = FakeReplica()
    loops.leader.script = [null]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.1)
    assert (replica.high_watermarks, replica.appended) == ([3], [])


# Back-offs.


async def test_a_source_that_is_lost_is_tried_soon_and_then_later_each_time(
    loops: Loops,
) -> None:
    await following(loops, FakeReplica())
    await asyncio.sleep(1)
    loops.leader.connects_s.clear()
    loops.leader.is_down = True
    await asyncio.sleep(6)
    pauses = [later - at for at, later in pairwise(loops.leader.connects_s)]
    assert pauses[:7] == pytest.approx([each + ROUND_TRIP_S for each in BACK_OFFS_S[1:8]])


async def test_a_source_that_leads_something_new_is_tried_soon(loops: Loops) -> None:
    await following(loops, FakeReplica())
    loops.leader.is_down = True
    await asyncio.sleep(10)
    loops.leader.connects_s.clear()
    loops.fetcher.follow(FakeReplica(), 1)
    loops.fetcher.follow(FakeReplica(1), 1)
    await asyncio.sleep(1.1)
    assert loops.leader.connects > 4


async def test_a_source_whose_address_is_unknown_is_asked_for_it_later_each_time(
    loops: Loops,
) -> None:
    await following(loops, FakeReplica())
    loops.leader.is_down = loops.leader.is_unknown = True
    await asyncio.sleep(1)
    loops.leader.connects_s.clear()
    await asyncio.sleep(20)
    assert loops.leader.connects == pytest.approx(20, abs=2)
    loops.leader.is_down = loops.leader.is_unknown = False
    count = len(loops.leader.fetches)
    await asyncio.sleep(2)
    assert len(loops.leader.fetches) > count


async def test_a_source_that_answers_with_errors_alone_is_asked_later_each_time(
    loops: Loops,
) -> None:
    loops.leader.script = [answer(top=ErrorCode.UNKNOWN_SERVER_ERROR)] * 1_000
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(20)
    assert 20 < len(loops.leader.fetches) < 30


async def test_a_connection_that_there_is_not_can_be_closed(loops: Loops) -> None:
    loops.fetcher.close()
    assert loops.leader.closed == 0
    await following(loops, FakeReplica())
    loops.fetcher.close()
    loops.fetcher.close()
    assert loops.leader.closed == 1


# Throttles.


async def test_a_throttle_that_is_set_or_lifted_is_told_to_the_leader(loops: Loops) -> None:
    replica = FakeReplica()
    replica.is_throttled = True
    replica.end = -1  # It lags: the leader's high watermark is 3.
    await following(loops, replica)
    loops.quota.limit_bytes_per_second = 100
    await asyncio.sleep(1)
    loops.quota.limit_bytes_per_second = 2**63 - 1
    await asyncio.sleep(1)
    shares = [
        part.partition_max_bytes
        for _, request in loops.leader.fetches
        for topic in request.topics
        for part in topic.partitions
    ]
    assert shares[0] == shares[-1] == 1 << 20
    assert shares[1] < 1_000


async def test_a_poll_ends_when_a_throttled_partition_may_come_back(loops: Loops) -> None:
    loops.follow_one_throttled(bytes_per_second=1_000, answered_bytes=450)
    await asyncio.sleep(0.1)
    _, (at, request) = loops.leader.fetches
    wait_ms = loops.quota.wait_ms(int(at * 1000))
    assert 50 < wait_ms < 500
    assert request.max_wait_ms == pytest.approx(wait_ms, abs=1)


async def test_a_throttled_partition_that_is_followed_no_more_does_not_come_back(
    loops: Loops,
) -> None:
    throttled = loops.follow_one_throttled(bytes_per_second=100, answered_bytes=150)
    await asyncio.sleep(0.5)
    loops.fetcher.unfollow(throttled)
    await asyncio.sleep(5)
    assert [asked(request) for _, request in loops.leader.fetches if 0 in asked(request)] == [
        [0, 1]
    ]
