"""Settings out of znodes."""

from __future__ import annotations

from broker.zookeeper.znode_configs import described
from protocol.admin.configs import describe_configs_request, set_for
from protocol.configs.types import ConfigSource, ResourceType
from tests.protocol.zookeeper_client.fake_zookeeper import FakeZookeeper


async def test_settings_of_topics_and_brokers_are_those_of_their_znodes() -> None:
    zookeeper = FakeZookeeper()
    zookeeper.start()
    zookeeper.znodes["/config/topics/t"] = b'{"version":1,"config":{"retention.ms":"60000"}}'
    zookeeper.znodes["/config/brokers/<default>"] = b'{"version":1,"config":{"a.b":"2"}}'
    request = describe_configs_request(ResourceType.TOPIC, ["t", "unknown"])
    topics = (await described(zookeeper, request)).results
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert [set_for(each, source) for each in topics] == [{"retention.ms": "60000"}, {}]
    request = describe_configs_request(ResourceType.BROKER, ["3", ""])
    own, everybody = (await described(zookeeper, request)).results
    assert set_for(own, ConfigSource.DYNAMIC_BROKER_CONFIG) == {}
    assert set_for(everybody, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG) == {"a.b": "2"}
