"""Settings out of znodes, as the answers that a controller of jbodlab would give.

Settings of groups are not kept in ZooKeeper: no group has any there.
"""

from __future__ import annotations

from broker.zookeeper.znode_credentials import described_credentials
from broker.zookeeper.znode_tokens import described_token
from protocol.configs.messages import DELEGATION_TOKENS, SCRAM_CREDENTIALS
from protocol.configs.types import ConfigSource, ResourceType
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.zookeeper.paths import config_path, entity_path
from protocol.zookeeper.znodes import ConfigZnode, decode
from protocol.zookeeper_client.port import ZookeeperPort


async def described(
    zookeeper: ZookeeperPort, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Return what is set, and nothing of what is not.

    Raises:
        ConnectionError: ZooKeeper does not answer.
        MalformedZnode: a znode holds no settings.
    """
    results = [await _result(zookeeper, asked) for asked in request.resources]
    return DescribeConfigsResponse(results=results)


async def _result(
    zookeeper: ZookeeperPort, asked: DescribeConfigsResource
) -> DescribeConfigsResult:
    if asked.resource_type == DELEGATION_TOKENS:
        return await described_token(zookeeper, asked)
    if asked.resource_type == SCRAM_CREDENTIALS:
        return await described_credentials(zookeeper, asked)
    kind = ResourceType(asked.resource_type)
    path = config_path(entity_path(kind, asked.resource_name))
    data = await zookeeper.get(path)
    texts = {} if data is None else decode(data, ConfigZnode, path).config
    source = _source(kind, asked.resource_name)
    return DescribeConfigsResult(
        resource_type=kind,
        resource_name=asked.resource_name,
        configs=[
            DescribeConfigsResourceResult(name=name, value=value, config_source=source)
            for name, value in texts.items()
        ],
    )


def _source(kind: ResourceType, name: str) -> ConfigSource:
    if kind is ResourceType.TOPIC:
        return ConfigSource.DYNAMIC_TOPIC_CONFIG
    return (
        ConfigSource.DYNAMIC_BROKER_CONFIG if name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    )
