"""OffsetDelete: what is known goes, what is not is said."""

from __future__ import annotations

from broker.core.groups.group_offsets import Committed
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.broker.fakes import FakeBroker

ORDERS = TopicPartition("orders", 0)


def deleting(group: str = "readers") -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
            for name in ("never", "orders")
        ],
    )


async def test_offsets_are_deleted_and_unknown_partitions_said(broker: FakeBroker):
    broker.groups.shard.offsets.put("readers", {ORDERS: Committed(5, 3, "hi", 0)})
    response = await broker.ask(deleting(), 0)
    codes = [row.error_code for topic in response.topics for row in topic.partitions]
    assert (response.error_code, codes) == (0, [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0])
    assert not broker.groups.shard.offsets.has_offsets("readers")


async def test_a_group_that_there_is_not_and_a_group_without_a_name_are_refused(
    broker: FakeBroker,
):
    for group, code in (
        ("readers", ErrorCode.GROUP_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_GROUP_ID),
    ):
        response = await broker.ask(deleting(group), 0)
        assert (response.error_code, list(response.topics)) == (code, [])
