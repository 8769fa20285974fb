"""What the contracts of assignors say of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.groups.assignors import range_assignor, uniform_assignor
from broker.core.groups.assignors.assignment import AssignedPartitions, MemberSubscription
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
T = b"t" * 16
TWO = {
    "a": MemberSubscription(topics={T}, current_partitions={T: (0, 1, 2)}),
    "b": MemberSubscription(topics={T}),
}
COUNTS = {T: 4}
OTHER = b"o" * 16
DIFFERENT = {
    "a": MemberSubscription(topics={T}, current_partitions={T: (0, 3)}),
    "b": MemberSubscription(topics={T, OTHER}, current_partitions={T: (1,), OTHER: (0,)}),
    "c": MemberSubscription(topics={OTHER}, current_partitions={OTHER: (1,)}),
}
"""Partition 2 of the first topic is nobody's."""
SETTLED = {
    "a": DIFFERENT["a"],
    "b": MemberSubscription(topics={T, OTHER}, current_partitions={T: (1, 2)}),
    "c": MemberSubscription(topics={OTHER}, current_partitions={OTHER: (0, 1)}),
}


def assigned(a: tuple[int, ...], b: tuple[int, ...]) -> Wrong:
    found: dict[str, AssignedPartitions] = {"a": {T: a}, "b": {T: b}}
    nothing: AssignedPartitions = {}
    return answers({each: row if row[T] else nothing for each, row in found.items()})


def uniform() -> object:
    return uniform_assignor.assign(TWO, COUNTS)


def different(members: dict[str, MemberSubscription]) -> Callable[[], object]:
    return lambda: uniform_assignor.assign(members, {T: 4, OTHER: 2})


def of_three(a: AssignedPartitions, b: AssignedPartitions, c: AssignedPartitions) -> Wrong:
    return answers({"a": a, "b": b, "c": c})


HETEROGENEOUS = "uniform_heterogeneous.assign"


def ranges() -> object:
    return range_assignor.assign(TWO, COUNTS)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("uniform_assignor.assign", assigned((0, 1), (2,)), uniform),
    ("uniform_assignor.assign", assigned((0, 1, 2), (2, 3)), uniform),
    ("uniform_assignor.assign", answers({"a": {T: (0, 1, 2, 3)}}), uniform),
    ("uniform_assignor.assign", answers({"a": {T: (0, 1, 2, 3)}, "b": {T: ()}}), uniform),
    ("uniform_homogeneous.assign", assigned((0, 1, 2, 3), ()), uniform),
    ("uniform_homogeneous.assign", assigned((0, 3), (1, 2)), uniform),
    ("uniform_homogeneous.assign", assigned((0, 1), (2,)), uniform),
    (
        HETEROGENEOUS,
        of_three({T: (0, 3)}, {T: (1,), OTHER: (0,)}, {OTHER: (1,)}),
        different(DIFFERENT),
    ),
    (
        HETEROGENEOUS,
        of_three({T: (3,)}, {T: (0, 1, 2), OTHER: (0,)}, {OTHER: (1,)}),
        different(DIFFERENT),
    ),
    (
        HETEROGENEOUS,
        of_three({T: (0, 1, 2, 3)}, {}, {OTHER: (0, 1)}),
        different(DIFFERENT),
    ),
    (
        HETEROGENEOUS,
        of_three({T: (1, 3)}, {T: (0, 2)}, {OTHER: (0, 1)}),
        different(SETTLED),
    ),
    ("range_assignor.assign", assigned((0, 2), (1, 3)), ranges),
    ("range_assignor.assign", assigned((0,), (1, 2, 3)), ranges),
    ("range_assignor.assign", assigned((0, 1, 2), (3,)), ranges),
    ("range_assignor.assign", assigned((0, 1), (2,)), ranges),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_assignor_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
