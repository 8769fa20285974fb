"""FindCoordinator: the leader of a key's partition, for several keys at once."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.coordinators import FindCoordinatorRequest
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.broker.fakes import FakeBroker, topic_state, update_metadata


def asking(version: int, *keys: str, key_type: int = 0) -> FindCoordinatorRequest:
    request = FindCoordinatorRequest(key_type=key_type)
    if version >= 4:
        request.coordinator_keys = list(keys)
    else:
        (request.key,) = keys
    return request


@pytest.fixture
async def coordinating(broker: FakeBroker) -> FakeBroker:
    broker.engine.metadata.update(update_metadata(topic_state(CONSUMER_OFFSETS)))
    return broker


@pytest.mark.parametrize("version", range(7))
async def test_the_leader_of_the_partition_is_named(coordinating: FakeBroker, version: int):
    response = await coordinating.ask(asking(version, "readers"), version)
    (found,) = response.coordinators if version >= 4 else [response]
    (live, *_) = coordinating.engine.metadata.live_brokers()
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, live.id)
    assert (found.host, found.port) == (live.host, live.port)
    assert coordinating.auto_topics.names == []


async def test_each_key_is_answered_by_itself(coordinating: FakeBroker):
    response = await coordinating.ask(asking(6, "a", "b", "a"), 6)
    assert [(one.key, one.error_code) for one in response.coordinators] == [
        ("a", 0),
        ("b", 0),
        ("a", 0),
    ]


@pytest.mark.parametrize("version", range(7))
async def test_the_topic_is_made_while_no_coordinator_is_available(
    broker: FakeBroker, version: int
):
    response = await broker.ask(asking(version, "a"), version)
    (found,) = response.coordinators if version >= 4 else [response]
    assert (found.error_code, found.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert broker.auto_topics.names == [CONSUMER_OFFSETS]


@pytest.mark.parametrize("version", [1, 6])
async def test_there_are_no_coordinators_of_share_groups(broker: FakeBroker, version: int):
    response = await broker.ask(asking(version, "a", key_type=2), version)
    (found,) = response.coordinators if version >= 4 else [response]
    assert found.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("key_type", "version", "text"),
    [
        (2, 3, "There are no coordinators of type 2."),
        (2, 4, ""),
        (2, 6, ""),
        (99, 4, "There are no coordinators of type 99."),
    ],
)
async def test_a_type_without_coordinators_is_refused_key_by_key(
    broker: FakeBroker, key_type: int, version: int, text: str
):
    response = await broker.ask(asking(version, "a", key_type=key_type), version)
    (found,) = response.coordinators if version >= 4 else [response]
    assert (found.error_code, found.error_message) == (ErrorCode.INVALID_REQUEST, text)
    assert broker.auto_topics.names == []


@pytest.mark.parametrize("version", [1, 6])
async def test_transactions_have_a_topic_of_their_own(broker: FakeBroker, version: int):
    await broker.ask(asking(version, "payments", key_type=1), version)
    assert broker.auto_topics.names == [TRANSACTION_STATE]
    broker.engine.metadata.update(update_metadata(topic_state(TRANSACTION_STATE)))
    response = await broker.ask(asking(version, "payments", key_type=1), version)
    (found,) = response.coordinators if version >= 4 else [response]
    assert found.error_code == ErrorCode.NONE
