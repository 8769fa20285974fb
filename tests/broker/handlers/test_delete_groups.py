"""DeleteGroups: each group by itself."""

from __future__ import annotations

from broker.core.groups.group_offsets import Committed
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.groups import DeleteGroupsRequest
from tests.broker.fakes import FakeBroker
from tests.broker.handlers.test_join_group import joining


async def test_groups_that_nobody_is_in_are_deleted_with_their_offsets(broker: FakeBroker):
    shard = broker.groups.shard
    shard.offsets.put("simple", {TopicPartition("orders", 0): Committed(5, 3, "hi", 0)})
    await broker.ask(joining(group_id="left"), 9)
    request = DeleteGroupsRequest(groups_names=["simple", "left", "nobody"])
    response = await broker.ask(request, 2)
    told = {row.group_id: row.error_code for row in response.results}
    assert told == {"simple": 0, "left": 0, "nobody": ErrorCode.GROUP_ID_NOT_FOUND}
    assert not shard.offsets.has_offsets("simple")
    assert not shard.members.knows("left")


async def test_a_broker_that_does_not_coordinate_a_group_says_so(broker: FakeBroker):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    for version in range(3):
        response = await broker.ask(DeleteGroupsRequest(groups_names=["g"]), version)
        assert [row.error_code for row in response.results] == [ErrorCode.NOT_COORDINATOR]


async def test_a_group_that_is_named_twice_has_one_answer(broker: FakeBroker):
    offsets = broker.groups.shard.offsets
    offsets.put("simple", {TopicPartition("orders", 0): Committed(5, 3, "hi", 0)})
    response = await broker.ask(DeleteGroupsRequest(groups_names=["simple", "simple"]), 2)
    assert [(row.group_id, row.error_code) for row in response.results] == [("simple", 0)]
