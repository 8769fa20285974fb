"""The little that settings know of themselves."""

from __future__ import annotations

from jbodlab.kafka_tools.core.views import ConfigEntry, ConfigSource


def test_what_nobody_set_is_a_default():
    def entry(source: ConfigSource) -> ConfigEntry:
        return ConfigEntry(name="a", value="1", source=source, is_sensitive=False, synonyms=())

    assert entry(ConfigSource.DEFAULT_CONFIG).is_default
    assert not entry(ConfigSource.STATIC_BROKER_CONFIG).is_default
