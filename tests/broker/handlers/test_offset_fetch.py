"""OffsetFetch in every version: of one group, of several, by name and by id."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from broker.core.groups.group_offsets import Committed
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.broker.fakes import TOPIC_ID, FakeBroker

ORDERS = TopicPartition("orders", 0)
GONE = TopicPartition("gone", 1)


@pytest.fixture
async def committed(broker: FakeBroker) -> FakeBroker:
    broker.groups.shard.offsets.put("readers", {ORDERS: Committed(5, 3, "hi", 0)})
    return broker


def fetching(version: int, *indexes: int, stable: bool = False) -> OffsetFetchRequest:
    """Ask for partitions of ``orders``, for all without."""
    if version < 8:
        topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=indexes)]
        request = OffsetFetchRequest(group_id="readers", topics=topics if indexes else None)
    else:
        topic = OffsetFetchRequestTopics(partition_indexes=indexes)
        if version >= 10:
            topic.topic_id = TOPIC_ID
        else:
            topic.name = "orders"
        group = OffsetFetchRequestGroup(group_id="readers", topics=[topic] if indexes else None)
        request = OffsetFetchRequest(groups=[group])
    if version >= 7:
        request.require_stable = stable
    return request


def rows(response: Any, version: int) -> list[tuple[str | bytes, int, int, str, int]]:
    topics = response.groups[0].topics if version >= 8 else response.topics
    return [
        (
            bytes(topic.topic_id) if version >= 10 else topic.name,
            row.partition_index,
            row.committed_offset,
            row.metadata,
            row.error_code,
        )
        for topic in topics
        for row in topic.partitions
    ]


@pytest.mark.parametrize("version", range(11))
async def test_offsets_are_told_and_their_absence_too(committed: FakeBroker, version: int):
    response = await committed.ask(fetching(version, 0, 1), version)
    name = TOPIC_ID if version >= 10 else "orders"
    assert rows(response, version) == [(name, 0, 5, "hi", 0), (name, 1, -1, "", 0)]


@pytest.mark.parametrize("version", range(2, 11))
async def test_all_offsets_are_told_but_by_id_only_of_topics_that_have_one(
    committed: FakeBroker, version: int
):
    committed.groups.shard.offsets.put("readers", {GONE: Committed(6, -1, "", 0)})
    found = rows(await committed.ask(fetching(version), version), version)
    names = [TOPIC_ID] if version >= 10 else ["orders", "gone"]
    assert [row[0] for row in found] == names


@pytest.mark.parametrize("version", [7, 9])
async def test_who_wants_stable_offsets_is_told_which_are_not(committed: FakeBroker, version: int):
    committed.groups.shard.offsets.put("readers", {ORDERS: Committed(6, 3, "", 0)}, producer_id=1)
    for stable, row in ((False, ("orders", 0, 5, "hi", 0)), (True, ("orders", 0, -1, "", 88))):
        response = await committed.ask(fetching(version, 0, stable=stable), version)
        assert rows(response, version) == [row]


@pytest.mark.parametrize("version", range(11))
async def test_a_group_s_error_is_where_the_version_has_a_place_for_it(
    broker: FakeBroker, version: int
):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    response = await broker.ask(fetching(version, 0, 1), version)
    if version < 2:
        assert [row[4] for row in rows(response, version)] == [16, 16]
    elif version < 8:
        assert (response.error_code, list(response.topics)) == (16, [])
    else:
        assert [(g.error_code, list(g.topics)) for g in response.groups] == [(16, [])]


@pytest.mark.parametrize(
    ("code", "told"), [(ErrorCode.COORDINATOR_NOT_AVAILABLE, 14), (ErrorCode.NOT_COORDINATOR, 16)]
)
@pytest.mark.parametrize("version", range(11))
async def test_commits_that_do_not_end_are_told_so_that_every_client_asks_again(
    broker: FakeBroker, version: int, code: ErrorCode, told: int
):
    """aiokafka looks for an error in partitions alone, and took it for no offset (seed 784205)."""
    broker.groups.late_error = KafkaError(code)
    response = await broker.ask(fetching(version, 0, 1), version)
    if version >= 8:
        assert [(g.error_code, list(g.topics)) for g in response.groups] == [(told, [])]
        return
    assert [row[2:] for row in rows(response, version)] == [(-1, "", told)] * 2
    assert version < 2 or response.error_code == told


async def test_each_of_several_groups_is_answered_by_itself(committed: FakeBroker):
    request = fetching(9, 0)
    others = OffsetFetchRequestGroup(group_id="others", topics=None)
    request.groups = [*request.groups, others]
    response = await committed.ask(request, 9)
    assert [(g.group_id, len(g.topics)) for g in response.groups] == [("readers", 1), ("others", 0)]


async def test_an_id_that_nobody_knows_is_refused_by_itself(committed: FakeBroker):
    request = fetching(10, 0)
    unknown = OffsetFetchRequestTopics(topic_id=bytes([9] * 16), partition_indexes=[0])
    request.groups[0].topics = [*(request.groups[0].topics or ()), unknown]
    found = rows(await committed.ask(request, 10), 10)
    assert [(row[0], row[4]) for row in found] == [
        (TOPIC_ID, ErrorCode.NONE),
        (bytes([9] * 16), ErrorCode.UNKNOWN_TOPIC_ID),
    ]


@pytest.mark.parametrize("version", [2, 9])
async def test_a_great_many_offsets_are_told_with_turns_for_others(
    broker: FakeBroker, version: int
):
    many = {TopicPartition("orders", number): Committed(5, 3, "", 0) for number in range(20_000)}
    broker.groups.shard.offsets.put("readers", many)
    turns = 0
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(broker.ask(fetching(version), version))
        while not asking.done():
            await asyncio.sleep(0)
            turns += 1
    assert len(rows(asking.result(), version)) == len(many)
    assert turns > 20
