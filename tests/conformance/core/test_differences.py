from __future__ import annotations

from conformance.core.differences import ABSENT, Difference, differences


def test_equal_observations_do_not_differ() -> None:
    assert list(differences([{"a": [1, None]}], [{"a": [1, None]}])) == []


def test_every_place_is_told_with_both_values() -> None:
    expected = {"a": [1, {"b": 2}], "c": 3}
    assert list(differences(expected, {"a": [1, {"b": 5}, 9], "d": 4})) == [
        Difference("a.1.b", 2, 5),
        Difference("a.2", ABSENT, 9),
        Difference("c", 3, ABSENT),
        Difference("d", ABSENT, 4),
    ]


def test_one_is_not_true_and_null_is_not_empty() -> None:
    assert [each.path for each in differences({"a": 1, "b": None}, {"a": True, "b": ""})] == [
        "a",
        "b",
    ]
