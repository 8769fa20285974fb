"""What wishes come to, and which are refused with which words; texts as a 3.9.2 broker answers."""

from __future__ import annotations

import pytest

from protocol.configs.broker import BROKER_KEYS, BrokerConfig
from protocol.configs.changes import (
    AlterConfigOp,
    apply_changes,
    asked_ops,
    check_broker,
    check_ops,
    check_topic,
    outcome,
)
from protocol.configs.topic import TOPIC_KEYS
from protocol.configs.types import AlterOperation
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import AlterableConfig, AlterConfigsResource

TOPIC_PREFIX = "Invalid config value for resource ConfigResource(type=TOPIC, name='t'): "
STATIC = {"log.dirs": "/d1,/d2"}


def refusal(code: ErrorCode, message: str) -> tuple[ErrorCode, str]:
    return code, message


def check(texts: dict[str, str]) -> tuple[ErrorCode, str] | None:
    try:
        check_topic("t", texts, BrokerConfig())
    except KafkaError as error:
        return error.code, error.message
    return None


def check_of_broker(
    changes: dict[str, str | None], *, is_default: bool = False
) -> tuple[ErrorCode, str] | None:
    try:
        check_broker(changes, static=STATIC, is_default=is_default)
    except KafkaError as error:
        return error.code, error.message
    return None


@pytest.mark.parametrize(
    ("current", "operation", "value", "after"),
    [
        ({}, AlterOperation.SET, " compact ", "compact"),
        ({"cleanup.policy": "compact"}, AlterOperation.DELETE, None, None),
        ({}, AlterOperation.APPEND, "compact", "delete,compact"),
        ({"cleanup.policy": "compact"}, AlterOperation.APPEND, "compact,delete", "compact,delete"),
        ({"cleanup.policy": "compact"}, AlterOperation.APPEND, "", "compact,"),
        ({"cleanup.policy": "compact,delete"}, AlterOperation.SUBTRACT, "delete", "compact"),
        ({"cleanup.policy": "compact"}, AlterOperation.SUBTRACT, "compact", ""),
    ],
)
def test_an_operation_gives_a_text(
    current: dict[str, str], operation: int, value: str | None, after: str | None
) -> None:
    wish = AlterConfigOp("cleanup.policy", operation, value)
    assert outcome(TOPIC_KEYS, current, [wish]) == {"cleanup.policy": after}


@pytest.mark.parametrize("name", ["retention.ms", "no.such.key"])
@pytest.mark.parametrize(
    ("operation", "verb"),
    [(AlterOperation.APPEND, "append"), (AlterOperation.SUBTRACT, "subtract")],
)
def test_only_lists_grow_and_shrink(name: str, operation: int, verb: str) -> None:
    with pytest.raises(KafkaError) as error:
        outcome(TOPIC_KEYS, {}, [AlterConfigOp(name, operation, "1")])
    assert error.value.code is ErrorCode.INVALID_CONFIG
    assert error.value.message == f"Config value {verb} is not allowed for config key: {name}"


def test_replacing_deletes_what_is_not_named() -> None:
    named = [AlterableConfig(name="b", value="3"), AlterableConfig(name="c", value="4")]
    asked = AlterConfigsResource(resource_type=2, resource_name="t", configs=named)
    wishes = asked_ops(asked, {"a": "1", "b": "2"})
    changes = {wish.name: wish.value for wish in wishes}
    assert changes == {"a": None, "b": "3", "c": "4"}
    assert apply_changes({"a": "1", "b": "2"}, changes) == {"b": "3", "c": "4"}


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        (
            [AlterConfigOp("a", 0, "1"), AlterConfigOp("a", 1, None)],
            "Error due to duplicate config keys",
        ),
        (
            [AlterConfigOp("a", 0, None), AlterConfigOp("b", 2, None)],
            "Null value not supported for : a, b",
        ),
        ([AlterConfigOp("a", 7, "1")], "Unknown operations type 7"),
    ],
)
def test_wishes_that_are_not_well_formed_are_refused(
    wishes: list[AlterConfigOp], message: str
) -> None:
    with pytest.raises(KafkaError) as error:
        check_ops(wishes)
    assert (error.value.code, error.value.message) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            {"segment.bytes": "13"},
            TOPIC_PREFIX
            + "Invalid value 13 for configuration segment.bytes: Value must be at least 14",
        ),
        (
            {"segment.bytes": "2147483648"},
            TOPIC_PREFIX
            + "Invalid value 2147483648 for configuration segment.bytes: Not a number of type INT",
        ),
        (
            {"preallocate": "yes"},
            TOPIC_PREFIX + "Invalid value yes for configuration preallocate: "
            "Expected value to be either true or false",
        ),
        (
            {"cleanup.policy": "compact,foo"},
            TOPIC_PREFIX + "Invalid value foo for configuration cleanup.policy: "
            "String must be one of: compact, delete",
        ),
        (
            {"compression.type": "foo"},
            TOPIC_PREFIX + "Invalid value foo for configuration compression.type: "
            "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
        ),
        (
            {"min.cleanable.dirty.ratio": "2"},
            TOPIC_PREFIX + "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: "
            "Value must be no more than 1",
        ),
        (
            {"leader.replication.throttled.replicas": "*,0:1"},
            TOPIC_PREFIX
            + "Invalid value [*, 0:1] for configuration leader.replication.throttled.replicas: "
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in"
            " the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            {"remote.storage.enable": "true"},
            TOPIC_PREFIX + "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        ),
        ({"nope": "1"}, "Unknown topic config name: nope"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
    ],
)
def test_a_topics_bad_settings_have_kafkas_words(texts: dict[str, str], message: str) -> None:
    assert check(texts) == refusal(ErrorCode.INVALID_CONFIG, message)


@pytest.mark.parametrize(
    "texts",
    [
        {"cleanup.policy": ""},
        {"retention.bytes": " 7 "},
        {"leader.replication.throttled.replicas": ""},
        {"follower.replication.throttled.replicas": "*"},
    ],
)
def test_what_kafka_takes_is_taken(texts: dict[str, str]) -> None:
    assert check(texts) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"log.dirs": "/x", "broker.id": "3"},
            "Cannot update these configs dynamically: Set(broker.id, log.dirs)",
        ),
        (
            {"log.segment.bytes": "13"},
            "Invalid value 13 for configuration log.segment.bytes: Value must be at least 14",
        ),
        (
            {"leader.replication.throttled.rate": "-5"},
            "Invalid value -5 for configuration leader.replication.throttled.rate: "
            "Value must be at least 0",
        ),
        (
            {"log.retention.ms": "0"},
            "requirement failed: log.retention.ms must be unlimited (-1) or, "
            "greater than or equal to 1",
        ),
        (
            {"log.segment.byte": "13"},
            "Unknown broker config name: log.segment.byte (did you mean log.segment.bytes?)",
        ),
        ({"zzz": "13"}, "Unknown broker config name: zzz"),
    ],
)
def test_a_brokers_bad_settings_are_invalid_requests(
    changes: dict[str, str | None], message: str
) -> None:
    assert check_of_broker(changes) == refusal(ErrorCode.INVALID_REQUEST, message)


def test_some_settings_need_a_broker() -> None:
    assert check_of_broker({"cordoned.log.dirs": "*"}, is_default=True) == refusal(
        ErrorCode.INVALID_REQUEST,
        "Cannot update these configs at default cluster level, broker id must be specified: "
        "Set(cordoned.log.dirs)",
    )
    assert check_of_broker({"cordoned.log.dirs": "*"}) is None


@pytest.mark.scenario(247)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/d1,", "Configuration 'cordoned.log.dirs' values must not be empty."),
        (
            "*,/d1",
            "requirement failed: When cordoned.log.dirs is set to *, "
            "it must not contain other values",
        ),
        (
            "/d1,/x,/y",
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or "
            "log.dir. Missing entries : /x, /y",
        ),
    ],
)
def test_cordons_name_log_dirs_of_the_broker(text: str, message: str) -> None:
    assert check_of_broker({"cordoned.log.dirs": text}) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize("text", ["/d1", "/d2,/d1", "*", ""])
def test_cordons_may_name_all_or_none(text: str) -> None:
    assert check_of_broker({"cordoned.log.dirs": text}) is None


def test_unsetting_is_never_refused() -> None:
    assert check_of_broker(dict.fromkeys([*BROKER_KEYS, "zzz"])) is None
