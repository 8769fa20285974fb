"""Configurations changed by clients: in force at once, on every broker, after every restart."""

from __future__ import annotations

from typing import Any

from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import CONTROLLER
from protocol.admin.configs import alter_configs_request
from protocol.configs.parsing import ConfigSource
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.integration.labs import DEADLINE_MS, Lab

MOVE_LIMIT = "replica.alter.log.dirs.io.max.bytes.per.second"
TOPIC, BROKER = ResourceType.TOPIC, ResourceType.BROKER
OWN, EVERYONES = ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG


def change(lab: Lab, kind: ResourceType, name: str, key: str, value: str | None) -> None:
    """Set a key, or unset it with None."""
    response = answer(lab, kind, name, alter_configs_request(kind, {name: {key: value}}), 1)
    assert [one.error_code for one in response.responses] == [ErrorCode.NONE]


def found(lab: Lab, kind: int, name: str, key: str) -> tuple[str | None, int] | None:
    """Return a key's value and where it comes from."""
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=[key]
    )
    response = answer(lab, kind, name, DescribeConfigsRequest(resources=[resource]), 4)
    (result,) = response.results
    assert result.error_code == ErrorCode.NONE
    return next(((one.value, one.config_source) for one in result.configs), None)


def answer(lab: Lab, kind: int, name: str, request: Any, version: int) -> Any:
    """Ask the broker that is meant, or any."""
    broker = lab.cluster.spec.broker(int(name) if kind == BROKER and name else 1)
    client = BlockingClient(broker.advertised_host, broker.advertised_port)
    try:
        return client.request(request, version)
    finally:
        client.close()


def test_a_topics_setting_is_seen_at_once(shared_lab: Lab):
    shared_lab.create("seen")
    change(shared_lab, TOPIC, "seen", "retention.ms", "86400000")
    assert found(shared_lab, TOPIC, "seen", "retention.ms") == (
        "86400000",
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
    )
    change(shared_lab, TOPIC, "seen", "retention.ms", None)
    assert found(shared_lab, TOPIC, "seen", "retention.ms") == (
        "604800000",
        ConfigSource.DEFAULT_CONFIG,
    )


def test_a_brokers_setting_goes_before_everyones(shared_lab: Lab):
    change(shared_lab, BROKER, "", MOVE_LIMIT, "2000000")
    change(shared_lab, BROKER, "1", MOVE_LIMIT, "1000000")
    assert found(shared_lab, BROKER, "1", MOVE_LIMIT) == ("1000000", OWN)
    assert found(shared_lab, BROKER, "2", MOVE_LIMIT) == (
        "2000000",
        EVERYONES,
    )
    change(shared_lab, BROKER, "1", MOVE_LIMIT, None)
    assert found(shared_lab, BROKER, "1", MOVE_LIMIT) == (
        "2000000",
        EVERYONES,
    )
    change(shared_lab, BROKER, "", MOVE_LIMIT, None)
    assert found(shared_lab, BROKER, "1", MOVE_LIMIT) is None


def test_settings_outlive_the_controller_and_the_broker(lab: Lab):
    (log_dir, *_others) = [one.path for one in lab.cluster.spec.broker(2).log_dirs]
    change(lab, BROKER, "2", "cordoned.log.dirs", log_dir)

    lab.cluster.kill(CONTROLLER)
    lab.cluster.start_controller()
    lab.cluster.restart_broker(2)
    lab.cluster.wait_until(lab.cluster.is_ready, "the cluster is whole", DEADLINE_MS)

    assert found(lab, BROKER, "2", "cordoned.log.dirs") == (log_dir, OWN)
