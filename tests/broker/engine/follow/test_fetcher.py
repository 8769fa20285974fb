"""The fetch loop of one source broker."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from broker.core.log_dirs import LogDirFailed
from protocol.errors import ErrorCode, KafkaError, MalformedAnswer
from protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tests.broker.engine.follow.followers import TOPIC_ID, FakeReplica, Loops, answer


def asked(request: FetchRequest) -> list[int]:
    return [part.partition for topic in request.topics for part in topic.partitions]


async def test_a_partition_is_reconciled_and_then_fetched_at_once(loops: Loops) -> None:
    replica = FakeReplica()
    loops.fetcher.follow(replica, 4)
    await asyncio.sleep(0.01)
    ((_, request),) = loops.leader.fetches
    (part,) = request.topics[0].partitions
    assert (part.current_leader_epoch, part.fetch_offset) == (4, 0)
    assert len(replica.answers) == 1


async def test_an_idle_session_names_nothing_and_waits_its_time(loops: Loops) -> None:
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(2.1)
    assert [asked(request) for _, request in loops.leader.fetches] == [[0], [], [], [], []]


async def test_fetched_records_are_appended_and_the_next_fetch_goes_on_behind_them(
    loops: Loops,
) -> None:
    replica = FakeReplica()
    loops.leader.script = [answer(records=b"one"), answer(records=b"two"), answer()]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.02)
    assert replica.appended == [b"one", b"two"]
    assert replica.high_watermarks == [3]
    offsets = [
        part.fetch_offset
        for _, request in loops.leader.fetches
        for topic in request.topics
        for part in topic.partitions
    ]
    assert offsets == [0, 1, 2]


async def test_a_busy_disk_holds_up_its_own_partition_only(loops: Loops) -> None:
    slow, quick = FakeReplica(0), FakeReplica(1)
    for replica in (slow, quick):
        loops.fetcher.follow(replica, 0)
    loops.leader.script = [answer(0, records=b"slow")]
    await asyncio.sleep(0.0015)
    slow.work = asyncio.get_running_loop().create_future()
    await asyncio.sleep(0.1)
    later = loops.leader.fetches[1][1]
    assert later.forgotten_topics_data[0].partitions == [0]
    assert later.max_wait_ms < 500, "polls stay short while a partition is about to come back"
    slow.work.set_result(None)
    await asyncio.sleep(0.1)
    assert [0] in [asked(request) for _, request in loops.leader.fetches[2:]]
    assert loops.fetcher.unsettled == []


async def test_a_disk_that_hangs_slows_the_rounds_of_the_others_once(loops: Loops) -> None:
    hung, quick = FakeReplica(0), FakeReplica(1)
    hung.work = asyncio.get_running_loop().create_future()
    for replica in (hung, quick):
        loops.fetcher.follow(replica, 0)
    loops.leader.script = [answer(0, records=b"x")] + [answer(1, records=b"y")] * 9
    began_s = asyncio.get_running_loop().time()
    loops.leader.on_fetch = lambda: setattr(quick, "work", ended_in(0.001))
    await asyncio.sleep(0.2)
    times = [at - began_s for at, _ in loops.leader.fetches[:10]]
    assert len(quick.appended) == 9
    assert times[-1] < 0.1, "one grace for the hung disk, none after it"
    hung.work.set_result(None)
    await asyncio.sleep(0.1)
    assert [0] in [asked(request) for _, request in loops.leader.fetches]


@pytest.mark.parametrize("records", [b"", b"x"])
async def test_a_leader_hears_of_a_log_start_when_it_is_written_down(
    loops: Loops, records: bytes
) -> None:
    replica = FakeReplica()
    replica.start = -1  # The leader says 0.
    replica.log_start_write = written = asyncio.get_running_loop().create_future()
    loops.fetcher.follow(replica, 0)
    loops.leader.script = [answer(records=records)]
    await asyncio.sleep(0.2)
    told = [request for _, request in loops.leader.fetches if asked(request)]
    assert len(told) == 1, "left out while its disk writes"
    replica.log_start_write = None
    written.set_result(True)
    await asyncio.sleep(0.1)
    assert len([request for _, request in loops.leader.fetches if asked(request)]) == 2


async def test_a_leader_hears_of_a_log_start_that_rose_while_nothing_came(loops: Loops) -> None:
    replica = FakeReplica()
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(2)
    told = len([request for _, request in loops.leader.fetches if asked(request)])

    replica.start = 7
    loops.fetcher.tell_again(replica)
    await asyncio.sleep(2)

    requests = [request for _, request in loops.leader.fetches if asked(request)]
    assert len(requests) == told + 1
    assert requests[-1].topics[0].partitions[0].log_start_offset == 7


async def test_of_what_is_not_followed_any_more_nothing_is_told(loops: Loops) -> None:
    replica = FakeReplica()
    loops.fetcher.follow(replica, 0)
    loops.fetcher.follow(FakeReplica(1), 0)
    await asyncio.sleep(2)
    loops.fetcher.unfollow(replica)
    loops.fetcher.tell_again(replica)
    before = len(loops.leader.fetches)
    await asyncio.sleep(2)
    assert [asked(request) for _, request in loops.leader.fetches[before:] if asked(request)] == []


def ended_in(seconds: float) -> asyncio.Future[None]:
    loop = asyncio.get_running_loop()
    work: asyncio.Future[None] = loop.create_future()
    loop.call_later(seconds, work.set_result, None)
    return work


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR])
async def test_a_refused_partition_waits_longer_each_time(loops: Loops, code: ErrorCode) -> None:
    loops.leader.script = [answer(code=code) for _ in range(100)]
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(10)
    times = [at for at, request in loops.leader.fetches if asked(request)]
    pauses = [later - at for at, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.05
    assert pauses[-1] == pytest.approx(1, abs=0.1)


async def test_after_a_success_a_refused_partition_is_soon_tried_again(loops: Loops) -> None:
    refused = answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    loops.leader.script = [refused] * 8 + [answer(records=b"x")] + [refused] * 2
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(10)
    times = [at for at, request in loops.leader.fetches if asked(request)]
    assert times[7] - times[6] > 0.5
    assert times[10] - times[9] < 0.05


async def test_a_fenced_partition_waits_for_the_next_leader_and_isr(loops: Loops) -> None:
    replica = FakeReplica()
    loops.leader.script = [answer(code=ErrorCode.FENCED_LEADER_EPOCH)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(10)
    assert len(loops.leader.fetches) == 1
    assert loops.fetcher.failed_count == 1
    assert loops.fetcher.unsettled == [(replica.topic_id, 0)]
    loops.fetcher.follow(replica, 1)
    await asyncio.sleep(0.01)
    assert len(loops.leader.fetches) == 2


@pytest.mark.parametrize(
    ("error", "failed_count"),
    [
        (LogDirFailed("/d", "append", OSError("broken")), 1),
        (KafkaError(ErrorCode.CORRUPT_MESSAGE), 0),
    ],
)
async def test_records_that_cannot_be_appended_are_not_asked_for_in_a_circle(
    loops: Loops, error: Exception, failed_count: int
) -> None:
    replica = FakeReplica()
    replica.error = error
    loops.leader.script = [answer(records=b"x") for _ in range(1_000)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(5)
    assert loops.fetcher.failed_count == failed_count
    assert len(loops.leader.fetches) < 300


async def test_records_of_a_damaged_leader_are_asked_for_later_each_time(loops: Loops) -> None:
    """Its answers have no error, and what is in them fails its CRC each time (seed 672006)."""
    replica = FakeReplica()
    replica.error = KafkaError(ErrorCode.CORRUPT_MESSAGE)
    loops.leader.script = [answer(records=b"x") for _ in range(1_000)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(10)
    times = [at for at, request in loops.leader.fetches if asked(request)]
    pauses = [later - at for at, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == pytest.approx(1, abs=0.1)
    replica.error = None
    await asyncio.sleep(2)
    assert replica.appended


def diverging(request: FetchRequest) -> FetchResponse:
    response = answer()(request)
    data = response.responses[0].partitions[0]
    data.diverging_epoch = EpochEndOffset(epoch=3, end_offset=2)
    return response


async def test_what_a_damaged_leader_serves_and_has_cut_each_time_is_fetched_rarely(
    loops: Loops,
) -> None:
    """Seed 722032: a disk had put batches of another partition there, of epochs not its own."""
    replica = FakeReplica()
    loops.leader.script = [answer(records=b"x"), diverging] * 500
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(10)
    assert len(replica.appended) == pytest.approx(10, abs=2)


async def test_a_diverging_epoch_truncates_without_a_question(loops: Loops) -> None:
    replica = FakeReplica()
    loops.leader.script = [diverging]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.01)
    assert [(end.epoch, end.end_offset) for end in replica.answers] == [(-1, 7), (3, 2)]
    assert len(loops.leader.epoch_requests) == 1


async def test_a_log_that_is_not_where_it_leaves_the_leaders_yet_asks_again(loops: Loops) -> None:
    replica = FakeReplica()
    replica.finished = [True, False, True]
    diverging = FetchResponse(
        session_id=5,
        responses=[
            FetchableTopicResponse(
                topic_id=TOPIC_ID,
                partitions=[
                    PartitionData(
                        partition_index=0,
                        diverging_epoch=EpochEndOffset(epoch=3, end_offset=2),
                    )
                ],
            )
        ],
    )
    loops.leader.script = [lambda _request: diverging]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.02)
    assert [(end.epoch, end.end_offset) for end in replica.answers] == [(-1, 7), (3, 2), (-1, 7)]
    assert len(loops.leader.epoch_requests) == 2


@pytest.mark.parametrize("trouble", [ConnectionError("down"), MalformedAnswer("no answer")])
async def test_a_lost_session_and_a_lost_connection_begin_anew(
    loops: Loops, trouble: ConnectionError
) -> None:
    loops.leader.trouble = trouble
    loops.leader.script = [answer(), answer(top=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)]
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(0.1)
    assert [asked(request) for _, request in loops.leader.fetches] == [[0], [], [0]]
    loops.leader.is_down = True
    await asyncio.sleep(1)
    loops.leader.is_down = False
    count = len(loops.leader.fetches)
    await asyncio.sleep(2)
    assert asked(loops.leader.fetches[count][1]) == [0]
    assert loops.leader.closed > 0


async def test_a_source_that_is_down_is_tried_about_once_a_second(loops: Loops) -> None:
    loops.leader.is_down = True
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(20)
    assert 10 < loops.leader.connects < 60


async def test_a_source_that_goes_down_is_tried_soon_and_then_about_once_a_second(
    loops: Loops,
) -> None:
    loops.fetcher.follow(FakeReplica(), 0)
    for _ in range(2):
        await asyncio.sleep(2)
        loops.leader.is_down = True
        await asyncio.sleep(0.55)  # The last answer was on its way.
        soon = loops.leader.connects
        assert soon >= 2
        await asyncio.sleep(20)
        assert loops.leader.connects - soon == pytest.approx(20, abs=5)
        loops.leader.is_down = False
        loops.leader.connects_s.clear()


async def test_nobody_asks_about_what_is_followed_no_more_by_then(loops: Loops) -> None:
    replica = FakeReplica()
    loops.fetcher.follow(replica, 0)
    loops.fetcher.unfollow(replica)
    await asyncio.sleep(5)
    assert loops.leader.connects == 0


async def test_what_is_followed_no_more_is_forgotten_and_late_answers_ignored(
    loops: Loops,
) -> None:
    gone, stays = FakeReplica(0), FakeReplica(1)
    for replica in (gone, stays):
        loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.1)
    loops.leader.script = [answer(0, records=b"late")]
    loops.fetcher.unfollow(gone)
    await asyncio.sleep(1)
    assert len(loops.fetcher) == 1
    assert gone.appended == []


async def test_a_throttled_partition_leaves_the_fetch_until_the_quota_has_room(
    loops: Loops,
) -> None:
    loops.follow_one_throttled(bytes_per_second=100, answered_bytes=150)
    await asyncio.sleep(1.4)
    first, *others = [request for _, request in loops.leader.fetches]
    assert [part.partition_max_bytes for part in first.topics[0].partitions] == [25, 1 << 20]
    assert others[0].forgotten_topics_data[0].partitions == [0]
    assert [asked(request) for request in others] == [[]] * len(others)
    assert len(others) <= 4
    await asyncio.sleep(0.7)
    again = [at for at, request in loops.leader.fetches[1:] if asked(request) == [0]]
    assert again[0] - loops.leader.fetches[0][0] == pytest.approx(1.5, abs=0.05)


async def test_a_fetcher_with_nothing_but_throttled_partitions_asks_nothing(loops: Loops) -> None:
    replica = FakeReplica()
    replica.is_throttled = True
    loops.quota.limit_bytes_per_second = 100
    loops.leader.script = [answer(records=b"x" * 300, high_watermark=9)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(2.9)
    assert len(loops.leader.fetches) == 1
    await asyncio.sleep(0.2)
    assert len(loops.leader.fetches) == 2


async def test_a_partition_whose_log_dir_is_lost_shortens_no_polls_of_the_others(
    loops: Loops,
) -> None:
    lost, good = FakeReplica(0), FakeReplica(1)
    for replica in (lost, good):
        loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.0015)
    lost.error = LogDirFailed("/b", "append", OSError("broken"))
    loops.leader.script = [answer(0, records=b"x")]
    await asyncio.sleep(3)
    assert loops.fetcher.failed_count == 1
    later = [request for _, request in loops.leader.fetches[2:]]
    assert [request.max_wait_ms for request in later] == [500] * len(later)
    assert len(later) > 2
