"""Questions about leader epochs, asked beside the fetch loop."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.log_dirs import LogDirFailed
from protocol.errors import ErrorCode, MalformedAnswer
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.offsets import EARLIEST, LATEST
from tests.broker.engine.follow.followers import TOPIC_ID, FakeReplica, Loops, answer


async def test_partitions_followed_together_are_asked_about_together(loops: Loops) -> None:
    replicas = [FakeReplica(index) for index in range(5)]
    for replica in replicas:
        replica.epoch = 2
        loops.fetcher.follow(replica, 3)
    await asyncio.sleep(0.01)
    (request,) = loops.leader.epoch_requests
    assert request.replica_id == 2
    rows = [
        (row.partition, row.current_leader_epoch, row.leader_epoch)
        for row in request.topics[0].partitions
    ]
    assert rows == [(index, 3, 2) for index in range(5)]
    assert all(replica.answers == [(2, 7)] for replica in replicas)


async def test_an_unfinished_truncation_is_asked_about_again(loops: Loops) -> None:
    replica = FakeReplica()
    replica.finished = [False, False, True]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.05)
    assert len(loops.leader.epoch_requests) == 3
    assert len(loops.leader.fetches) == 1


async def test_a_log_with_appends_on_their_way_is_asked_about_afterwards(loops: Loops) -> None:
    replica = FakeReplica()
    replica.unsettled = settled = asyncio.get_running_loop().create_future()
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(1)
    assert loops.leader.epoch_requests == []
    settled.set_result(None)
    await asyncio.sleep(0.01)
    assert len(loops.leader.epoch_requests) == 1


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH])
async def test_a_leader_that_refuses_is_asked_ever_more_slowly(
    loops: Loops, code: ErrorCode
) -> None:
    """One that fences may still have another topic of this name."""
    loops.leader.epoch_code = code
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(10)
    assert 8 < len(loops.leader.epoch_requests) < 20
    assert loops.leader.fetches == []


@pytest.mark.parametrize("trouble", [ConnectionError("down"), MalformedAnswer("no answer")])
async def test_a_leader_that_is_down_is_asked_when_it_is_back(
    loops: Loops, trouble: ConnectionError
) -> None:
    loops.leader.trouble = trouble
    loops.leader.is_down = True
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(5)
    loops.leader.is_down = False
    await asyncio.sleep(1.1)
    assert len(loops.leader.fetches) >= 1


async def test_a_log_out_of_range_learns_the_leaders_range_and_is_not_hurried(
    loops: Loops,
) -> None:
    replica = FakeReplica()
    loops.leader.script = [answer(code=ErrorCode.OFFSET_OUT_OF_RANGE) for _ in range(1_000)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(10)
    assert set(replica.ranges) == {(10, 20)}
    assert len(replica.ranges) < 25


async def test_a_log_that_begins_anew_in_the_leaders_range_is_fetched_at_once(
    loops: Loops,
) -> None:
    replica = FakeReplica()
    replica.work = asyncio.get_running_loop().create_future()
    replica.work.set_result(None)
    loops.leader.script = [answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)]
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.01)  # A first delay is 20 ms.
    assert replica.ranges == [(10, 20)]
    assert len(loops.leader.fetches) == 2


async def test_a_failed_log_dir_sets_the_partition_aside(loops: Loops) -> None:
    replica = FakeReplica()
    replica.error = LogDirFailed("/d", "truncate", OSError("broken"))
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(5)
    assert loops.fetcher.failed_count == 1
    assert len(loops.leader.epoch_requests) == 1


async def test_an_answer_for_an_older_role_is_ignored(loops: Loops) -> None:
    replica = FakeReplica()
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    loops.fetcher.follow(replica, 1)
    await asyncio.sleep(0.05)
    assert len(replica.answers) == 1


async def test_of_logs_out_of_range_each_one_is_brought_back_whatever_becomes_of_the_others(
    loops: Loops,
) -> None:
    """The leader says nothing of the first, nobody follows the second, the third has no disk."""
    replicas = [FakeReplica(index) for index in range(4)]
    for replica in replicas:
        loops.fetcher.follow(replica, 0)
    loops.leader.unlisted = (0,)
    loops.leader.script = [all_out_of_range]
    await asyncio.sleep(0.0035)
    loops.fetcher.unfollow(replicas[1])
    replicas[2].error = LogDirFailed("/d", "truncate", OSError("broken"))
    await asyncio.sleep(0.01)
    assert [replica.ranges for replica in replicas] == [[], [], [], [(10, 20)]]
    assert loops.fetcher.failed_count == 1


def all_out_of_range(request: FetchRequest) -> FetchResponse:
    code = ErrorCode.OFFSET_OUT_OF_RANGE
    asked = [part.partition for topic in request.topics for part in topic.partitions]
    rows = [PartitionData(partition_index=index, error_code=code) for index in asked]
    topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=rows)]
    return FetchResponse(session_id=5, responses=topics)


def asked_about(loops: Loops) -> list[list[int]]:
    """Return the partitions of each question about epochs."""
    return [
        [row.partition for topic in request.topics for row in topic.partitions]
        for request in loops.leader.epoch_requests
    ]


async def test_what_an_answer_about_epochs_leaves_out_is_asked_for_again(loops: Loops) -> None:
    loops.leader.unanswered = (0,)
    for index in (0, 1):
        loops.fetcher.follow(FakeReplica(index), 0)
    await asyncio.sleep(2)
    assert asked_about(loops)[:2] == [[0, 1], [0]]
    loops.leader.unanswered = ()
    await asyncio.sleep(2)
    assert loops.fetcher.unsettled == []


async def test_each_question_is_about_what_was_not_asked_for_before(loops: Loops) -> None:
    for index in (0, 1):
        loops.fetcher.follow(FakeReplica(index), 0)
        await asyncio.sleep(1)
    assert asked_about(loops) == [[0], [1]]
    assert loops.leader.range_requests == []


async def test_of_two_partitions_one_that_is_followed_anew_holds_the_other_one_not_up(
    loops: Loops,
) -> None:
    first, second = FakeReplica(0), FakeReplica(1)
    for replica in (first, second):
        loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.0005)
    loops.fetcher.follow(first, 1)
    await asyncio.sleep(1)
    assert asked_about(loops) == [[0, 1], [0]]
    assert loops.fetcher.unsettled == []


async def test_a_leader_whose_address_is_unknown_is_asked_once_it_is_known(loops: Loops) -> None:
    loops.leader.is_unknown = True
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(10)
    assert 8 < loops.leader.connects < 20
    loops.leader.is_unknown = False
    await asyncio.sleep(1.1)
    assert len(loops.leader.fetches) >= 1


async def test_nobody_is_asked_about_what_is_followed_no_more_when_a_question_fails(
    loops: Loops,
) -> None:
    replica = FakeReplica()
    loops.leader.is_down = True
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.0005)
    loops.fetcher.unfollow(replica)
    loops.leader.is_down = False
    loops.leader.script = []
    await asyncio.sleep(0)
    loops.leader.is_down = True
    await asyncio.sleep(0.001)
    loops.leader.is_down = False
    await asyncio.sleep(5)
    assert loops.leader.epoch_requests == []


async def test_all_questions_go_over_one_connection_until_it_is_lost_or_closed(
    loops: Loops,
) -> None:
    loops.reconciler.close()
    assert loops.leader.closed == 0
    for index in range(3):
        loops.fetcher.follow(FakeReplica(index), 0)
        await asyncio.sleep(1)
    assert loops.leader.connects == 2, "one of them for fetches"
    for _ in range(2):
        loops.reconciler.close()
        assert loops.leader.closed == 1
    loops.fetcher.follow(FakeReplica(3), 0)
    await asyncio.sleep(1)
    assert loops.leader.connects == 3


async def test_a_leader_that_does_not_answer_is_asked_over_another_connection(
    loops: Loops,
) -> None:
    loops.leader.is_down = True
    loops.fetcher.follow(FakeReplica(), 0)
    await asyncio.sleep(5)
    assert loops.leader.connects > 4
    assert loops.leader.closed == loops.leader.connects


async def test_only_who_is_out_of_range_asks_for_the_leaders_range(loops: Loops) -> None:
    replicas = [FakeReplica(0), FakeReplica(1)]
    loops.leader.script = [answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)]
    for replica in replicas:
        loops.fetcher.follow(replica, 3)
    await asyncio.sleep(1)
    rows = [
        (row.partition_index, row.timestamp, row.current_leader_epoch)
        for request in loops.leader.range_requests
        for topic in request.topics
        for row in topic.partitions
    ]
    assert sorted(rows) == [(0, EARLIEST, 3), (0, LATEST, 3)]
    assert all(request.topics for request in loops.leader.epoch_requests)


@pytest.mark.parametrize("missing", [EARLIEST, LATEST])
async def test_half_a_range_brings_no_log_back(loops: Loops, missing: int) -> None:
    replica = FakeReplica()
    loops.leader.unlisted, loops.leader.unlisted_timestamps = (0,), (missing,)
    loops.leader.script = [answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)] * 2
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.01)
    assert replica.ranges == []
    loops.leader.unlisted = ()
    await asyncio.sleep(1)
    assert replica.ranges == [(10, 20)]


async def test_a_range_with_an_error_brings_no_log_back(loops: Loops) -> None:
    replica = FakeReplica()
    loops.leader.range_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    loops.leader.script = [answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)] * 2
    loops.fetcher.follow(replica, 0)
    await asyncio.sleep(0.01)
    assert replica.ranges == []
    loops.leader.range_code = ErrorCode.NONE
    await asyncio.sleep(1)
    assert replica.ranges == [(10, 20)]
