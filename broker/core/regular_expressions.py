"""Patterns that clients send: RE2's, as in Kafka. Their time to match is bounded by their length.

Source: com.google.re2j.Pattern, as Kafka's coordinators use it: what matches does so as a whole.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import re2  # pyright: ignore[reportMissingTypeStubs] - it has none

from protocol.errors import ErrorCode, KafkaError


class RegularExpression(Protocol):
    """A pattern that RE2 took."""

    def fullmatch(self, text: str, /) -> object | None:
        """Return what matched from beginning to end, or None."""
        ...


def compiled(pattern: str, what: str) -> RegularExpression:
    """Read a pattern.

    Args:
        pattern: what the client sent.
        what: Kafka's name for it, with which a mistake is told.

    Raises:
        KafkaError: INVALID_REGULAR_EXPRESSION, with what is wrong.
    """
    try:
        return re2.compile(pattern, _OPTIONS)  # pyright: ignore[reportUnknownMemberType] - untyped
    except _PatternError as error:
        reason = str(error.args[0], "utf-8", "replace")
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"{what} `{pattern}` is not a valid regular expression: {reason}.",
        ) from None


_PatternError: Final[type[Exception]] = re2.error  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _options() -> Any:
    """RE2 itself would write mistakes in patterns to standard error."""
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS: Final = _options()
