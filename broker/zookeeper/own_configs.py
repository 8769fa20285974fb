"""What this broker is set to dynamically, written into ZooKeeper by itself, as Apache Kafka's do.

Apache Kafka's controller takes no change of another broker's. Source: ZkAdminManager.scala,
AdminZkClient.changeBrokerConfig.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from protocol.configs.broker import BROKER_KEYS
from protocol.configs.changes import (
    AlteredResource,
    apply_changes,
    asked_ops,
    check_ops,
    outcome,
)
from protocol.configs.listener_changes import refuse_passwords_in_zookeeper
from protocol.configs.messages import alter_response
from protocol.configs.reconfiguration import check_broker_change
from protocol.configs.types import ALL_BROKERS, ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import broker_id_from_text
from protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from protocol.zookeeper.operations import Create, Set
from protocol.zookeeper.paths import CONFIG_CHANGE_PREFIX, config_path, entity_path
from protocol.zookeeper.znodes import ConfigChangeZnode, ConfigZnode, decode, encode
from protocol.zookeeper_client.port import (
    Found,
    NotCommittedError,
    NotPermittedError,
    ZookeeperPort,
)


class OwnConfigs:
    """One broker's."""

    def __init__(self, zookeeper: ZookeeperPort, broker_id: int, static: Mapping[str, str]) -> None:
        """``static`` is what the cluster file sets for it, by Kafka's names."""
        self._zookeeper = zookeeper
        self._broker_id = broker_id
        self._static = static
        self._entity = entity_path(ResourceType.BROKER, str(broker_id))

    async def alter(
        self,
        request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
        pass_on: Callable[[Any], Awaitable[Any]],
    ) -> AlterConfigsResponse | IncrementalAlterConfigsResponse:
        """Change what is this broker's own, and have the controller change the rest.

        Raises:
            ConnectionError: ZooKeeper or the controller does not answer.
        """
        others = [each for each in request.resources if not self._is_own(each)]
        passed: Sequence[AlterConfigsResourceResponse] = ()
        if others or not request.resources:
            passed = (await pass_on(replace(request, resources=others))).responses
        rest = iter(passed)
        responses = [
            await self._altered(each, validate_only=request.validate_only)
            if self._is_own(each)
            else next(rest)
            for each in request.resources
        ]
        if isinstance(request, AlterConfigsRequest):
            return AlterConfigsResponse(responses=responses)
        return IncrementalAlterConfigsResponse(responses=responses)

    def _is_own(self, asked: AlteredResource) -> bool:
        if asked.resource_type != ResourceType.BROKER or asked.resource_name == ALL_BROKERS:
            return False
        try:
            return broker_id_from_text(asked.resource_name) == self._broker_id
        except ValueError:
            return False

    async def _altered(
        self, asked: AlteredResource, *, validate_only: bool
    ) -> AlterConfigsResourceResponse:
        try:
            while not await self._try(asked, validate_only=validate_only):
                continue  # Somebody else has just written there.
        except KafkaError as error:
            return alter_response(asked, error)
        except NotPermittedError as error:
            return alter_response(asked, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
        return alter_response(asked, None)

    async def _try(self, asked: AlteredResource, *, validate_only: bool) -> bool:
        """Check and write; return whether it is so now."""
        found = await self._zookeeper.find(config_path(self._entity))
        own = self._texts(found, config_path(self._entity))
        ops = asked_ops(asked, own)
        check_ops(ops)
        changes = outcome(BROKER_KEYS, own, ops)
        refuse_passwords_in_zookeeper(changes)
        of_all = config_path(entity_path(ResourceType.BROKER, ALL_BROKERS))
        defaults = self._texts(await self._zookeeper.find(of_all), of_all)
        check_broker_change(
            changes, static=self._static, defaults=defaults, own=own, is_default=False
        )
        after = apply_changes(own, changes)
        return validate_only or after == own or await self._write(found, after)

    def _texts(self, found: Found | None, path: str) -> dict[str, str]:
        return {} if found is None else dict(decode(found.data, ConfigZnode, path).config)

    async def _write(self, found: Found | None, texts: dict[str, str]) -> bool:
        path, data = config_path(self._entity), encode(ConfigZnode(config=texts))
        body = Create(path, data) if found is None else Set(path, data, found.version)
        change = encode(ConfigChangeZnode(entity_path=self._entity))
        try:
            await self._zookeeper.commit(
                [body, Create(CONFIG_CHANGE_PREFIX, change, is_sequential=True)]
            )
        except NotCommittedError:
            return False
        return True
