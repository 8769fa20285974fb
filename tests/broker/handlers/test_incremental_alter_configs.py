"""IncrementalAlterConfigs: this broker's affairs here, the rest at the controller."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from protocol.configs.parsing import BrokerOverrides
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from tests.broker.fakes import FakeBroker
from tests.controller.core.altering import DELETE, SET, incremental

TOPIC, BROKER, LOGGER = 2, 4, 8
NAME = "broker.handlers.under_test"


def answered(*names: str) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_message=None, resource_type=TOPIC, resource_name=name
            )
            for name in names
        ]
    )


async def codes(broker: FakeBroker, request: Any) -> list[tuple[int, str | None]]:
    response: IncrementalAlterConfigsResponse = await broker.ask(request, 1)
    return [(one.error_code, one.error_message) for one in response.responses]


@pytest.mark.parametrize("version", [0, 1])
async def test_topics_brokers_and_unknown_kinds_are_passed_on_together(
    broker: FakeBroker, version: int
):
    broker.controller.answer = answered("t", "1", "", "x")
    request = incremental(
        (TOPIC, "t", [("retention.ms", SET, "5")]),
        (BROKER, "1", [("log.segment.bytes", SET, "5000")]),
        (BROKER, "", [("log.segment.bytes", DELETE, None)]),
        (3, "x", []),
        validate_only=True,
    )

    response = await broker.ask(request, version)

    assert [one.resource_name for one in response.responses] == ["t", "1", "", "x"]
    ((forwarded, at, _timeout_ms),) = broker.controller.forwarded
    assert (len(forwarded.resources), at, forwarded.validate_only) == (4, version, True)


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (BROKER, "2", "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "x", "Node id must be an integer, but it is: x"),
        (LOGGER, "2", "Unexpected node id. Expected 1, but received 2"),
        (LOGGER, "", "Node id must be an integer, but it is: "),
    ],
)
async def test_other_brokers_are_refused_and_the_rest_is_passed_on(
    broker: FakeBroker, kind: int, name: str, message: str
):
    broker.controller.answer = answered("t")
    request = incremental((kind, name, [("root", SET, "INFO")]), (TOPIC, "t", []))
    assert await codes(broker, request) == [(ErrorCode.INVALID_REQUEST, message), (0, None)]
    assert [one.resource_name for one in broker.controller.forwarded[0][0].resources] == ["t"]


async def test_a_resource_named_twice_is_refused_each_time(broker: FakeBroker):
    request = incremental((TOPIC, "t", []), (TOPIC, "t", []))
    refused = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert await codes(broker, request) == [refused, refused]
    assert broker.controller.forwarded == []


async def test_loggers_are_set_here(broker: FakeBroker):
    logger = logging.getLogger(NAME)
    asked = (LOGGER, "1", [(NAME, SET, "ERROR")])
    assert await codes(broker, incremental(asked, validate_only=True)) == [(0, None)]
    assert logger.level == logging.NOTSET
    assert await codes(broker, incremental(asked)) == [(0, None)]
    assert logger.level == logging.ERROR
    await codes(broker, incremental((LOGGER, "1", [(NAME, DELETE, None)])))
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([(NAME, SET, "INFO"), (NAME, SET, "WARN")], "Error due to duplicate config keys"),
        ([(NAME, SET, None)], f"Null value not supported for : {NAME}"),
    ],
)
async def test_wishes_for_loggers_are_well_formed(
    broker: FakeBroker, entries: list[tuple[str, int, str | None]], message: str
):
    assert await codes(broker, incremental((LOGGER, "1", entries))) == [
        (ErrorCode.INVALID_REQUEST, message)
    ]


async def test_a_silent_controller_is_told_per_resource(broker: FakeBroker):
    broker.controller.answer = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "silence")
    assert await codes(broker, incremental((TOPIC, "t", []))) == [(7, "silence")]


async def test_stores_of_listeners_are_checked_here_before_they_are_passed_on(broker: FakeBroker):
    key = "listener.name.clients.ssl.keystore.location"
    asked: list[BrokerOverrides] = []

    def refuse(overrides: BrokerOverrides) -> None:
        asked.append(overrides)
        raise KafkaError(ErrorCode.INVALID_REQUEST, "no such store")

    broker.context.check_listeners = refuse
    broker.broker_configs.set({"log.retention.ms": "5", key: "/old"})
    found = await codes(broker, incremental((BROKER, "1", [(key, SET, "/new")])))
    assert found == [(ErrorCode.INVALID_REQUEST, "no such store")]
    assert await codes(broker, incremental((BROKER, "1", [(key, DELETE, None)]))) == found
    assert [each.dynamic for each in asked] == [
        {"log.retention.ms": "5", key: "/new"},
        {"log.retention.ms": "5"},
    ]
    assert broker.controller.forwarded == []
    unprefixed = await codes(
        broker, incremental((BROKER, "1", [("ssl.keystore.type", SET, "PEM")]))
    )
    assert "only per-listener using the listener prefix" in str(unprefixed[0][1])
    assert len(asked) == 2
