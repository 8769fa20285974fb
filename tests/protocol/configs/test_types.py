"""Texts become typed values, and these become texts again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.configs.checks import at_least
from protocol.configs.types import (
    LONG_MAX,
    ConfigKey,
    ConfigType,
    ConfigValue,
    InvalidValueError,
    checked_value,
    field_name,
    format_value,
    key,
    keys_of,
    parse,
    parse_all,
)
from protocol.errors import ErrorCode, KafkaError


@dataclass(frozen=True, kw_only=True)
class Sample:
    log_dir_count: int = key(ConfigType.INT, 1, "How many.", at_least(1))
    log_dir_secret: str | None = key(ConfigType.PASSWORD, None, "Hush.", nullable=True)


COLUMNS = keys_of(Sample)


def column(type_: ConfigType, *, nullable: bool = False) -> ConfigKey:
    return ConfigKey(name="a.b", type=type_, default=None, doc="", nullable=nullable)


def test_the_name_of_a_key_follows_from_its_field() -> None:
    assert list(COLUMNS) == ["log.dir.count", "log.dir.secret"]
    assert [field_name(name) for name in COLUMNS] == ["log_dir_count", "log_dir_secret"]


def test_only_passwords_are_sensitive() -> None:
    assert [each.sensitive for each in COLUMNS.values()] == [False, True]


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (ConfigType.BOOLEAN, True),
        (ConfigType.BOOLEAN, False),
        (ConfigType.LIST, ()),
        (ConfigType.LIST, ("a", "b")),
        (ConfigType.LONG, LONG_MAX),
        (ConfigType.DOUBLE, 0.5),
        (ConfigType.STRING, "x"),
    ],
)
def test_a_value_survives_its_text(type_: ConfigType, value: ConfigValue) -> None:
    assert parse(column(type_), format_value(value)) == value


@given(st.integers(min_value=-(1 << 63), max_value=LONG_MAX))
def test_every_long_survives_its_text(value: int) -> None:
    assert checked_value(column(ConfigType.LONG), format_value(value)) == value


@pytest.mark.parametrize(
    ("type_", "bits"), [(ConfigType.SHORT, 16), (ConfigType.INT, 32), (ConfigType.LONG, 64)]
)
def test_whole_numbers_are_bounded_by_their_type(type_: ConfigType, bits: int) -> None:
    assert parse(column(type_), str((1 << (bits - 1)) - 1)) == (1 << (bits - 1)) - 1
    with pytest.raises(KafkaError, match="Not a number of type"):
        parse(column(type_), str(1 << (bits - 1)))


@pytest.mark.parametrize(
    ("text", "value"), [("+5", 5), (" 7 ", 7), ("-0", 0), ("007", 7), ("\u0663", 3)]
)
def test_whole_numbers_are_written_as_in_java(text: str, value: int) -> None:
    assert parse(column(ConfigType.LONG), text) == value


@pytest.mark.parametrize("text", ["", "1_000", "1e3", "0x10", "- 7", "7L", "1.0"])
def test_what_java_takes_for_no_whole_number_is_none(text: str) -> None:
    with pytest.raises(InvalidValueError, match="Not a number of type LONG"):
        parse(column(ConfigType.LONG), text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.5d", 0.5), ("1f", 1.0), (".5", 0.5), ("2.", 2.0), ("1E-1", 0.1), ("-Infinity", -math.inf)],
)
def test_fractions_are_written_as_in_java(text: str, value: float) -> None:
    assert parse(column(ConfigType.DOUBLE), text) == value


@pytest.mark.parametrize("text", ["", "nan", "inf", "0_1", "x", ".", "1e", "d", "--1"])
def test_what_java_takes_for_no_fraction_is_none(text: str) -> None:
    with pytest.raises(InvalidValueError, match="Not a number of type DOUBLE"):
        parse(column(ConfigType.DOUBLE), text)


def test_null_is_for_nullable_keys() -> None:
    assert parse(column(ConfigType.STRING, nullable=True), None) is None
    with pytest.raises(KafkaError, match="entry must be non null") as caught:
        parse(column(ConfigType.STRING), None)
    assert caught.value.code == ErrorCode.INVALID_CONFIG


def test_an_error_names_key_and_value_but_no_secret() -> None:
    with pytest.raises(KafkaError, match=r"Invalid value 0 for configuration log\.dir\.count"):
        parse_all(COLUMNS, {"log.dir.count": "0"}, scope="broker")
    with pytest.raises(KafkaError) as caught:
        parse(
            ConfigKey(
                name="p",
                type=ConfigType.PASSWORD,
                default="",
                doc="",
                sensitive=True,
                checks=(lambda _: "is too short",),
            ),
            "geheim",
        )
    assert "geheim" not in str(caught.value)


def test_an_unknown_name_is_refused_with_its_scope() -> None:
    with pytest.raises(KafkaError, match=r"Unknown topic config name: x"):
        parse_all(COLUMNS, {"x": "1"}, scope="topic")
