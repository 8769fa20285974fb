"""DescribeConfigs: topics by the controller's word, this broker by its file."""

from __future__ import annotations

import pytest

from protocol.configs import ConfigSource
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from tests.broker.fakes import FakeBroker

TOPIC, BROKER, LOGGER = 2, 4, 8


def describe(kind: int, name: str, *keys: str) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
            )
        ]
    )


async def result(broker: FakeBroker, request: DescribeConfigsRequest) -> DescribeConfigsResult:
    return (await broker.ask(request, 4)).results[0]


@pytest.mark.parametrize("version", range(5))
async def test_a_topic_has_its_own_settings_and_the_defaults(broker: FakeBroker, version: int):
    broker.topic_configs.known["orders"] = {"min.insync.replicas": "2"}
    response = await broker.ask(describe(TOPIC, "orders"), version)
    (topic,) = response.results
    assert (topic.error_code, topic.error_message) == (0, "")
    entries = {entry.name: entry for entry in topic.configs}
    own, default = entries["min.insync.replicas"], entries["retention.ms"]
    assert (own.value, default.value) == ("2", "604800000")
    if version == 0:
        assert (own.is_default, default.is_default) == (False, True)
    else:
        assert own.config_source == ConfigSource.TOPIC
        assert default.config_source == ConfigSource.DEFAULT


async def test_only_the_keys_asked_for_come_back(broker: FakeBroker):
    broker.topic_configs.known["orders"] = {}
    topic = await result(broker, describe(TOPIC, "orders", "retention.ms"))
    assert [entry.name for entry in topic.configs] == ["retention.ms"]


async def test_synonyms_and_documentation_come_on_request(broker: FakeBroker):
    broker.topic_configs.known["orders"] = {"min.insync.replicas": "2"}
    request = describe(TOPIC, "orders", "min.insync.replicas")
    plain = (await result(broker, request)).configs[0]
    assert (list(plain.synonyms), plain.documentation) == ([], None)
    request.include_synonyms = request.include_documentation = True
    full = (await result(broker, request)).configs[0]
    assert [s.source for s in full.synonyms] == [ConfigSource.TOPIC, ConfigSource.DEFAULT]
    assert full.documentation


async def test_an_unknown_topic_is_told(broker: FakeBroker):
    topic = await result(broker, describe(TOPIC, "nothing"))
    assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_silent_controller_is_told_per_topic(broker: FakeBroker):
    topic = await result(broker, describe(TOPIC, "orders"))
    assert (topic.error_code, topic.error_message) == (7, "no controller")


async def test_this_broker_shows_what_its_file_sets():
    broker = FakeBroker(log_dirs="/d1,/d2", num_partitions="3")
    own = await result(broker, describe(BROKER, "1", "log.dirs", "num.partitions"))
    assert {e.name: (e.value, e.config_source, e.read_only) for e in own.configs} == {
        "log.dirs": ("/d1,/d2", ConfigSource.STATIC_BROKER, True),
        "num.partitions": ("3", ConfigSource.STATIC_BROKER, True),
    }


@pytest.mark.parametrize(
    ("name", "code"), [("", ErrorCode.NONE), ("2", ErrorCode.INVALID_REQUEST), ("x", 42)]
)
async def test_other_brokers_are_refused(broker: FakeBroker, name: str, code: int):
    other = await result(broker, describe(BROKER, name))
    assert (other.error_code, list(other.configs)) == (code, [])


async def test_an_unknown_kind_refuses_the_whole_request(broker: FakeBroker):
    request = describe(LOGGER, "1")
    request.resources = [*describe(TOPIC, "orders").resources, *request.resources]
    response = await broker.ask(request, 4)
    assert [r.error_code for r in response.results] == [ErrorCode.INVALID_REQUEST] * 2
