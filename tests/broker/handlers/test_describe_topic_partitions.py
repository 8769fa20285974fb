"""DescribeTopicPartitions: from the image, with the broker's own bound."""

from __future__ import annotations

from protocol.errors import ErrorCode
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.broker.fakes import FakeBroker, topic_state, update_metadata


async def test_partitions_are_described(broker: FakeBroker):
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="orders")])
    response = await broker.ask(request, 0)
    (topic,) = response.topics
    assert [(p.partition_index, p.leader_id) for p in topic.partitions] == [(0, 1), (1, 2)]
    assert response.next_cursor is None


async def test_the_page_is_bounded_by_configuration():
    broker = FakeBroker(max_request_partition_size_limit="1")
    broker.engine.metadata.update(update_metadata(topic_state()))
    response = await broker.ask(DescribeTopicPartitionsRequest(), 0)
    assert response.next_cursor == Cursor(topic_name="orders", partition_index=1)


async def test_a_bad_cursor_marks_every_topic(broker: FakeBroker):
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name="orders"), TopicRequest(name="other")],
        cursor=Cursor(topic_name="none", partition_index=0),
    )
    response = await broker.ask(request, 0)
    codes = [(topic.name, topic.error_code) for topic in response.topics]
    assert codes == [
        ("orders", ErrorCode.INVALID_REQUEST),
        ("other", ErrorCode.INVALID_REQUEST),
    ]
