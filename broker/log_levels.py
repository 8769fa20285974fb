"""Levels of this process' loggers, as Kafka's BROKER_LOGGER resources show and set them.

Only loggers that exist are known. Nothing is kept: a restart brings the levels of the start back.
Source: Log4jController.scala, ConfigAdminManager.validateLogLevelConfigs; texts of 3.9.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from protocol.errors import ErrorCode, KafkaError

ROOT: Final = "root"
_SET: Final = 0
_DELETE: Final = 1
_REFUSED: Final = {2: "APPEND", 3: "SUBTRACT"}
_LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": 5,
    "WARN": logging.WARNING,
}
_NAMES: Final = {number: name for name, number in _LEVELS.items()}


def log_levels() -> dict[str, str]:
    """Return the effective level of every logger, by name."""
    known = logging.Logger.manager.loggerDict
    names = sorted(name for name, one in known.items() if isinstance(one, logging.Logger))
    return {name: _name(_logger(name).getEffectiveLevel()) for name in (ROOT, *names)}


def change_log_levels(ops: Iterable[tuple[str, int, str | None]], *, apply: bool) -> None:
    """Set or unset levels, all or none.

    Args:
        ops: (logger, operation, level).
        apply: False only checks.

    Raises:
        KafkaError: INVALID_CONFIG or INVALID_REQUEST; nothing was changed.
    """
    known = log_levels()
    asked = list(ops)
    for name, operation, level in asked:
        _check(known, name, operation, level)
    for name, operation, level in asked if apply else ():
        number = logging.NOTSET if operation == _DELETE else _LEVELS[(level or "").upper()]
        _logger(name).setLevel(number)


def _check(known: dict[str, str], name: str, operation: int, level: str | None) -> None:
    if operation in _REFUSED:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"{_REFUSED[operation]} operation is not allowed for the BROKER_LOGGER resource",
        )
    if operation not in (_SET, _DELETE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operation type {operation}")
    if name not in known:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if operation == _DELETE and name == ROOT:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"
        )
    if operation == _SET and (level or "").upper() not in _LEVELS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(_LEVELS)}",
        )


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if name == ROOT else logging.getLogger(name)


def _name(number: int) -> str:
    """Return Kafka's name of the highest level that is not above ``number``."""
    lower = [known for known in _NAMES if known <= number]
    return _NAMES[max(lower, default=min(_NAMES))]
