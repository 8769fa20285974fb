"""Configurations of groups: built within a broker's bounds, checked and described as in 4.3.1.

``tests/golden/group_configs.jsonl.gz`` has what a broker of that release answered.
"""

from __future__ import annotations

import pytest

from protocol.configs.group import GROUP_KEYS, GroupConfig
from protocol.configs.group_parsing import (
    check_group_configs,
    describe_group_configs,
    group_config,
)
from protocol.configs.parsing import NO_OVERRIDES, BrokerOverrides, broker_config
from protocol.configs.types import ConfigSource
from protocol.errors import ErrorCode, KafkaError
from tests.golden.make_group_configs import SET
from tests.golden.vectors import load_vectors

RECORDED = load_vectors("group_configs")
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def test_nothing_set_gives_kafkas_defaults() -> None:
    assert group_config({}, broker_config({})) == GroupConfig()


def test_a_group_takes_what_it_leaves_unset_from_the_broker() -> None:
    broker = broker_config({f"group.{SESSION}": "55000", f"group.{HEARTBEAT}": "7000"})
    config = group_config({HEARTBEAT: "6000"}, broker)
    assert config.consumer_session_timeout_ms == 55_000
    assert config.consumer_heartbeat_interval_ms == 6_000


@pytest.mark.parametrize(("text", "effective_ms"), [("1", 45_000), ("99999", 60_000)])
def test_a_value_out_of_bounds_counts_as_the_nearest_within(text: str, effective_ms: int) -> None:
    config = group_config({SESSION: text}, broker_config({}))
    assert config.consumer_session_timeout_ms == effective_ms


def test_standby_replicas_have_an_upper_bound_alone() -> None:
    config = group_config({"streams.num.standby.replicas": "9"}, broker_config({}))
    assert config.streams_num_standby_replicas == 2


def test_a_session_must_be_longer_than_the_time_between_heartbeats() -> None:
    broker = broker_config({f"group.consumer.min.{SESSION.partition('.')[2]}": "1"})
    with pytest.raises(KafkaError, match=f"{SESSION} must be greater than {HEARTBEAT}"):
        check_group_configs({SESSION: "6000", HEARTBEAT: "6000"}, broker)


def test_values_are_refused_that_apache_kafka_refuses() -> None:
    changes = [
        (row["entries"], row["answer"])
        for row in RECORDED
        if row.get("alter") and len(row["entries"]) == 1 and row["entries"][0][1:] != [0, None]
    ]
    assert len(changes) > 80
    broker = broker_config({})
    answers: list[list[object]] = []
    for ((name, operation, value),), _ in changes:
        code, message = ErrorCode.NONE, None
        try:
            check_group_configs({name: value} if operation == 0 else {}, broker)
        except KafkaError as error:
            code, message = error.code, error.message
        answers.append([int(code), message])
    assert answers == [answer for _, answer in changes]


def test_groups_are_described_as_apache_kafka_does() -> None:
    found = {
        entry.name: (
            entry.value,
            entry.is_read_only,
            entry.source,
            entry.type,
            [list(synonym) for synonym in entry.synonyms],
        )
        for entry in describe_group_configs(SET, NO_OVERRIDES)
    }
    assert found == {
        row["describe"]: (
            row["value"],
            row["read_only"],
            row["source"],
            row["type"],
            row["synonyms"],
        )
        for row in RECORDED
        if "describe" in row
    }


def test_a_default_that_the_brokers_file_sets_is_named_with_its_place() -> None:
    broker = BrokerOverrides(static={f"group.{SESSION}": "55000"}, dynamic={}, dynamic_default={})
    found = {entry.name: entry for entry in describe_group_configs({}, broker)}[SESSION]
    assert (found.value, found.source) == ("55000", ConfigSource.STATIC_BROKER_CONFIG)


def test_every_key_is_one_of_apache_kafkas() -> None:
    assert sorted(GROUP_KEYS) == [row["describe"] for row in RECORDED if "describe" in row]
