"""The little that descriptions know of themselves."""

from __future__ import annotations

from jbodlab.kafka_tools.core.views import ConfigEntry, ConfigSource, Reassignment
from tests.jbodlab.kafka_tools.builders import topic


def test_a_reassignment_ends_without_the_replicas_that_go():
    under_way = Reassignment(replicas=(3, 2, 1), adding=(3,), removing=(1,))
    assert under_way.target == [3, 2]


def test_a_topic_has_partitions_by_number():
    found = topic("t", (1, 2))
    assert found.partition(0) is found.partitions[0]
    assert found.partition(1) is None


def test_what_nobody_set_is_a_default():
    def entry(source: ConfigSource) -> ConfigEntry:
        return ConfigEntry(name="a", value="1", source=source, is_sensitive=False, synonyms=())

    assert entry(ConfigSource.DEFAULT_CONFIG).is_default
    assert not entry(ConfigSource.STATIC_BROKER_CONFIG).is_default
