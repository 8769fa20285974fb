"""Delegation tokens in znodes, where Apache Kafka's brokers have them."""

from __future__ import annotations

from broker.zookeeper.znode_configs import described
from broker.zookeeper.znode_tokens import altered_tokens, listed_tokens
from protocol.configs.messages import DELEGATION_TOKENS, TOKEN
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)
from protocol.zookeeper.paths import TOKEN_CHANGES, TOKENS
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper


def altering(text: str | None) -> IncrementalAlterConfigsRequest:
    config = IncrementalAlterConfigsRequestAlterableConfig(
        name=TOKEN, config_operation=0 if text else 1, value=text
    )
    resource = IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=DELEGATION_TOKENS, resource_name="t", configs=[config]
    )
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)


async def told(zookeeper: FakeZookeeper) -> dict[str, list[str | None]]:
    listed = await listed_tokens(zookeeper)
    resources = [
        DescribeConfigsResource(
            resource_type=DELEGATION_TOKENS, resource_name=each.resource_name, configuration_keys=[]
        )
        for each in listed.config_resources
    ]
    answer = await described(zookeeper, DescribeConfigsRequest(resources=resources))
    return {each.resource_name: [it.value for it in each.configs] for each in answer.results}


async def test_a_token_is_made_changed_and_removed_and_each_time_the_others_hear_of_it() -> None:
    zookeeper = FakeZookeeper()
    zookeeper.start()
    assert await told(zookeeper) == {}
    for number, text in enumerate(("one", "two", None), 1):
        answer = await altered_tokens(zookeeper, altering(text))
        assert [each.error_code for each in answer.responses] == [0]
        assert await told(zookeeper) == ({"t": [text]} if text else {})
        changes = zookeeper.server.names(TOKEN_CHANGES)
        assert len(changes) == number
        assert zookeeper.znodes[f"{TOKEN_CHANGES}/{changes[-1]}"] == b"t"
    assert zookeeper.server.names(TOKENS) == []
