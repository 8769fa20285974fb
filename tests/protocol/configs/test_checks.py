"""Which values keys take, and Kafka's words for the others."""

from __future__ import annotations

import pytest

from protocol.configs.broker import BROKER_KEYS
from protocol.configs.topic import TOPIC_KEYS
from protocol.configs.types import ConfigKey, InvalidValueError, parse


def refusal(column: ConfigKey, text: str) -> str | None:
    """Return what is said of a value, without the key; None when it is taken."""
    try:
        parse(column, text)
    except InvalidValueError as error:
        return error.message.rpartition(f"for configuration {column.name}: ")[2]
    return None


@pytest.mark.parametrize("level", ["-1", "1", "9"])
def test_gzip_has_nine_levels_and_a_default(level: str) -> None:
    assert refusal(TOPIC_KEYS["compression.gzip.level"], level) is None


@pytest.mark.parametrize("level", ["-2", "0", "10"])
def test_other_levels_of_gzip_are_refused(level: str) -> None:
    said = "Value must be between 1 and 9 or equal to -1"
    assert refusal(TOPIC_KEYS["compression.gzip.level"], level) == said
    assert refusal(BROKER_KEYS["compression.gzip.level"], level) == said


@pytest.mark.parametrize(
    "version", ["0.8.0", "0.10.0-IV1", "0.11.0.3", "1.0", "2.8-IV1", "3.9", "3.9.2", "3.7-IV4"]
)
def test_versions_of_kafka_are_formats(version: str) -> None:
    assert refusal(TOPIC_KEYS["message.format.version"], version) is None


@pytest.mark.parametrize("version", ["", "3", "0.8", "3.9-IV1", "4.0", "2.9", "x"])
def test_what_is_no_version_is_no_format(version: str) -> None:
    assert refusal(TOPIC_KEYS["message.format.version"], version) == (
        f"Version {version} is not a valid version"
    )


@pytest.mark.parametrize("text", ["", "*", "0:1", "0:1,12:3", "0:1,", ",,", " 0:1 , 1:2 "])
def test_throttled_replicas_are_pairs(text: str) -> None:
    assert refusal(TOPIC_KEYS["leader.replication.throttled.replicas"], text) is None


@pytest.mark.parametrize("text", ["*,0:1", "0", "0:1:2", "0:-1", "\u00b2:1", "0 : 1", "none"])
def test_what_is_no_pair_is_no_throttled_replica(text: str) -> None:
    said = refusal(TOPIC_KEYS["leader.replication.throttled.replicas"], text)
    assert said is not None
    assert said.startswith("leader.replication.throttled.replicas must be the literal '*' or a")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "log.retention.ms",
            "0",
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal"
            " to 1",
        ),
        ("log.roll.ms", "0", "requirement failed: log.roll.ms must be greater than or equal to 1"),
        (
            "log.roll.jitter.ms",
            "-1",
            "requirement failed: log.roll.jitter.ms must be greater than or equal to 0",
        ),
        ("log.retention.ms", "-2", None),
        ("log.roll.ms", "1", None),
        ("log.roll.jitter.ms", "0", None),
    ],
)
def test_some_demands_do_not_name_the_key(name: str, text: str, said: str | None) -> None:
    assert refusal(BROKER_KEYS[name], text) == said


@pytest.mark.parametrize("text", ["classic", "classic,consumer", "consumer, classic"])
def test_classic_is_spoken_with_or_without_consumer(text: str) -> None:
    assert refusal(BROKER_KEYS["group.coordinator.rebalance.protocols"], text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("consumer", "Disabling the 'classic' protocol is not supported."),
        ("", "Disabling the 'classic' protocol is not supported."),
        ("classic,streams", "There are no streams groups here; leave it out"),
        ("classic,share", "There are no share groups here; leave it out"),
        ("classic,unknown", "String must be one of: consumer, classic"),
        ("Classic", "String must be one of: consumer, classic"),
    ],
)
def test_other_protocols_are_refused(text: str, said: str) -> None:
    assert refusal(BROKER_KEYS["group.coordinator.rebalance.protocols"], text) == said
