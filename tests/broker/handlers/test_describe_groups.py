"""DescribeGroups: each group by itself."""

from __future__ import annotations

from broker.core.groups.group_offsets import Committed
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.groups import DescribeGroupsRequest
from tests.broker.fakes import FakeBroker


def describing(*groups: str, operations: bool = False) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=groups, include_authorized_operations=operations)


async def test_a_simple_group_is_empty_and_one_that_is_not_there_is_dead(broker: FakeBroker):
    offsets = {TopicPartition("orders", 0): Committed(5, 3, "hi", 0)}
    broker.groups.shard.offsets.put("simple", offsets)
    response = await broker.ask(describing("simple", "nobody", ""), 5)
    told = [(row.group_id, row.group_state, row.error_code) for row in response.groups]
    assert told == [
        ("simple", "Empty", 0),
        ("nobody", "Dead", 0),
        ("", "Dead", 0),
    ]


async def test_since_version_6_a_group_that_is_not_there_is_an_error(broker: FakeBroker):
    (row,) = (await broker.ask(describing("nobody"), 6)).groups
    assert (row.group_state, row.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert row.error_message == "Group nobody not found."


async def test_what_may_be_done_is_told_when_it_is_asked(broker: FakeBroker):
    (row,) = (await broker.ask(describing("g", operations=True), 5)).groups
    assert row.authorized_operations == 0b1101_0100_1000
    broker.context.release = "3.9"
    (row,) = (await broker.ask(describing("g", operations=True), 5)).groups
    assert row.authorized_operations == 0b1_0100_1000
    (row,) = (await broker.ask(describing("g"), 5)).groups
    assert row.authorized_operations == -(2**31)


async def test_a_broker_that_does_not_coordinate_a_group_says_so(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    for version in range(7):
        response = await broker.ask(describing("a", "b"), version)
        codes = [row.error_code for row in response.groups]
        assert codes == [ErrorCode.NOT_COORDINATOR] * 2
