"""SCRAM credentials where Apache Kafka 3.9.2 keeps them."""

from __future__ import annotations

import json

from broker.zookeeper.znode_configs import described
from broker.zookeeper.znode_credentials import listed_users
from protocol.configs.messages import SCRAM_CREDENTIALS
from protocol.messages.configs import DescribeConfigsRequest, DescribeConfigsResource
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper

TEXT = "salt=c2FsdA==,stored_key=c3RvcmVk,server_key=c2VydmVy,iterations=4096"


async def told(zookeeper: FakeZookeeper) -> dict[str, dict[str, str | None]]:
    listed = await listed_users(zookeeper)
    resources = [
        DescribeConfigsResource(
            resource_type=SCRAM_CREDENTIALS,
            resource_name=each.resource_name,
            configuration_keys=None,
        )
        for each in listed.config_resources
    ]
    answer = await described(zookeeper, DescribeConfigsRequest(resources=resources))
    return {
        each.resource_name: {it.name: it.value for it in each.configs} for each in answer.results
    }


async def test_credentials_are_told_by_user_and_mechanism_and_quotas_are_none() -> None:
    zookeeper = FakeZookeeper()
    zookeeper.start()
    assert await told(zookeeper) == {}
    for name, texts in (
        ("ann", {"SCRAM-SHA-256": TEXT, "producer_byte_rate": "1000.0"}),
        ("CN%3Dbob%20%2A", {"SCRAM-SHA-512": TEXT}),
        ("quota", {"producer_byte_rate": "1000.0"}),
        ("<default>", {"producer_byte_rate": "1000.0"}),
    ):
        body = json.dumps({"version": 1, "config": texts}).encode()
        zookeeper.znodes[f"/config/users/{name}"] = body
    assert await told(zookeeper) == {
        "ann": {"SCRAM-SHA-256": TEXT},
        "CN=bob *": {"SCRAM-SHA-512": TEXT},
        "quota": {},
    }
