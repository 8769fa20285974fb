"""Which topics the patterns stand for that members of a consumer group are subscribed to.

Patterns are RE2's, as in Kafka: their time to match is bounded by their length and the name's.
Nothing is stored here: what is resolved is the value of a ConsumerGroupRegularExpression record.

Source: TopicRegexResolver.java, GroupMetadataManager.maybeUpdateRegularExpressions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import re2  # pyright: ignore[reportMissingTypeStubs] - it has none

from protocol.errors import ErrorCode, KafkaError

REFRESH_INTERVAL_MS_MIN: Final = 10_000
"""Patterns of a group are not resolved more often; a new one may wait for so long."""


@dataclass(frozen=True, slots=True)
class ResolvedRegularExpression:
    """What one pattern stood for when it was resolved."""

    topics: frozenset[str]
    version: int
    """Of the metadata whose topics were looked at."""
    timestamp_ms: int


def check_pattern(pattern: str) -> None:
    """Have ``pattern`` be one that RE2 takes.

    Raises:
        KafkaError: INVALID_REGULAR_EXPRESSION, with what is wrong.
    """
    _compiled(pattern)


def resolved(
    patterns: Iterable[str], topics: Collection[str], *, version: int, now_ms: int
) -> dict[str, ResolvedRegularExpression]:
    """Return which of ``topics`` each of ``patterns`` matches from its beginning to its end.

    Raises:
        KafkaError: INVALID_REGULAR_EXPRESSION; patterns are checked when a member brings them.
    """
    found: dict[str, ResolvedRegularExpression] = {}
    for pattern in patterns:
        compiled = _compiled(pattern)
        matching = frozenset(topic for topic in topics if compiled.fullmatch(topic))
        found[pattern] = ResolvedRegularExpression(matching, version, now_ms)
    return found


def is_resolution_due(
    subscribed: Collection[str],
    known: Mapping[str, ResolvedRegularExpression],
    *,
    new_topics_version: int,
    refresh_interval_ms: int,
    now_ms: int,
) -> bool:
    """Tell whether all patterns of a group are to be resolved now.

    Args:
        subscribed: the patterns that members have.
        known: what was resolved of the group's patterns, all of it together the last time.
        new_topics_version: of the metadata in which a topic was last new.
        refresh_interval_ms: ``group.consumer.regex.refresh.interval.ms``.
        now_ms: of the clock that gives timestamps.
    """
    if not subscribed:
        return False
    if not known:
        return True
    last_ms = max(each.timestamp_ms for each in known.values())
    if now_ms <= last_ms + REFRESH_INTERVAL_MS_MIN:
        return False
    return (
        any(pattern not in known for pattern in subscribed)
        or min(each.version for each in known.values()) < new_topics_version
        or now_ms > last_ms + refresh_interval_ms
    )


def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _OPTIONS)  # pyright: ignore[reportUnknownMemberType] - untyped
    except _PatternError as error:
        reason = str(error.args[0], "utf-8", "replace")
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}.",
        ) from None


_PatternError: Final[type[Exception]] = re2.error  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _options() -> Any:
    """RE2 itself would write mistakes in patterns to standard error."""
    options = re2.Options()
    options.log_errors = False
    return options


_OPTIONS: Final = _options()
