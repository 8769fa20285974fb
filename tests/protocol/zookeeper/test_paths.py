"""Paths against those that Apache Kafka 3.9.2 made."""

from __future__ import annotations

import pytest

from protocol.configs.types import ResourceType
from protocol.zookeeper import paths
from tests.protocol.zookeeper.test_znodes import RECORDED


def test_every_path_that_a_broker_makes_is_there() -> None:
    assert set(paths.MADE_BY_BROKERS) <= set(RECORDED)


def test_paths_of_brokers_topics_and_settings_are_those_of_kafka() -> None:
    made = [
        paths.CLUSTER_ID,
        paths.CONTROLLER,
        paths.CONTROLLER_EPOCH,
        paths.FEATURE,
        paths.broker_path(2),
        paths.topic_path("plain"),
        paths.partition_state_path("plain", 1),
        paths.config_path(paths.entity_path(ResourceType.TOPIC, "plain")),
        paths.config_path(paths.entity_path(ResourceType.BROKER, "1")),
        paths.config_path(paths.entity_path(ResourceType.BROKER, "")),
        paths.LOG_DIR_EVENT_PREFIX + "0000000000",
        paths.CONFIG_CHANGE_PREFIX + "0000000001",
    ]
    assert [path for path in made if path not in RECORDED] == []


@pytest.mark.parametrize(
    ("connect", "expected"),
    [
        ("z1:2181,z2:2181", ("z1:2181,z2:2181", "")),
        ("z1:2181/", ("z1:2181", "")),
        ("z1:2181/kafka", ("z1:2181", "/kafka")),
        ("z1:2181,z2:2181/a/b/", ("z1:2181,z2:2181", "/a/b")),
    ],
)
def test_a_chroot_stands_behind_the_hosts(connect: str, expected: tuple[str, str]) -> None:
    assert paths.split_connect(connect) == expected
