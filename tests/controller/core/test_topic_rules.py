"""Names and manual assignments."""

from __future__ import annotations

import pytest

from controller.core.topic_rules import check_assignment, check_name
from protocol.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "__consumer_offsets"])
def test_kafkas_legal_names_are_accepted(name: str) -> None:
    check_name(name, [])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "ASCII alphanumerics, '.', '_' and '-'"),
        ("a\n", "ASCII alphanumerics, '.', '_' and '-'"),
        ("ä", "ASCII alphanumerics, '.', '_' and '-'"),
    ],
)
def test_other_names_are_refused_with_the_reason(name: str, problem: str) -> None:
    with pytest.raises(KafkaError) as error:
        check_name(name, [])
    assert error.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert error.value.message.startswith("Topic name is invalid: ")
    assert problem in error.value.message


def test_names_that_differ_in_dots_and_underscores_only_collide() -> None:
    with pytest.raises(KafkaError, match="collides with existing topics: a_b"):
        check_name("a.b", ["c", "a_b"])
    check_name("ab", ["a_b"])


@pytest.mark.parametrize(
    ("numbers", "assignment", "message"),
    [
        ([0, 1], [(1, 2), (1,)], "All partitions should have the same number of replicas"),
        ([0], [()], "All partitions should have the same number of replicas"),
        ([0], [(1, 1)], "Duplicate replica assignment found"),
        ([0, 2], [(1,), (2,)], "consecutive 0-based integer sequence"),
        ([1, 2], [(1,), (2,)], "consecutive 0-based integer sequence"),
        ([0, 0], [(1,), (2,)], "consecutive 0-based integer sequence"),
    ],
)
def test_unsound_assignments_are_refused(
    numbers: list[int], assignment: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(KafkaError, match=message) as error:
        check_assignment(numbers, assignment)
    assert error.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_sound_assignment_may_come_in_any_order() -> None:
    check_assignment([1, 0], [(1, 2), (2, 1)])


def test_each_partition_has_its_number() -> None:
    with pytest.raises(ValueError, match="longer"):
        check_assignment([0], [[1], [2]])
