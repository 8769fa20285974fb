"""Whether an answer is a failed one, wherever its code lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from broker.core.answer_errors import error_finder


@dataclass
class Part:
    error_code: int = 0


@dataclass
class Topic:
    name: str = ""
    partitions: Sequence[Part] | None = field(default_factory=list[Part])


@dataclass
class Answer:
    topics: list[Topic] = field(default_factory=list[Topic])
    nodes: list[int] = field(default_factory=list[int])


@dataclass
class Top:
    error_code: int = 0


@dataclass
class Plain:
    count: int = 0


def test_a_code_deep_in_the_answer_is_found():
    find = error_finder(Answer)
    assert not find(Answer(topics=[Topic(partitions=[Part(), Part()])]))
    assert find(Answer(topics=[Topic(), Topic(partitions=[Part(), Part(56)])]))


def test_null_arrays_hold_no_code():
    assert not error_finder(Answer)(Answer(topics=[Topic(partitions=None)]))


def test_a_code_at_the_top_is_found():
    assert error_finder(Top)(Top(3))
    assert not error_finder(Top)(Top())


def test_an_answer_without_codes_never_failed():
    assert not error_finder(Plain)(Plain(5))
