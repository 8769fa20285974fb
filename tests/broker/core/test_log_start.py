"""What DeleteRecords may do, and when it is done."""

from __future__ import annotations

import pytest

from broker.core.isr import FollowerState, IsrState
from broker.core.log_start import low_watermark, new_log_start
from broker.core.partition import Partition
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId, TopicPartition

DELETE = ("delete",)


def leader(topic: str = "orders", *, alive: tuple[int, ...] = (1, 2, 3)) -> Partition:
    partition = Partition(TopicPartition(topic, 0), BrokerId(1), lambda one: one in alive)
    partition.is_leader = True
    partition.next_offset = partition.log_end_offset = 100
    partition.high_watermark = 80
    partition.log_start_offset = 20
    return partition


def follower(log_start_offset: int) -> FollowerState:
    return FollowerState(log_end_offset=100, log_start_offset=log_start_offset)


def refusal(partition: Partition, offset: int, policy: tuple[str, ...] = DELETE) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        new_log_start(partition, offset, cleanup_policy=policy)
    return caught.value.code


@pytest.mark.parametrize(("offset", "wanted"), [(50, 50), (80, 80), (-1, 80), (0, 0)])
def test_an_offset_up_to_the_high_watermark_is_taken(offset: int, wanted: int) -> None:
    assert new_log_start(leader(), offset, cleanup_policy=DELETE) == wanted


def test_offsets_elsewhere_are_out_of_range() -> None:
    assert refusal(leader(), 81) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert refusal(leader(), -2) == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_compacted_topic_refuses_unless_it_deletes_too() -> None:
    assert refusal(leader(), 50, ("compact",)) == ErrorCode.POLICY_VIOLATION
    assert new_log_start(leader(), 50, cleanup_policy=("compact", "delete")) == 50


def test_an_empty_policy_lets_records_go_where_that_is_enough() -> None:
    assert refusal(leader(), 50, ()) == ErrorCode.POLICY_VIOLATION
    assert new_log_start(leader(), 50, cleanup_policy=(), is_empty_enough=True) == 50
    with pytest.raises(KafkaError, match="policy"):
        new_log_start(leader(), 50, cleanup_policy=("compact",), is_empty_enough=True)


def test_a_follower_and_an_internal_topic_refuse() -> None:
    partition = leader()
    partition.is_leader = False
    assert refusal(partition, 50) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refusal(leader("__consumer_offsets"), 50) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_low_watermark_is_that_of_the_last_live_replica() -> None:
    partition = leader(alive=(1, 2))
    assert low_watermark(partition, None) == 20
    partition.followers = {BrokerId(2): follower(10), BrokerId(3): follower(0)}
    assert low_watermark(partition, None) == 10
    assert low_watermark(partition, 5) == 5


def test_a_dead_follower_holds_the_low_watermark_back_for_as_long_as_it_is_in_the_isr() -> None:
    """It may lead next: a new controller tells who is dead before it tells who leads (925350)."""
    partition = leader(alive=(1, 2))
    partition.followers = {BrokerId(2): follower(20), BrokerId(3): follower(10)}
    partition.isr = IsrState((BrokerId(1), BrokerId(2), BrokerId(3)), 0)
    assert low_watermark(partition, None) == 10
    partition.isr = IsrState((BrokerId(1), BrokerId(2)), 1)
    assert low_watermark(partition, None) == 20
    partition.isr = partition.isr.expand(BrokerId(3))
    assert low_watermark(partition, None) == 10


def test_a_live_follower_that_never_fetched_holds_the_low_watermark_back() -> None:
    partition = leader()
    partition.followers = {BrokerId(2): FollowerState()}
    assert low_watermark(partition, None) == -1
