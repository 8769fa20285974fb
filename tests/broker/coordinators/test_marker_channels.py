"""Markers on their way: to leaders as metadata tells them, again where they may get through."""

from __future__ import annotations

from broker.core.transaction_state.shard import MarkersDue
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.coordinators.marked_cluster import A0, A1, Cluster, due, written


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
