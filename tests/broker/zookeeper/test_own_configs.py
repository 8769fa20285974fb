"""A broker writes what it is set to itself, and has the controller change all else."""

from __future__ import annotations

import json
from typing import Any

from broker.zookeeper.own_configs import OwnConfigs
from protocol.configs.types import AlterOperation, ResourceType
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from protocol.zookeeper_client.port import NotPermittedError
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper

RATE = "leader.replication.throttled.rate"
PATH = "/config/brokers/3"


class _Lab:
    def __init__(self) -> None:
        self.zookeeper = FakeZookeeper()
        self.zookeeper.start()
        self.own = OwnConfigs(self.zookeeper, 3, {})
        self.passed: list[Any] = []

    async def pass_on(self, request: Any) -> Any:
        self.passed.append(request)
        answers = [
            AlterConfigsResourceResponse(
                error_code=ErrorCode.INVALID_CONFIG,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
        return IncrementalAlterConfigsResponse(responses=answers)

    async def set(self, name: str, value: str | None, *, only_check: bool = False) -> int:
        operation = AlterOperation.DELETE if value is None else AlterOperation.SET
        asked = _resource(ResourceType.BROKER, "3", name, operation, value)
        request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=only_check)
        (answer,) = (await self.own.alter(request, self.pass_on)).responses
        return answer.error_code

    @property
    def texts(self) -> dict[str, str]:
        return json.loads(self.zookeeper.znodes[PATH])["config"]

    @property
    def changes(self) -> list[str]:
        return [
            self.zookeeper.znodes[f"/config/changes/{name}"].decode()
            for name in self.zookeeper.names("/config/changes")
        ]


def _resource(
    kind: ResourceType, name: str, key: str, operation: AlterOperation, value: str | None
) -> IncrementalAlterConfigsRequestAlterConfigsResource:
    one = IncrementalAlterConfigsRequestAlterableConfig(
        name=key, config_operation=operation, value=value
    )
    return IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[one]
    )


async def test_a_rate_is_set_told_to_all_and_unset_again() -> None:
    lab = _Lab()
    assert await lab.set(RATE, "1000") == ErrorCode.NONE
    assert lab.zookeeper.znodes[PATH].startswith(b'{"version":1,"config":{')
    assert lab.texts == {RATE: "1000"}
    assert await lab.set("follower.replication.throttled.rate", "2000") == ErrorCode.NONE
    assert await lab.set(RATE, None) == ErrorCode.NONE
    assert lab.texts == {"follower.replication.throttled.rate": "2000"}
    assert lab.changes == ['{"version":2,"entity_path":"brokers/3"}'] * 3
    assert lab.passed == []


async def test_what_cannot_be_or_is_only_checked_changes_nothing() -> None:
    lab = _Lab()
    assert await lab.set(RATE, "many") == ErrorCode.INVALID_REQUEST
    assert await lab.set("broker.id", "4") == ErrorCode.INVALID_REQUEST
    assert await lab.set("num.replica.fetchers", "9") == ErrorCode.INVALID_REQUEST
    assert await lab.set(RATE, "1000", only_check=True) == ErrorCode.NONE
    assert await lab.set(RATE, None) == ErrorCode.NONE
    assert PATH not in lab.zookeeper.znodes
    assert lab.changes == []


async def test_a_password_is_not_written_in_plain_text() -> None:
    lab = _Lab()
    assert await lab.set("ssl.keystore.password", "secret") == ErrorCode.INVALID_REQUEST
    assert PATH not in lab.zookeeper.znodes


async def test_all_of_it_is_replaced_by_alter_configs() -> None:
    lab = _Lab()
    await lab.set(RATE, "1000")
    one = AlterableConfig(name="log.cleaner.threads", value="2")
    asked = AlterConfigsResource(
        resource_type=ResourceType.BROKER, resource_name="3", configs=[one]
    )
    request = AlterConfigsRequest(resources=[asked], validate_only=False)
    await lab.own.alter(request, lab.pass_on)
    assert lab.texts == {"log.cleaner.threads": "2"}


async def test_the_rest_of_a_request_is_the_controllers_and_answers_keep_their_order() -> None:
    lab = _Lab()
    of_all = _resource(ResourceType.BROKER, "", RATE, AlterOperation.SET, "5")
    own = _resource(ResourceType.BROKER, "3", RATE, AlterOperation.SET, "6")
    topic = _resource(ResourceType.TOPIC, "t", "retention.ms", AlterOperation.SET, "7")
    request = IncrementalAlterConfigsRequest(resources=[of_all, own, topic], validate_only=False)
    response = await lab.own.alter(request, lab.pass_on)
    assert [(each.resource_name, each.error_code) for each in response.responses] == [
        ("", ErrorCode.INVALID_CONFIG),
        ("3", ErrorCode.NONE),
        ("t", ErrorCode.INVALID_CONFIG),
    ]
    assert [each.resources for each in lab.passed] == [[of_all, topic]]
    assert lab.texts == {RATE: "6"}


async def test_a_change_beside_another_loses_neither() -> None:
    lab = _Lab()
    await lab.set(RATE, "1000")
    find = lab.zookeeper.find
    is_written = False

    async def find_late(path: str, watch: Any = None) -> Any:
        """Somebody else writes just after the first look."""
        nonlocal is_written
        found = await find(path, watch)
        if path == PATH and not is_written:
            is_written = True
            data = b'{"version":1,"config":{"log.cleaner.threads":"2"}}'
            lab.zookeeper.server.put(PATH, data)
        return found

    lab.zookeeper.find = find_late
    assert await lab.set(RATE, "5") == ErrorCode.NONE
    assert lab.texts == {"log.cleaner.threads": "2", RATE: "5"}


async def test_a_znode_that_is_another_users_is_told_and_not_tried_again() -> None:
    lab = _Lab()

    async def refuse(operations: Any) -> None:
        raise NotPermittedError(operations[0].path)

    lab.zookeeper.commit = refuse
    assert await lab.set(RATE, "5") == ErrorCode.UNKNOWN_SERVER_ERROR
    assert PATH not in lab.zookeeper.znodes
