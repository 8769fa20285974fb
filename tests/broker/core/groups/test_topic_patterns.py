"""What patterns match, as RE2/J in Apache Kafka 4.3.1 says, and when they are resolved again.

``tests/golden/patterns.jsonl.gz`` has a pattern a line with the names that it matches; null where
it is none.
"""

from __future__ import annotations

import pytest

from broker.core.groups.topic_patterns import (
    REFRESH_INTERVAL_MS_MIN,
    ResolvedRegularExpression,
    check_pattern,
    is_resolution_due,
    resolved,
)
from protocol.errors import ErrorCode, KafkaError
from tests.golden.make_patterns import TOPICS
from tests.golden.vectors import load_vectors

REFRESH_MS = 600_000
FOO = ResolvedRegularExpression(frozenset({"foo"}), version=7, timestamp_ms=0)


def matched(pattern: str) -> list[str] | None:
    try:
        check_pattern(pattern)
    except KafkaError:
        return None
    found = resolved([pattern], TOPICS, version=0, now_ms=0)[pattern].topics
    return [topic for topic in TOPICS if topic in found]


def is_due(
    *subscribed: str,
    known: dict[str, ResolvedRegularExpression],
    now_ms: int = REFRESH_INTERVAL_MS_MIN + 1,
    new_topics_version: int = 7,
) -> bool:
    return is_resolution_due(
        subscribed,
        known,
        new_topics_version=new_topics_version,
        refresh_interval_ms=REFRESH_MS,
        now_ms=now_ms,
    )


def test_patterns_match_what_they_match_in_apache_kafka() -> None:
    recorded = load_vectors("patterns")
    assert {line["matched"] is None for line in recorded} == {True, False}
    assert [matched(line["pattern"]) for line in recorded] == [line["matched"] for line in recorded]


def test_a_mistake_is_told_with_the_pattern() -> None:
    with pytest.raises(
        KafkaError, match=r"`foo\(` is not a valid regular expression: missing \)"
    ) as told:
        check_pattern("foo(")
    assert told.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_resolution_bears_the_version_and_the_time_of_what_it_looked_at() -> None:
    found = resolved(["foo.*", "b"], ["foo", "foobar", "bar"], version=7, now_ms=5)
    assert found == {
        "foo.*": ResolvedRegularExpression(frozenset({"foo", "foobar"}), 7, 5),
        "b": ResolvedRegularExpression(frozenset(), 7, 5),
    }


def test_a_group_without_patterns_needs_no_resolution() -> None:
    assert not is_due(known={"foo": FOO})


def test_the_first_pattern_of_a_group_is_resolved_at_once() -> None:
    assert is_due("foo", known={}, now_ms=0)


def test_a_second_pattern_waits_until_the_group_may_be_resolved_again() -> None:
    assert not is_due("foo", "bar", known={"foo": FOO}, now_ms=REFRESH_INTERVAL_MS_MIN)
    assert is_due("foo", "bar", known={"foo": FOO}, now_ms=REFRESH_INTERVAL_MS_MIN + 1)


def test_new_topics_have_patterns_resolved_again() -> None:
    assert not is_due("foo", known={"foo": FOO})
    assert is_due("foo", known={"foo": FOO}, new_topics_version=8)


def test_patterns_are_resolved_again_after_the_refresh_interval() -> None:
    assert not is_due("foo", known={"foo": FOO}, now_ms=REFRESH_MS)
    assert is_due("foo", known={"foo": FOO}, now_ms=REFRESH_MS + 1)
