"""Settings, line by line."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.config_text import (
    check_changes,
    completed,
    entry_document,
    heading,
    line_of,
    shown,
)
from jbodlab.kafka_tools.core.config_words import Changes, Entity
from jbodlab.kafka_tools.core.failures import ToolFailure
from protocol.admin.configs import ConfigView
from protocol.configs.parsing import ConfigSynonym
from protocol.configs.types import ConfigSource

TOPIC, BROKER = Entity("topics", "t"), Entity("brokers", "1")
EVERYONE, LOGGER = Entity("brokers", ""), Entity("broker-loggers", "1")


def entry(name: str, source: ConfigSource, value: str | None = "1") -> ConfigView:
    synonym = ConfigSynonym(name=f"log.{name}", value=value, source=source)
    return ConfigView(
        name=name, value=value, source=source, is_sensitive=value is None, synonyms=(synonym,)
    )


def test_headings_name_whom_the_settings_belong_to():
    assert heading(TOPIC, "t", is_all=False) == "Dynamic configs for topic t are:"
    assert heading(BROKER, "1", is_all=True) == "All configs for broker 1 are:"
    assert heading(EVERYONE, "", is_all=True) == "Default configs for brokers in the cluster are:"


def test_only_own_settings_are_shown_unless_all_are():
    entries = [entry(source.name, source) for source in ConfigSource]

    def names(entity: Entity, *, is_all: bool = False) -> list[str]:
        found = shown(entries, entity, entity.name or "", is_all=is_all)
        return [each.name for each in found]

    assert names(TOPIC) == ["DYNAMIC_TOPIC_CONFIG"]
    assert names(BROKER) == ["DYNAMIC_BROKER_CONFIG"]
    assert names(EVERYONE) == ["DYNAMIC_DEFAULT_BROKER_CONFIG"]
    assert len(names(TOPIC, is_all=True)) == len(names(LOGGER)) == len(entries)


def test_a_setting_tells_its_synonyms_and_no_secrets():
    assert line_of(entry("a", ConfigSource.DEFAULT_CONFIG)) == (
        "  a=1 sensitive=false synonyms={DEFAULT_CONFIG:log.a=1}"
    )
    secret = entry("a", ConfigSource.STATIC_BROKER_CONFIG, None)
    assert line_of(secret) == ("  a=null sensitive=true synonyms={STATIC_BROKER_CONFIG:log.a=null}")
    assert entry_document(secret)["synonyms"] == [
        {"name": "log.a", "value": None, "source": "STATIC_BROKER_CONFIG"}
    ]


def test_only_what_is_set_can_be_deleted():
    check_changes(Changes({"new": "1"}, ("a",)), TOPIC, ["a"])
    with pytest.raises(ToolFailure, match=r"Invalid config\(s\): b,c"):
        check_changes(Changes({}, ("a", "b", "c")), TOPIC, ["a"])
    with pytest.raises(ToolFailure, match=r"Invalid broker logger\(s\): new"):
        check_changes(Changes({"new": "INFO"}, ("a",)), LOGGER, ["a"])
    with pytest.raises(ToolFailure, match="Error due to duplicate config keys"):
        check_changes(Changes({"a": "1"}, ("a",)), TOPIC, ["a"])


def test_changes_are_confirmed():
    assert completed(TOPIC) == "Completed updating config for topic t."
    assert completed(LOGGER) == "Completed updating config for broker-logger 1."
    assert completed(EVERYONE) == "Completed updating default config for brokers in the cluster."
