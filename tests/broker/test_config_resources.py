"""Each resource is answered by whom it concerns, in the order asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from broker.config_resources import answer_each, check_own_id, invalid_request
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import AlterConfigsResource, AlterConfigsResourceResponse

TOPIC, BROKER, LOGGER = 2, 4, 8


def resource(kind: int, name: str) -> AlterConfigsResource:
    return AlterConfigsResource(resource_type=kind, resource_name=name)


def accept(_asked: AlterConfigsResource) -> None:
    """Have nothing against it."""


async def test_the_rest_is_passed_on_in_one_request_and_put_in_its_place():
    passed_on: list[list[str]] = []

    def refuse_levels(_asked: AlterConfigsResource) -> None:
        raise invalid_request("levels")

    async def forward(
        passed: Sequence[AlterConfigsResource],
    ) -> Sequence[AlterConfigsResourceResponse]:
        passed_on.append([one.resource_name for one in passed])
        return [AlterConfigsResourceResponse(resource_name=one.resource_name) for one in passed]

    asked = [
        resource(TOPIC, "t"),
        resource(LOGGER, "1"),
        resource(BROKER, "2"),
        resource(BROKER, ""),
    ]
    answers = await answer_each(1, asked, refuse_levels, accept, forward)

    assert passed_on == [["t", ""]]
    assert [(one.resource_name, one.error_code) for one in answers] == [
        ("t", 0),
        ("1", ErrorCode.INVALID_REQUEST),
        ("2", ErrorCode.INVALID_REQUEST),
        ("", 0),
    ]


async def test_nothing_is_passed_on_when_nothing_is_left():
    async def forward(
        _passed: Sequence[AlterConfigsResource],
    ) -> Sequence[AlterConfigsResourceResponse]:
        raise AssertionError("passed on")

    (answer,) = await answer_each(1, [resource(BROKER, "x")], accept, accept, forward)
    assert answer.error_message == "Node id must be an integer, but it is: x"


def test_the_own_id_is_the_only_one():
    check_own_id(1, "1", "broker id, expected")
    with pytest.raises(KafkaError, match="Unexpected broker id, expected 1, but received 2"):
        check_own_id(1, "2", "broker id, expected")


async def test_what_this_broker_refuses_for_itself_is_not_passed_on():
    async def forward(
        passed: Sequence[AlterConfigsResource],
    ) -> Sequence[AlterConfigsResourceResponse]:
        return [AlterConfigsResourceResponse(resource_name=one.resource_name) for one in passed]

    def refuse(_asked: AlterConfigsResource) -> None:
        raise invalid_request("no such store")

    asked = [resource(BROKER, "1"), resource(BROKER, ""), resource(TOPIC, "1")]
    answers = await answer_each(1, asked, accept, refuse, forward)
    assert [one.error_message or "" for one in answers] == ["no such store", "", ""]
