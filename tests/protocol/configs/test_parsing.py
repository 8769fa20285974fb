"""Configurations are built from texts and described as Kafka does."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from protocol.configs.broker import BROKER_KEYS, BrokerConfig
from protocol.configs.parsing import (
    NO_OVERRIDES,
    BrokerOverrides,
    DescribedConfig,
    broker_config,
    config_mistakes,
    describe_broker_configs,
    describe_topic_configs,
    topic_config,
)
from protocol.configs.topic import TOPIC_KEYS, TopicConfig
from protocol.configs.types import ConfigSource, ConfigType
from protocol.errors import ErrorCode, KafkaError

HOUR_MS = 3_600_000


def overrides(**layers: dict[str, str | None]) -> BrokerOverrides:
    return dataclasses.replace(NO_OVERRIDES, **layers)


def by_name(entries: list[DescribedConfig]) -> dict[str, DescribedConfig]:
    return {entry.name: entry for entry in entries}


def test_nothing_set_gives_kafkas_defaults() -> None:
    assert broker_config({}) == BrokerConfig()
    assert topic_config({}, BrokerConfig()) == TopicConfig()


def test_texts_become_typed_values() -> None:
    config = broker_config(
        {
            "log.cleanup.policy": "compact, delete",
            "log.preallocate": "TRUE",
            "log.cleaner.min.cleanable.ratio": "0.25",
            "num.replica.alter.log.dirs.threads": "3",
        }
    )
    assert config.log_cleanup_policy == ("compact", "delete")
    assert config.log_preallocate is True
    assert config.log_cleaner_min_cleanable_ratio == 0.25
    assert config.num_replica_alter_log_dirs_threads == 3


def test_a_topic_takes_what_it_leaves_unset_from_the_broker() -> None:
    broker = broker_config({"log.segment.bytes": "1000", "min.insync.replicas": "2"})
    config = topic_config({"min.insync.replicas": "3"}, broker)
    assert (config.segment_bytes, config.min_insync_replicas) == (1000, 3)


@pytest.mark.parametrize(
    ("texts", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 2 * HOUR_MS),
        ({"log.retention.hours": "2", "log.retention.minutes": "30"}, HOUR_MS // 2),
        ({"log.retention.minutes": "30", "log.retention.ms": "7"}, 7),
        ({"log.retention.ms": "-7"}, -1),
        ({"log.retention.minutes": "-2"}, -1),
    ],
)
def test_the_finest_unit_of_the_broker_wins(texts: dict[str, str], retention_ms: int) -> None:
    assert topic_config({}, broker_config(texts)).retention_ms == retention_ms


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("segment.bytes", "13", "Value must be at least 14"),
        ("segment.bytes", "x", "Not a number of type INT"),
        ("segment.bytes", "2147483648", "Not a number of type INT"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        ("cleanup.policy", "compact,foo", "value foo for .* one of: compact, delete"),
        ("compression.zstd.level", "23", "Value must be no more than 22"),
        ("leader.replication.throttled.replicas", "0-1", r"\[0-1\] .* literal '\*' or a list"),
        ("retention.ms", None, "entry must be non null"),
    ],
)
def test_a_bad_value_is_an_invalid_config(name: str, text: str | None, message: str) -> None:
    with pytest.raises(KafkaError, match=message) as caught:
        topic_config({name: text}, BrokerConfig())
    assert caught.value.code == ErrorCode.INVALID_CONFIG


def test_an_unknown_name_is_an_invalid_config() -> None:
    with pytest.raises(KafkaError, match=r"Unknown topic config name: min\.isr"):
        topic_config({"min.isr": "2"}, BrokerConfig())


@pytest.mark.parametrize("text", ["*", "", "0:1,3:2"])
def test_throttled_replicas_are_a_star_or_pairs(text: str) -> None:
    topic_config({"follower.replication.throttled.replicas": text}, BrokerConfig())


@pytest.mark.scenario(247)
@pytest.mark.parametrize(
    ("text", "mistake"), [("/d1,", "must not be empty"), ("*,/d1", "must not contain other")]
)
def test_cordoned_log_dirs_refuse_empty_elements_and_company_of_the_star(
    text: str, mistake: str
) -> None:
    with pytest.raises(KafkaError, match=mistake):
        broker_config({"cordoned.log.dirs": text})


def test_mistakes_come_with_the_closest_name() -> None:
    mistakes = config_mistakes(TOPIC_KEYS, {"segment.byte": "1", "segment.ms": "0"})
    assert [(mistake.name, mistake.text) for mistake in mistakes] == [
        ("segment.byte", "unknown configuration (did you mean segment.bytes?)"),
        ("segment.ms", "Value must be at least 1, is '0'"),
    ]


def test_every_synonym_is_a_key_of_the_broker() -> None:
    names = [synonym.name for column in TOPIC_KEYS.values() for synonym in column.synonyms]
    assert [name for name in names if name not in BROKER_KEYS] == []


def test_every_default_passes_its_own_checks() -> None:
    columns = [*TOPIC_KEYS.values(), *BROKER_KEYS.values()]
    wrong = [
        (column.name, check(column.default))
        for column in columns
        for check in column.checks
        if column.default is not None and check(column.default) is not None
    ]
    assert wrong == []


def test_a_topic_is_described_with_its_sources() -> None:
    entries = by_name(
        describe_topic_configs(
            {"retention.ms": "5"},
            overrides(
                static={"min.insync.replicas": "1", "log.retention.hours": "1"},
                dynamic={"log.segment.bytes": "99"},
            ),
        )
    )
    assert entries["min.insync.replicas"].source is ConfigSource.STATIC_BROKER_CONFIG
    assert entries["segment.bytes"].source is ConfigSource.DYNAMIC_BROKER_CONFIG
    assert entries["segment.bytes"].value == "99"
    retention = entries["retention.ms"]
    assert (retention.value, retention.source) == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert [tuple(synonym) for synonym in retention.synonyms] == [
        ("retention.ms", "5", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.retention.hours", "1", ConfigSource.STATIC_BROKER_CONFIG),
    ]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("max.message.bytes", " +5 ", "5"),
        ("preallocate", " TRUE ", "true"),
        ("cleanup.policy", " compact , delete", "compact,delete"),
        ("min.cleanable.dirty.ratio", "1", "1.0"),
        ("min.cleanable.dirty.ratio", "1e-1", "0.1"),
        ("min.cleanable.dirty.ratio", "NaN", "NaN"),
        ("compression.type", "eat", "eat"),
    ],
)
def test_what_a_topic_sets_is_told_as_it_is_understood(name: str, text: str, told: str) -> None:
    entry = by_name(describe_topic_configs({name: text}, NO_OVERRIDES))[name]
    assert (entry.value, entry.synonyms[0].value) == (told, told)


def test_topic_defaults_are_those_of_a_3_9_2_broker() -> None:
    entries = by_name(describe_topic_configs({}, NO_OVERRIDES))
    assert len(entries) == 36
    assert entries["cleanup.policy"].type is ConfigType.LIST
    assert {name: entries[name].value for name in ("segment.ms", "preallocate", "flush.ms")} == {
        "segment.ms": "604800000",
        "preallocate": "false",
        "flush.ms": "9223372036854775807",
    }


def test_broker_keys_tell_whether_they_can_change() -> None:
    entries = by_name(describe_broker_configs(overrides(static={"log.dirs": "/d1,/d2"})))
    assert entries["log.dirs"].is_read_only
    assert entries["log.dirs"].source is ConfigSource.STATIC_BROKER_CONFIG
    assert not entries["log.segment.bytes"].is_read_only


def test_keys_known_only_as_dynamic_appear_when_set() -> None:
    name = "replica.alter.log.dirs.io.max.bytes.per.second"
    assert name not in by_name(describe_broker_configs(NO_OVERRIDES))
    entries = by_name(describe_broker_configs(overrides(dynamic={name: "1000"})))
    assert entries[name].value == "1000"


def test_internal_keys_are_never_described() -> None:
    names = by_name(describe_broker_configs(NO_OVERRIDES))
    assert "log.initial.task.delay.ms" not in names


def test_a_compacted_topic_closes_segments_before_they_are_overdue() -> None:
    broker = broker_config({})
    lag = {"max.compaction.lag.ms": "5000", "segment.ms": "9000"}
    compacted = topic_config({**lag, "cleanup.policy": "compact,delete"}, broker)
    assert compacted.max_segment_ms == 5000
    assert topic_config(lag, broker).max_segment_ms == 9000
    rare = topic_config({"cleanup.policy": "compact", "segment.ms": "9000"}, broker)
    assert rare.max_segment_ms == 9000


def test_the_two_sided_timestamp_bound_counts_where_the_newer_ones_are_not_set() -> None:
    both = topic_config({"message.timestamp.difference.max.ms": "500"}, broker_config({}))
    assert (both.timestamp_before_max_ms, both.timestamp_after_max_ms) == (500, 500)
    overrides = {
        "message.timestamp.difference.max.ms": "500",
        "message.timestamp.after.max.ms": "7",
    }
    mixed = topic_config(overrides, broker_config({}))
    assert (mixed.timestamp_before_max_ms, mixed.timestamp_after_max_ms) == (500, 7)


def golden(scope: str) -> dict[str, tuple[Any, ...]]:
    """What a 3.9.2 broker described; its file set two keys, clients one of it and two of a topic.

    Keys whose values name a machine are left out.
    """
    lines = (Path(__file__).parents[1] / "configs_of_3_9_2.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["scope"] == scope]
    return {
        row["name"]: (
            row["value"],
            row["read_only"],
            row["source"],
            row["type"],
            [tuple(synonym) for synonym in row["synonyms"]],
        )
        for row in rows
    }


def shown(entries: list[DescribedConfig]) -> dict[str, tuple[Any, ...]]:
    return {
        entry.name: (
            entry.value,
            entry.is_read_only,
            entry.source,
            entry.type,
            [tuple(synonym) for synonym in entry.synonyms],
        )
        for entry in entries
    }


GOLDEN_BROKER = overrides(
    static={"broker.id": "1", "log.retention.hours": "100", "num.partitions": "2"},
    dynamic={"log.segment.bytes": "500"},
)


def test_a_negative_retention_of_brokers_is_none_at_all_of_topics() -> None:
    broker = overrides(static={"log.retention.ms": "-7"})
    retention = by_name(describe_topic_configs({}, broker))["retention.ms"]
    assert (retention.value, retention.synonyms[0].value) == ("-1", "-7")


def test_topics_are_described_as_a_3_9_2_broker_does() -> None:
    found = shown(describe_topic_configs({"retention.ms": "5", "segment.ms": "77"}, GOLDEN_BROKER))
    value, *others, synonyms = found["retention.ms"]
    assert synonyms.pop() == ("log.retention.hours", "100", ConfigSource.STATIC_BROKER_CONFIG), (
        "an intended difference"
    )
    found["retention.ms"] = (value, *others, synonyms)
    assert found == golden("topic")


def test_brokers_are_described_as_a_3_9_2_broker_does() -> None:
    found = shown(describe_broker_configs(GOLDEN_BROKER))
    known = golden("broker")
    assert len(known) > 80
    assert {name: found[name] for name in known} == known


def test_keys_of_listeners_are_described_with_those_of_all_behind_them() -> None:
    key, password = "listener.name.x.ssl.client.auth", "listener.name.x.ssl.keystore.key"
    static = {key: "required", "ssl.client.auth": "requested", password: "secret"}
    found = {
        each.name: each
        for each in describe_broker_configs(
            BrokerOverrides(static=static, dynamic={}, dynamic_default={})
        )
    }
    assert [(each.name, each.value) for each in found[key].synonyms] == [
        (key, "required"), ("ssl.client.auth", "requested"), ("ssl.client.auth", "none"),
    ]  # fmt: skip
    assert (found[key].value, found[key].is_read_only) == ("required", True)
    assert (found[password].value, found[password].is_sensitive) == (None, True)
    assert [each.value for each in found[password].synonyms] == [None]
    assert broker_config(static).ssl_client_auth == "requested"
