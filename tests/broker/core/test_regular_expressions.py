"""Patterns that clients send; what they match is held against RE2/J beside subscriptions."""

from __future__ import annotations

import pytest

from broker.core.regular_expressions import compiled
from protocol.errors import ErrorCode, KafkaError


def test_a_pattern_matches_from_beginning_to_end() -> None:
    pattern = compiled("a+", "Pattern")
    assert pattern.fullmatch("aa")
    assert not pattern.fullmatch("aab")


def test_a_mistake_is_told_with_the_pattern_and_its_name() -> None:
    text = r"Pattern `foo\(` is not a valid regular expression: missing \)"
    with pytest.raises(KafkaError, match=text) as told:
        compiled("foo(", "Pattern")
    assert told.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_mistake_is_not_written_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KafkaError):
        compiled("a**", "Pattern")
    assert capfd.readouterr().err == ""
