"""DescribeConfigs: topics by the controller's word, this broker by its file."""

from __future__ import annotations

import pytest

from protocol.configs.parsing import BrokerOverrides, ConfigSource
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from tests.broker.fakes import FakeBroker, topic_state, update_metadata

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP, UNKNOWN = 2, 4, 8, 16, 32, 3


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
        assert own.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG
        assert default.config_source == ConfigSource.DEFAULT_CONFIG


@pytest.mark.parametrize(
    ("release", "protocols"),
    [("3.9", "classic"), ("4.0", "classic,consumer"), (None, "classic,consumer")],
)
async def test_a_default_is_that_of_the_release(
    broker: FakeBroker, release: str | None, protocols: str
):
    broker.context.release = release
    asked = describe(BROKER, "1", "group.coordinator.rebalance.protocols")
    (entry,) = (await result(broker, asked)).configs
    assert (entry.value, entry.config_source) == (protocols, ConfigSource.DEFAULT_CONFIG)


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
    assert [s.source for s in full.synonyms] == [
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
        ConfigSource.DEFAULT_CONFIG,
    ]
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
        "log.dirs": ("/d1,/d2", ConfigSource.STATIC_BROKER_CONFIG, True),
        "num.partitions": ("3", ConfigSource.STATIC_BROKER_CONFIG, True),
    }


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (BROKER, "2", "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", "Broker id must be an integer, but it is: x"),
        (LOGGER, "2", "Unexpected broker id, expected 1 but received 2"),
        (LOGGER, "", "Broker id must not be empty"),
    ],
)
async def test_other_brokers_are_refused(broker: FakeBroker, kind: int, name: str, message: str):
    other = await result(broker, describe(kind, name))
    assert (other.error_code, other.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert list(other.configs) == []


async def test_a_name_that_no_topic_can_have_is_told(broker: FakeBroker):
    other = await result(broker, describe(TOPIC, ""))
    assert other.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert other.error_message == "Topic name is invalid: the empty string is not allowed"


def dynamic_broker() -> FakeBroker:
    broker = FakeBroker(log_segment_bytes="5000")
    broker.broker_configs.overrides = BrokerOverrides(
        static=broker.broker_configs.overrides.static,
        dynamic={"log.segment.bytes": "7000"},
        dynamic_default={"log.segment.bytes": "6000", "min.insync.replicas": "2"},
    )
    return broker


async def test_where_a_brokers_settings_come_from_is_told_strongest_first():
    request = describe(BROKER, "1", "log.segment.bytes")
    request.include_synonyms = True
    (entry,) = (await result(dynamic_broker(), request)).configs
    assert (entry.value, entry.config_source) == ("7000", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert [(s.value, s.source) for s in entry.synonyms] == [
        ("7000", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("6000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("5000", ConfigSource.STATIC_BROKER_CONFIG),
        ("1073741824", ConfigSource.DEFAULT_CONFIG),
    ]


async def test_without_a_name_the_settings_of_all_brokers_are_described():
    everyone = await result(dynamic_broker(), describe(BROKER, ""))
    assert [(e.name, e.value, e.config_source) for e in everyone.configs] == [
        ("log.segment.bytes", "6000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("min.insync.replicas", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
    ]


async def test_a_topic_shows_what_brokers_have_dynamically():
    broker = dynamic_broker()
    broker.engine.metadata.update(update_metadata(topic_state()))
    broker.topic_configs.known["orders"] = {}
    topic = await result(broker, describe(TOPIC, "orders", "segment.bytes"))
    assert [(e.value, e.config_source) for e in topic.configs] == [
        ("7000", ConfigSource.DYNAMIC_BROKER_CONFIG)
    ]


async def test_loggers_have_levels(broker: FakeBroker):
    loggers = await result(broker, describe(LOGGER, "1", "root"))
    (root,) = loggers.configs
    assert (root.name, root.config_source, root.read_only) == ("root", 6, False)
    assert root.value in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")


async def test_an_unknown_kind_refuses_the_whole_request(broker: FakeBroker):
    request = describe(UNKNOWN, "1")
    request.resources = [*describe(TOPIC, "orders").resources, *request.resources]
    response = await broker.ask(request, 4)
    assert [r.error_code for r in response.results] == [ErrorCode.INVALID_REQUEST] * 2


async def test_client_metrics_are_refused_alone(broker: FakeBroker):
    request = describe(CLIENT_METRICS, "1")
    request.resources = [*request.resources, *describe(BROKER, "1", "log.dirs").resources]
    refused, described = (await broker.ask(request, 4)).results
    assert (refused.error_code, refused.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Config type client-metrics is only supported on KRaft clusters",
    )
    assert [entry.name for entry in described.configs] == ["log.dirs"]


async def test_what_would_be_in_force_otherwise_is_told_in_its_own_unit():
    broker = FakeBroker()
    broker.broker_configs.overrides = BrokerOverrides(
        static={"log.retention.hours": "24"},
        dynamic={},
        dynamic_default={"log.retention.ms": "5000", "log.roll.ms": "7"},
    )
    request = describe(BROKER, "1", "log.retention.ms", "log.retention.hours", "log.roll.ms")
    request.include_synonyms = True
    entries = {entry.name: entry for entry in (await result(broker, request)).configs}
    shown = {
        name: [(s.name, s.value, s.source) for s in entry.synonyms]
        for name, entry in entries.items()
    }
    hours = [
        ("log.retention.hours", "24", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]
    assert shown == {
        "log.retention.ms": [
            ("log.retention.ms", "5000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            *hours,
        ],
        "log.retention.hours": hours,
        "log.roll.ms": [
            ("log.roll.ms", "7", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            ("log.roll.hours", "168", ConfigSource.DEFAULT_CONFIG),
        ],
    }


async def test_a_throttle_has_no_default():
    broker = FakeBroker()
    name = "leader.replication.throttled.rate"
    broker.broker_configs.overrides = BrokerOverrides(
        static={}, dynamic={name: "5"}, dynamic_default={}
    )
    request = describe(BROKER, "1", name)
    request.include_synonyms = True
    (entry,) = (await result(broker, request)).configs
    assert [(s.value, s.source) for s in entry.synonyms] == [
        ("5", ConfigSource.DYNAMIC_BROKER_CONFIG)
    ]


async def test_a_group_has_its_own_settings_and_the_defaults(broker: FakeBroker):
    broker.group_configs.known["g"] = {"consumer.session.timeout.ms": "50000"}
    group = await result(broker, describe(GROUP, "g"))
    entries = {entry.name: (entry.value, entry.config_source) for entry in group.configs}
    assert entries["consumer.session.timeout.ms"] == ("50000", ConfigSource.DYNAMIC_GROUP_CONFIG)
    assert entries["consumer.heartbeat.interval.ms"] == ("5000", ConfigSource.DEFAULT_CONFIG)


async def test_a_group_without_a_name_is_refused(broker: FakeBroker):
    group = await result(broker, describe(GROUP, ""))
    assert group.error_code == ErrorCode.INVALID_REQUEST
    assert group.error_message == "Group name must not be empty"
