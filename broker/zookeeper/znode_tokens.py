"""Delegation tokens in znodes, as the answers that a controller of jbodlab would give.

Source: KafkaZkClient.scala, DelegationTokenManagerZk.scala.
"""

from __future__ import annotations

from protocol.configs.messages import DELEGATION_TOKENS, TOKEN, alter_response
from protocol.messages.configs import (
    ConfigResource,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesResponse,
)
from protocol.zookeeper import paths
from protocol.zookeeper.operations import Set
from protocol.zookeeper_client.port import NotCommittedError, ZookeeperPort


async def listed_tokens(zookeeper: ZookeeperPort) -> ListConfigResourcesResponse:
    """Name all tokens, and make the folders that Kafka's brokers make.

    Raises:
        ConnectionError: ZooKeeper does not answer.
    """
    for folder in (paths.TOKENS, paths.TOKEN_CHANGES):
        await zookeeper.ensure(folder)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=token_id, resource_type=DELEGATION_TOKENS)
            for token_id in sorted(await zookeeper.children(paths.TOKENS))
        ]
    )


async def described_token(
    zookeeper: ZookeeperPort, asked: DescribeConfigsResource
) -> DescribeConfigsResult:
    """Tell one token; of one that is gone, nothing."""
    data = await zookeeper.get(f"{paths.TOKENS}/{asked.resource_name}")
    configs = [DescribeConfigsResourceResult(name=TOKEN, value=data.decode())] if data else []
    return DescribeConfigsResult(
        resource_type=DELEGATION_TOKENS, resource_name=asked.resource_name, configs=configs
    )


async def altered_tokens(
    zookeeper: ZookeeperPort, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Write or remove each, and have the other brokers look."""
    for asked in request.resources:
        path = f"{paths.TOKENS}/{asked.resource_name}"
        (text,) = [each.value for each in asked.configs]
        if text is None:
            await zookeeper.delete(path)
        else:
            await _put(zookeeper, path, text.encode())
        change = asked.resource_name.encode()
        await zookeeper.create_sequential(paths.TOKEN_CHANGE_PREFIX, change)
    return IncrementalAlterConfigsResponse(
        responses=[alter_response(asked, None) for asked in request.resources]
    )


async def _put(zookeeper: ZookeeperPort, path: str, data: bytes) -> None:
    try:
        await zookeeper.commit([Set(path, data)])
    except NotCommittedError:
        await zookeeper.ensure(path, data)
