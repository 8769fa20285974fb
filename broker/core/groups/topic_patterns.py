"""Which topics the patterns stand for that members of a consumer group are subscribed to.

Nothing is stored here: what is resolved is the value of a ConsumerGroupRegularExpression record.

Source: TopicRegexResolver.java, GroupMetadataManager.maybeUpdateRegularExpressions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from broker.core.regular_expressions import RegularExpression, compiled

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
        expression = _compiled(pattern)
        matching = frozenset(topic for topic in topics if expression.fullmatch(topic))
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


def _compiled(pattern: str) -> RegularExpression:
    return compiled(pattern, "SubscribedTopicRegex")
