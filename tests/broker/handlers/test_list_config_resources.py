"""ListConfigResources, answered as Apache Kafka 4.3.1 was recorded to."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.configs import ListConfigResourcesRequest
from tests.broker.fakes import FakeBroker, topic_state, update_metadata

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP, UNKNOWN = 2, 4, 8, 16, 32, 99


async def listed(broker: FakeBroker, *types: int, version: int = 1) -> tuple[int, dict[int, int]]:
    """Return the error code, and how many resources of each type there are."""
    answer = await broker.ask(ListConfigResourcesRequest(resource_types=list(types)), version)
    found = [each.resource_type for each in answer.config_resources]
    return answer.error_code, {kind: found.count(kind) for kind in found}


@pytest.fixture
def busy(broker: FakeBroker) -> FakeBroker:
    broker.engine.metadata.update(update_metadata(topic_state("orders")))
    broker.group_configs.known["g"] = {"consumer.session.timeout.ms": "50000"}
    return broker


@pytest.mark.parametrize("kind", [TOPIC, GROUP, BROKER, LOGGER])
async def test_resources_of_the_type_asked_for_are_named(busy: FakeBroker, kind: int):
    code, found = await listed(busy, kind)
    assert code == ErrorCode.NONE
    assert list(found) == ([kind] if found else [])


async def test_groups_with_settings_are_named_once(busy: FakeBroker):
    assert await listed(busy, GROUP, GROUP) == (0, {GROUP: 1})


async def test_without_a_type_all_are_named(busy: FakeBroker):
    code, found = await listed(busy)
    assert code == ErrorCode.NONE
    assert {TOPIC, GROUP} <= found.keys()


async def test_version_0_asks_for_client_metrics_of_which_there_are_none(busy: FakeBroker):
    assert await listed(busy, version=0) == (0, {})
    assert await listed(busy, CLIENT_METRICS) == (0, {})


async def test_a_type_that_nobody_knows_is_refused(busy: FakeBroker):
    assert await listed(busy, GROUP, UNKNOWN) == (ErrorCode.UNSUPPORTED_VERSION, {})
