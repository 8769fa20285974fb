"""ListGroups: groups with members and those that only have offsets."""

from __future__ import annotations

from collections.abc import Sequence

from broker.core.groups.group_offsets import Committed
from protocol.ids import TopicPartition
from protocol.messages.groups import ListGroupsRequest
from tests.broker.fakes import FakeBroker
from tests.broker.handlers.test_join_group import joining


def listing(states: Sequence[str] = (), types: Sequence[str] = ()) -> ListGroupsRequest:
    return ListGroupsRequest(states_filter=states, types_filter=types)


async def test_all_groups_are_listed_in_every_version_and_by_state_and_type(broker: FakeBroker):
    broker.groups.shard.offsets.put("simple", {TopicPartition("o", 0): Committed(5, 3, "", 0)})
    broker.groups.shard.offsets.put("both", {TopicPartition("o", 0): Committed(5, 3, "", 0)})
    await broker.ask(joining(group_id="both"), 9)
    await broker.ask(joining(group_id="members"), 9)
    for version in range(6):
        response = await broker.ask(listing(), version)
        assert [row.group_id for row in response.groups] == ["both", "members", "simple"]
    rows = (await broker.ask(listing(), 5)).groups
    assert [row.group_type for row in rows] == ["classic"] * 3
    for states, types, count in (
        (["Empty"], [], 3),
        (["Stable"], [], 0),
        ([], ["classic"], 3),
        ([], ["consumer"], 0),
    ):
        response = await broker.ask(listing(states, types), 5)
        assert len(response.groups) == count
    assert response.error_code == 0
