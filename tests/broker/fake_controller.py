"""A controller of a few lines behind a real RpcServer: real bytes over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from protocol.apis import APIS
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode
from protocol.messages.acls import DescribeAclsResource, DescribeAclsResponse
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesResponse,
)
from protocol.messages.control import AlterPartitionResponse
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControlledShutdownResponse,
)
from protocol.messages.producer_ids import AllocateProducerIdsResponse
from protocol.messages.quotas import DescribeClientQuotasResponse, EntryData
from protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.ports import Buffer
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from tests.deadlines import DEADLINE_S

BROKER_RESOURCE = 4
GROUP_RESOURCE = 32
SCRAM_RESOURCE = 127
TOKEN_RESOURCE = 126
_ACLS = 29
_QUOTAS = 48


class FakeController:
    """Answers brokers; tests look at ``requests`` and change the answers."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.broker_epoch = 7
        self.registration_codes: list[ErrorCode] = []
        """Answered first; then every registration is accepted."""
        self.heartbeat_codes: list[ErrorCode] = []
        self.allocate_code = ErrorCode.NONE
        self.block_count = 2
        self.remaining: list[list[Any]] = []
        self.configs: dict[str, dict[str, str]] = {}
        self.broker_configs: dict[str, dict[str, str]] = {}
        """Dynamic ones, by broker id as text; "" for all brokers."""
        self.group_configs: dict[str, dict[str, str]] = {}
        self.scram: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, dict[str, str]] = {}
        self.acls: list[DescribeAclsResource] = []
        self.acls_code = ErrorCode.NONE
        self.client_quotas: list[EntryData] = []
        self.client_quotas_code = ErrorCode.NONE
        self.describe_code = ErrorCode.NONE
        """Of brokers."""
        self.held: dict[type, asyncio.Event] = {}
        """Requests of these classes wait for the event before they are answered."""
        self.garbled: dict[type[Any], int] = {}
        """How many of the next requests of a class are answered with what is no answer."""
        self.port = 0
        self._changed = asyncio.Event()
        self._next_producer_id = 0
        self._server = RpcServer(self._dispatch)

    async def start(self) -> None:
        """Listen on the same port as before, if there was one."""
        self._server = RpcServer(self._dispatch)
        self.port = await self._server.start("127.0.0.1", self.port)

    async def stop(self) -> None:
        """Close every connection."""
        await self._server.stop()

    def connect(self) -> RpcClient:
        """Return a connection for a ControllerLink."""
        return RpcClient(host="127.0.0.1", port=self.port, client_id="1")

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the requests of one class, oldest first."""
        return [request for request in self.requests if isinstance(request, kind)]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a request makes ``condition`` true."""
        async with asyncio.timeout(DEADLINE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def until_heartbeats(self, count: int) -> list[BrokerHeartbeatRequest]:
        """Wait for ``count`` heartbeats in all; return all so far."""
        await self.until(lambda: len(self.of(BrokerHeartbeatRequest)) >= count)
        return self.of(BrokerHeartbeatRequest)

    async def _dispatch(self, received: RequestReceived, _peer: Peer) -> Sequence[Buffer]:
        api = APIS[received.api_key]
        request = codec(api.request, received.api_version).decode(received.body)
        self.requests.append(request)
        self._changed.set()
        if type(request) in self.held:
            await self.held[type(request)].wait()
        if self.garbled.get(api.request, 0) > 0:
            self.garbled[api.request] -= 1
            return [b"\xff"]
        told = {_ACLS: self._tell_acls, _QUOTAS: self._tell_quotas}.get(api.key)
        response = self._answer(api.name, request) if told is None else told()
        return codec(api.response, received.api_version).encode_parts(response)

    def _tell_acls(self) -> DescribeAclsResponse:
        return DescribeAclsResponse(
            error_code=self.acls_code, error_message=None, resources=self.acls
        )

    def _tell_quotas(self) -> DescribeClientQuotasResponse:
        return DescribeClientQuotasResponse(
            error_code=self.client_quotas_code, entries=self.client_quotas
        )

    def _answer(self, name: str, request: Any) -> Any:
        match name:
            case "BrokerRegistration":
                return self._register(request)
            case "BrokerHeartbeat":
                code = self.heartbeat_codes.pop(0) if self.heartbeat_codes else ErrorCode.NONE
                return BrokerHeartbeatResponse(
                    error_code=code, is_fenced=False, should_shut_down=request.want_shut_down
                )
            case "ControlledShutdown":
                left = self.remaining.pop(0) if self.remaining else []
                return ControlledShutdownResponse(remaining_partitions=left)
            case "AllocateProducerIds":
                return self._allocate()
            case "DescribeConfigs":
                return self._describe(request)
            case "ListConfigResources":
                return ListConfigResourcesResponse(
                    config_resources=[
                        ConfigResource(resource_name=group, resource_type=GROUP_RESOURCE)
                        for group in self.group_configs
                    ]
                    + [
                        ConfigResource(resource_name=user, resource_type=SCRAM_RESOURCE)
                        for user in self.scram
                    ]
                    + [
                        ConfigResource(resource_name=token_id, resource_type=TOKEN_RESOURCE)
                        for token_id in self.tokens
                    ]
                )
            case "CreateTopics":
                return self._create(request)
            case "IncrementalAlterConfigs":
                return self._alter_configs(request)
            case "AlterPartition":
                return AlterPartitionResponse()
            case _:
                raise AssertionError(f"no answer for {name}")

    def _alter_configs(
        self, request: IncrementalAlterConfigsRequest
    ) -> IncrementalAlterConfigsResponse:
        (resource,) = request.resources
        if resource.resource_type == TOKEN_RESOURCE:
            self._keep_token(resource)
        known = self.broker_configs.get(resource.resource_name, {})
        for one in resource.configs:
            known.pop(one.name, None)
        return IncrementalAlterConfigsResponse(
            responses=[AlterConfigsResourceResponse(resource_name=resource.resource_name)]
        )

    def _keep_token(self, asked: IncrementalAlterConfigsRequestAlterConfigsResource) -> None:
        (text,) = [each.value for each in asked.configs]
        self.tokens.pop(asked.resource_name, None)
        if text is not None:
            self.tokens[asked.resource_name] = {"token": text}

    def _register(self, _request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
        if self.registration_codes:
            return BrokerRegistrationResponse(error_code=self.registration_codes.pop(0))
        return BrokerRegistrationResponse(broker_epoch=self.broker_epoch)

    def _allocate(self) -> AllocateProducerIdsResponse:
        if self.allocate_code:
            return AllocateProducerIdsResponse(error_code=self.allocate_code)
        start = self._next_producer_id
        self._next_producer_id += self.block_count
        return AllocateProducerIdsResponse(
            producer_id_start=start, producer_id_len=self.block_count
        )

    def _describe(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        results: list[DescribeConfigsResult] = []
        for asked in request.resources:
            if asked.resource_type == BROKER_RESOURCE:
                results.append(self._describe_broker(asked.resource_name))
                continue
            if asked.resource_type == GROUP_RESOURCE:
                texts = self.group_configs.get(asked.resource_name, {})
                results.append(_described(GROUP_RESOURCE, asked.resource_name, texts, source=8))
                continue
            if asked.resource_type == TOKEN_RESOURCE:
                texts = self.tokens.get(asked.resource_name, {})
                results.append(_described(TOKEN_RESOURCE, asked.resource_name, texts, source=0))
                continue
            if asked.resource_type == SCRAM_RESOURCE:
                texts = self.scram.get(asked.resource_name, {})
                results.append(_described(SCRAM_RESOURCE, asked.resource_name, texts, source=0))
                continue
            result = DescribeConfigsResult(resource_type=2, resource_name=asked.resource_name)
            if asked.resource_name not in self.configs:
                result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                result.configs = [
                    DescribeConfigsResourceResult(name=name, value=value, config_source=1)
                    for name, value in self.configs[asked.resource_name].items()
                ] + [DescribeConfigsResourceResult(name="retention.ms", value="1", config_source=5)]
            results.append(result)
        return DescribeConfigsResponse(results=results)

    def _describe_broker(self, name: str) -> DescribeConfigsResult:
        texts = self.broker_configs.get(name, {})
        result = _described(BROKER_RESOURCE, name, texts, source=2 if name else 3)
        result.error_code = self.describe_code
        return result

    def _create(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        return CreateTopicsResponse(
            topics=[CreatableTopicResult(name=topic.name) for topic in request.topics]
        )


def _described(
    kind: int, name: str, texts: Mapping[str, str], *, source: int
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        resource_type=kind,
        resource_name=name,
        configs=[
            DescribeConfigsResourceResult(name=key, value=value, config_source=source)
            for key, value in texts.items()
        ],
    )
