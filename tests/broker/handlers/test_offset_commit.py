"""OffsetCommit in every version, as a client's bytes."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.fakes import TOPIC_ID, WALL_MS, FakeBroker

ORDERS = TopicPartition("orders", 0)
COMMITTED_MS = 77


def committing(version: int, *, name: str = "orders", topic_id: bytes = TOPIC_ID, **words: int):
    partition = OffsetCommitRequestPartition(
        partition_index=words.get("partition", 0), committed_offset=5, committed_metadata="hi"
    )
    if version == 1:
        partition.commit_timestamp = COMMITTED_MS
    if version >= 6:
        partition.committed_leader_epoch = 3
    topic = OffsetCommitRequestTopic(partitions=[partition])
    if version >= 10:
        topic.topic_id = topic_id
    else:
        topic.name = name
    request = OffsetCommitRequest(group_id="readers", topics=[topic])
    if version >= 1:
        request.generation_id_or_member_epoch = words.get("generation", -1)
        request.member_id = ""
    return request


async def ask(broker: FakeBroker, request: OffsetCommitRequest, version: int) -> list[int]:
    response = await broker.ask(request, version)
    return [row.error_code for topic in response.topics for row in topic.partitions]


@pytest.mark.parametrize("version", range(11))
async def test_an_offset_is_committed(broker: FakeBroker, version: int):
    assert await ask(broker, committing(version), version) == [ErrorCode.NONE]
    committed = broker.groups.shard.offsets.committed("readers")[ORDERS]
    assert (committed.offset, committed.metadata) == (5, "hi")
    assert committed.leader_epoch == (3 if version >= 6 else -1)
    assert committed.commit_ms == (COMMITTED_MS if version == 1 else WALL_MS)


async def test_a_topic_without_partitions_is_not_answered_for(broker: FakeBroker):
    request = committing(9)
    request.topics = [OffsetCommitRequestTopic(name="orders", partitions=[]), *request.topics]
    response = await broker.ask(request, 9)
    assert [(topic.name, len(topic.partitions)) for topic in response.topics] == [("orders", 1)]


@pytest.mark.parametrize("version", [2, 4])
async def test_versions_2_to_4_may_say_when_an_offset_expires(broker: FakeBroker, version: int):
    request = committing(version)
    request.retention_time_ms = 1_000
    assert await ask(broker, request, version) == [ErrorCode.NONE]
    assert broker.groups.shard.offsets.committed("readers")[ORDERS].expire_ms == WALL_MS + 1_000


@pytest.mark.parametrize("version", [0, 9])
async def test_partitions_that_nobody_knows_are_refused_without_the_coordinator(
    broker: FakeBroker, version: int
):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    for request in (committing(version, name="never"), committing(version, partition=99)):
        codes = await ask(broker, request, version)
        assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_an_id_that_nobody_knows_is_refused(broker: FakeBroker):
    codes = await ask(broker, committing(10, topic_id=bytes([9] * 16)), 10)
    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID]


async def test_what_the_coordinator_says_goes_to_every_partition_that_it_was_asked_for(
    broker: FakeBroker,
):
    broker.groups.error = KafkaError(ErrorCode.NOT_COORDINATOR)
    request = committing(9)
    request.topics = [*request.topics, *committing(9, name="never").topics]
    codes = await ask(broker, request, 9)
    assert codes == [ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_generation_of_a_group_without_members_is_illegal(broker: FakeBroker):
    codes = await ask(broker, committing(8, generation=1), 8)
    assert codes == [ErrorCode.ILLEGAL_GENERATION]
    codes = await ask(broker, committing(9, generation=1), 9)
    assert codes == [ErrorCode.GROUP_ID_NOT_FOUND]
