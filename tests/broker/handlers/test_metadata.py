"""Metadata: from the image; unknown topics are created where client and broker want it."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.fakes import TOPIC_ID, FakeBroker, topic_state, update_metadata


def metadata(*names: str, create: bool = True) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=create,
    )


@pytest.mark.parametrize("version", range(14))
async def test_brokers_and_leaders_are_told_at_every_version(broker: FakeBroker, version: int):
    response = await broker.ask(metadata("orders"), version)
    assert [(b.node_id, b.port) for b in response.brokers] == [(1, 9091), (2, 9092)]
    (topic,) = response.topics
    assert [(p.partition_index, p.leader_id) for p in topic.partitions] == [(0, 1), (1, 2)]
    if version >= 1:
        assert response.controller_id == 1
    if version >= 2:
        assert response.cluster_id == "cluster"


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("name", ["orders", None])
async def test_versions_10_and_11_with_a_topic_id_are_refused_as_a_whole(
    broker: FakeBroker, version: int, name: str | None
):
    asked = [MetadataRequestTopic(name=name, topic_id=TOPIC_ID), MetadataRequestTopic(name="new")]
    response = await broker.ask(MetadataRequest(topics=asked), version)
    assert [(t.name, t.topic_id, t.error_code) for t in response.topics] == [
        (name or "", TOPIC_ID, ErrorCode.INVALID_REQUEST),
        ("new", ZERO_UUID, ErrorCode.INVALID_REQUEST),
    ]
    assert (len(response.brokers), response.cluster_id, response.controller_id) == (0, None, -1)
    assert broker.auto_topics.names == []


async def test_a_topic_that_is_merely_mentioned_is_created(broker: FakeBroker):
    response = await broker.ask(metadata("orders", "new"), 9)
    assert broker.auto_topics.names == ["new"]
    assert [t.error_code for t in response.topics] == [0, ErrorCode.LEADER_NOT_AVAILABLE]


async def test_names_beside_an_id_count_for_nothing(broker: FakeBroker):
    asked = [MetadataRequestTopic(name="new", topic_id=TOPIC_ID), MetadataRequestTopic(name="u")]
    request = MetadataRequest(topics=asked, allow_auto_topic_creation=True)
    (topic,) = (await broker.ask(request, 12)).topics
    assert (topic.name, topic.topic_id, broker.auto_topics.names) == ("orders", TOPIC_ID, [])


async def test_nothing_is_created_when_the_client_does_not_want_it(broker: FakeBroker):
    response = await broker.ask(metadata("new", create=False), 9)
    assert broker.auto_topics.names == []
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_nothing_is_created_when_the_broker_does_not_want_it():
    broker = FakeBroker(auto_create_topics_enable="false")
    broker.engine.metadata.update(update_metadata(topic_state()))
    response = await broker.ask(metadata("new"), 9)
    assert broker.auto_topics.names == []
    assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_defect_marks_the_topics_asked_for(broker: FakeBroker):
    setattr(broker.auto_topics, "create", None)  # noqa: B010 - calling it is the defect
    response = await broker.ask(metadata("new"), 9)
    assert [(t.name, t.error_code) for t in response.topics] == [("new", -1)]
