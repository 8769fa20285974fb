"""Configurations changed by clients: in force at once, on every broker, after every restart."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from jbodlab.cluster import CONTROLLER
from tests.integration.labs import DEADLINE_MS, Lab

DEADLINE_S = DEADLINE_MS / 1000
MOVE_LIMIT = "replica.alter.log.dirs.io.max.bytes.per.second"


class Configs:
    """One client's view of the cluster's configurations."""

    def __init__(self, lab: Lab) -> None:
        self._client = AdminClient({"bootstrap.servers": ",".join(lab.servers)})

    def set(self, kind: ResourceType, name: str, key: str, value: str | None) -> None:
        """Set a key, or unset it with None."""
        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry(key, value, incremental_operation=operation)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        for done in self._client.incremental_alter_configs([resource]).values():
            done.result(DEADLINE_S)

    def get(self, kind: ResourceType, name: str, key: str) -> tuple[str | None, str]:
        """Return a key's value and where it comes from."""
        (done,) = self._client.describe_configs([ConfigResource(kind, name)]).values()
        entry = done.result(DEADLINE_S).get(key)
        return (None, "") if entry is None else (entry.value, str(entry.source))


@pytest.fixture(scope="module")
def configs(shared_lab: Lab) -> Configs:
    return Configs(shared_lab)


TOPIC_SOURCE, BROKER_SOURCE, DEFAULT_BROKER_SOURCE = "1", "2", "3"


def test_a_topics_setting_is_seen_at_once(shared_lab: Lab, configs: Configs):
    shared_lab.create("seen")
    configs.set(ResourceType.TOPIC, "seen", "retention.ms", "86400000")
    assert configs.get(ResourceType.TOPIC, "seen", "retention.ms") == ("86400000", TOPIC_SOURCE)
    configs.set(ResourceType.TOPIC, "seen", "retention.ms", None)
    assert configs.get(ResourceType.TOPIC, "seen", "retention.ms")[0] == "604800000"


def test_a_brokers_setting_goes_before_everyones(shared_lab: Lab, configs: Configs):
    configs.set(ResourceType.BROKER, "", MOVE_LIMIT, "2000000")
    configs.set(ResourceType.BROKER, "1", MOVE_LIMIT, "1000000")
    assert configs.get(ResourceType.BROKER, "1", MOVE_LIMIT) == ("1000000", BROKER_SOURCE)
    assert configs.get(ResourceType.BROKER, "2", MOVE_LIMIT) == ("2000000", DEFAULT_BROKER_SOURCE)
    configs.set(ResourceType.BROKER, "1", MOVE_LIMIT, None)
    assert configs.get(ResourceType.BROKER, "1", MOVE_LIMIT) == ("2000000", DEFAULT_BROKER_SOURCE)
    configs.set(ResourceType.BROKER, "", MOVE_LIMIT, None)
    assert configs.get(ResourceType.BROKER, "1", MOVE_LIMIT) == (None, "")


def test_settings_outlive_the_controller_and_the_broker(lab: Lab):
    configs = Configs(lab)
    (log_dir, *_others) = [one.path for one in lab.cluster.spec.broker(2).log_dirs]
    configs.set(ResourceType.BROKER, "2", "cordoned.log.dirs", log_dir)

    lab.cluster.kill(CONTROLLER)
    lab.cluster.start_controller()
    lab.cluster.restart_broker(2)
    lab.cluster.wait_until(lab.cluster.is_ready, "the cluster is whole", DEADLINE_MS)

    assert configs.get(ResourceType.BROKER, "2", "cordoned.log.dirs") == (log_dir, BROKER_SOURCE)
