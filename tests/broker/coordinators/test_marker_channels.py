"""Markers on their way: to leaders as metadata tells them, again where they may get through."""

from __future__ import annotations

import asyncio

import pytest

from broker.coordinators.marker_channels import (
    MARKERS_OF_A_REQUEST_MAX,
    MarkerChannels,
    MarkerPorts,
)
from broker.core.transaction_state.marker_progress import MarkerProgress
from broker.core.transaction_state.shard import MarkersDue
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.coordinators.marked_cluster import (
    A0,
    A1,
    Cluster,
    due,
    raise_cancelled,
    written,
)


async def test_each_leader_is_told_of_its_partitions() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: 2})
    await written(cluster, due(7, A0, A1))
    assert sorted(cluster.asked) == [(1, 7, 4, True, [A0]), (2, 7, 4, True, [A1])]


async def test_a_transaction_without_partitions_is_done_at_once() -> None:
    cluster = Cluster()
    await written(cluster, due(7))
    assert cluster.asked == []


async def test_markers_of_several_transactions_go_together() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: 1})
    await written(cluster, due(7, A0), due(8, A0, A1, commits=False))
    assert sorted(cluster.asked) == [(1, 7, 4, True, [A0]), (1, 8, 4, False, [A0, A1])]


async def test_who_leads_no_more_is_not_asked_again_and_who_leads_then_is() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1})
    cluster.verdict = lambda broker, _tp: (
        ErrorCode.NONE if broker == 2 else ErrorCode.NOT_LEADER_OR_FOLLOWER
    )
    await written(cluster, due(7, A0), meanwhile=lambda: cluster.tell({A0: 2}))
    assert cluster.asked[-1][0] == 2


async def test_a_broker_that_does_not_answer_is_asked_until_another_leads() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1})
    cluster.down.add(1)
    await written(cluster, due(7, A0), meanwhile=lambda: cluster.tell({A0: 2}))
    assert cluster.asked == [(2, 7, 4, True, [A0])]


async def test_a_partition_without_leader_is_waited_for() -> None:
    cluster = Cluster()
    cluster.tell({A0: -1})
    await written(cluster, due(7, A0), meanwhile=lambda: cluster.tell({A0: 2}))
    assert cluster.asked == [(2, 7, 4, True, [A0])]


async def test_a_topic_that_is_deleted_needs_no_marker() -> None:
    cluster = Cluster()
    cluster.tell({})
    await written(cluster, due(7, A0, A1))
    assert cluster.asked == []


async def test_a_transaction_is_done_when_the_last_topic_without_a_leader_is_deleted() -> None:
    cluster = Cluster()
    cluster.tell({A0: -1})
    await written(cluster, due(7, A0), meanwhile=lambda: cluster.tell({}))
    assert cluster.asked == []


async def test_markers_of_a_log_that_is_led_elsewhere_are_left_to_its_new_leader() -> None:
    cluster = Cluster()
    cluster.tell({A0: -1})
    kept, moved = due(7, A0), due(8, A0)
    resigned: list[MarkersDue] = []

    def resign() -> None:
        resigned.append(moved)
        cluster.tell({A0: 2})

    await written(cluster, moved, kept, meanwhile=resign, resigned=resigned)
    assert cluster.asked == [(2, 7, 4, True, [A0])]


async def test_markers_to_be_sent_again_are_dropped_when_their_log_is_led_elsewhere() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1})
    kept, moved = due(7, A0), due(8, A0)
    resigned: list[MarkersDue] = []

    def verdict(_broker: int, _tp: TopicPartition) -> ErrorCode:
        resigned.append(moved)
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if len(cluster.asked) < 3 else ErrorCode.NONE

    cluster.verdict = verdict
    await written(cluster, kept, moved, resigned=resigned)
    assert [producer_id for _, producer_id, *_ in cluster.asked] == [7, 8, 7]


@pytest.mark.parametrize(("versions", "asked"), [((0, 1), 1), ((0, 2), 2), ((2, 2), 2)])
async def test_ends_that_raise_epochs_are_told_in_a_version_that_says_so(
    versions: tuple[int, int], asked: int
) -> None:
    cluster = Cluster()
    cluster.tell({A0: 1})
    await written(cluster, *(due(7 + n, A0, version=each) for n, each in enumerate(versions)))
    assert cluster.requests == [(asked, [7, 8])]


async def test_a_producer_is_in_a_request_once_and_its_next_end_in_the_following_one() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: 1})
    await written(cluster, due(7, A0), due(7, A1), due(8, A0))
    assert [producer_ids for _, producer_ids in cluster.requests] == [[7, 8], [7]]


async def test_a_request_has_no_more_markers_than_it_may() -> None:
    cluster = Cluster()
    tps = [TopicPartition("a", index) for index in range(MARKERS_OF_A_REQUEST_MAX + 1)]
    cluster.tell(dict.fromkeys(tps, 1))
    await written(cluster, due(7, *tps))
    assert [len(tps) for *_, tps in cluster.asked] == [MARKERS_OF_A_REQUEST_MAX, 1]


async def test_what_an_answer_leaves_out_is_asked_again() -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: 1})
    cluster.leaves_out.add(A1)
    await written(cluster, due(7, A0, A1), meanwhile=cluster.leaves_out.clear)
    assert next(tps for *_, tps in cluster.asked) == [A0, A1]
    assert {tuple(tps) for *_, tps in cluster.asked[1:]} == {(A1,)}


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED]
)
async def test_who_is_fenced_by_one_leader_asks_none_again_and_others_go_on(
    code: ErrorCode,
) -> None:
    cluster = Cluster()
    cluster.tell({A0: 1, A1: -1})
    fenced, other = due(7, A0, A1), due(8, A1)
    cluster.verdict = lambda _broker, tp: code if tp == A0 else ErrorCode.NONE
    given_up: list[MarkersDue] = []

    def lead() -> None:
        given_up.append(fenced)
        cluster.tell({A0: 1, A1: 2})

    await written(cluster, fenced, other, meanwhile=lead, resigned=given_up)
    assert (2, 8, 4, True, [A1]) in cluster.asked
    assert [tps for _, producer_id, *_, tps in cluster.asked if producer_id == 7] == [[A0]]


async def test_what_is_left_when_a_topic_is_deleted_is_written() -> None:
    cluster = Cluster()
    other = TopicPartition("b", 0)
    cluster.tell({A0: 1})
    await written(cluster, due(7, other, A0))
    assert cluster.asked == [(1, 7, 4, True, [A0])]


async def test_a_broker_that_ends_sends_no_marker_any_more() -> None:
    cluster = Cluster()
    cluster.tell({A0: -1, A1: 1})
    ports = MarkerPorts(
        metadata=cluster.metadata,
        connect=cluster.connect,
        request_timeout_ms=lambda: 1_000,
        retry_ms=1,
    )
    channels, done = MarkerChannels(ports), list[str]()
    waiting = MarkerProgress(due(7, A0), 4)
    async with asyncio.TaskGroup() as tasks:
        channels.run(tasks)
        channels.send(waiting, on_done=lambda: done.append("7"), is_wanted=lambda: True)
        channels.send(
            MarkerProgress(due(8, A1), 4), on_done=lambda: done.append("8"), is_wanted=lambda: True
        )
        channels.stop()
        assert waiting.is_over
        cluster.tell({A0: 1, A1: 1})
        await asyncio.sleep(0.1)
        raise_cancelled(tasks)
    assert (cluster.asked, done) == ([], [])
