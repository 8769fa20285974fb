"""AlterConfigs: as IncrementalAlterConfigs, without loggers."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from tests.broker.fakes import FakeBroker

TOPIC, BROKER, LOGGER = 2, 4, 8


def replacing(*resources: tuple[int, str]) -> AlterConfigsRequest:
    return AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[AlterableConfig(name="retention.ms", value="5")],
            )
            for kind, name in resources
        ]
    )


@pytest.mark.parametrize("version", range(3))
async def test_the_controller_answers_in_the_order_asked(broker: FakeBroker, version: int):
    broker.controller.answer = AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(error_message=None, resource_type=TOPIC, resource_name="t")
        ]
    )
    response = await broker.ask(replacing((BROKER, "2"), (TOPIC, "t"), (LOGGER, "1")), version)
    assert [(one.error_code, one.error_message) for one in response.responses] == [
        (ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (0, None),
        (ErrorCode.INVALID_REQUEST, "Unknown resource type 8"),
    ]


async def test_a_silent_controller_is_told_per_resource(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silence")
    response = await broker.ask(replacing((TOPIC, "t"), (TOPIC, "u")), 2)
    assert [one.error_code for one in response.responses] == [7, 7]
