"""Levels of loggers are shown and set as Kafka does."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from broker.log_levels import change_log_levels, log_levels
from protocol.errors import ErrorCode, KafkaError

NAME = "broker.lifecycle.under_test"
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("level", "number"),
    [("TRACE", 5), ("debug", 10), ("INFO", 20), ("WARN", 30), ("ERROR", 40), ("FATAL", 50)],
)
def test_a_level_is_set_and_shown(logger: logging.Logger, level: str, number: int):
    change_log_levels([(NAME, SET, level)], apply=True)
    assert logger.level == number
    assert log_levels()[NAME] == level.upper()


def test_a_level_that_is_unset_is_the_parents(logger: logging.Logger):
    change_log_levels([(NAME, SET, "DEBUG")], apply=True)
    change_log_levels([(NAME, DELETE, None)], apply=True)
    assert logger.level == logging.NOTSET
    assert log_levels()[NAME] == log_levels()["root"]


def test_checking_changes_nothing(logger: logging.Logger):
    change_log_levels([(NAME, SET, "DEBUG")], apply=False)
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("name", "operation", "level", "code", "message"),
    [
        (
            NAME,
            SET,
            "LOUD",
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {NAME} to LOUD as it is not a supported log level. "
            "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        ("nope.x", SET, "INFO", ErrorCode.INVALID_CONFIG, "Logger nope.x does not exist!"),
        (
            "root",
            DELETE,
            None,
            ErrorCode.INVALID_REQUEST,
            "Removing the log level of the root logger is not allowed",
        ),
        (
            NAME,
            APPEND,
            "INFO",
            ErrorCode.INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            NAME,
            SUBTRACT,
            "INFO",
            ErrorCode.INVALID_REQUEST,
            "SUBTRACT operation is not allowed for the BROKER_LOGGER resource",
        ),
        (NAME, 7, "INFO", ErrorCode.INVALID_REQUEST, "Unknown operation type 7"),
    ],
)
def test_a_bad_wish_changes_no_logger(
    logger: logging.Logger,
    name: str,
    operation: int,
    level: str | None,
    code: ErrorCode,
    message: str,
):
    with pytest.raises(KafkaError) as error:
        change_log_levels([(NAME, SET, "DEBUG"), (name, operation, level)], apply=True)
    assert (error.value.code, error.value.message) == (code, message)
    assert logger.level == logging.NOTSET
