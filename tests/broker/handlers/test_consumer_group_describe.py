"""ConsumerGroupDescribe: each group by itself."""

from __future__ import annotations

import pytest

from broker.core.groups.group_offsets import Committed
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import ConsumerGroupDescribeRequest
from protocol.messages.groups import DescribeGroupsRequest, ListGroupsRequest
from tests.broker.fakes import FakeBroker
from tests.broker.handlers.test_consumer_group_heartbeat import joining


def describing(*groups: str, operations: bool = False) -> ConsumerGroupDescribeRequest:
    return ConsumerGroupDescribeRequest(group_ids=groups, include_authorized_operations=operations)


@pytest.mark.parametrize(("version", "member_type"), [(0, -1), (1, 1)])
async def test_a_group_is_told_with_its_members(broker: FakeBroker, version: int, member_type: int):
    await broker.ask(joining(), 1)
    (row,) = (await broker.ask(describing("readers", operations=True), version)).groups
    assert (row.error_code, row.group_state, row.group_epoch) == (ErrorCode.NONE, "Stable", 2)
    assert (row.assignor_name, row.authorized_operations) == ("uniform", 0b1101_0100_1000)
    (member,) = row.members
    assert (member.member_id, member.member_type) == ("m", member_type)


async def test_a_group_of_another_protocol_or_none_is_not_found(broker: FakeBroker):
    offsets = {TopicPartition("orders", 0): Committed(5, 3, "hi", 0)}
    broker.groups.shard.offsets.put("simple", offsets)
    response = await broker.ask(describing("simple", "nobody", "", operations=True), 1)
    assert [(row.error_code, row.error_message) for row in response.groups] == [
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group simple is not a consumer group."),
        (ErrorCode.GROUP_ID_NOT_FOUND, "Group nobody not found."),
        (ErrorCode.INVALID_GROUP_ID, None),
    ]


async def test_a_group_of_the_consumer_protocol_is_no_classic_one(broker: FakeBroker):
    await broker.ask(joining(), 1)
    asked = DescribeGroupsRequest(groups=["readers"], include_authorized_operations=False)
    (row,) = (await broker.ask(asked, 6)).groups
    assert (row.group_state, row.error_code, row.error_message) == (
        "Dead",
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group readers is not a classic group.",
    )


@pytest.mark.parametrize(
    ("types", "states", "count"),
    [((), (), 1), (("CONSUMER",), ("stable",), 1), (("classic",), (), 0), ((), ("Empty",), 0)],
)
async def test_groups_are_listed_by_type_and_state(
    broker: FakeBroker, types: tuple[str, ...], states: tuple[str, ...], count: int
):
    await broker.ask(joining(), 1)
    listed = await broker.ask(ListGroupsRequest(states_filter=states, types_filter=types), 5)
    found = [(row.group_id, row.protocol_type, row.group_type) for row in listed.groups]
    assert found == [("readers", "consumer", "consumer")] * count


async def test_what_the_coordinator_says_goes_to_every_group(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    response = await broker.ask(describing("a", "b"), 1)
    assert [row.error_code for row in response.groups] == [ErrorCode.NOT_COORDINATOR] * 2


@pytest.mark.parametrize(("release", "code"), [("3.9", 35), ("4.3", 69)])
async def test_a_release_with_zookeeper_has_no_such_groups(
    broker: FakeBroker, release: str, code: int
):
    broker.context.cluster_release = release
    (row,) = (await broker.ask(describing("nobody"), 0)).groups
    assert row.error_code == code


async def test_a_broker_that_speaks_the_classic_protocol_alone_describes_none():
    broker = FakeBroker(group_coordinator_rebalance_protocols="classic")
    (row,) = (await broker.ask(describing("nobody"), 1)).groups
    assert row.error_code == ErrorCode.UNSUPPORTED_VERSION
