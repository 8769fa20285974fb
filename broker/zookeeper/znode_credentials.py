"""SCRAM credentials in znodes, as the answers that a controller of jbodlab would give to a broker.

Apache Kafka's controller, asked for them, tells how often they were hashed and nothing else; its
brokers read ``/config/users`` themselves. Source: ScramCredentialUtils, Sanitizer, AdminZkClient.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from protocol.configs.messages import SCRAM_CREDENTIALS
from protocol.messages.configs import (
    ConfigResource,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    ListConfigResourcesResponse,
)
from protocol.security.scram import HASHES
from protocol.zookeeper.paths import ALL_BROKERS_ENTITY, config_path
from protocol.zookeeper.znodes import ConfigZnode, decode
from protocol.zookeeper_client.port import ZookeeperPort


async def listed_users(zookeeper: ZookeeperPort) -> ListConfigResourcesResponse:
    """Name all users of whom something is set, quotas too.

    Raises:
        ConnectionError: ZooKeeper does not answer.
    """
    names = sorted(await zookeeper.children(config_path("users")))
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=unquote(name), resource_type=SCRAM_CREDENTIALS)
            for name in names
            if name != ALL_BROKERS_ENTITY
        ]
    )


async def described_credentials(
    zookeeper: ZookeeperPort, asked: DescribeConfigsResource
) -> DescribeConfigsResult:
    """Tell one user's, by mechanism; of one who is gone, nothing."""
    path = config_path(f"users/{quote(asked.resource_name, safe='-._')}")
    data = await zookeeper.get(path)
    texts = {} if data is None else decode(data, ConfigZnode, path).config
    return DescribeConfigsResult(
        resource_type=SCRAM_CREDENTIALS,
        resource_name=asked.resource_name,
        configs=[
            DescribeConfigsResourceResult(name=mechanism, value=texts[mechanism])
            for mechanism in HASHES
            if mechanism in texts
        ],
    )
