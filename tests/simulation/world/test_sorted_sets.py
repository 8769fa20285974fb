"""Sets that give names in their order."""

from __future__ import annotations

import pytest

from simulation.world.sorted_sets import SortedFrozenSet, SortedSet, in_order

NAMES = ["zones", "orders", "a", "letters"]


def test_names_come_in_their_order() -> None:
    assert list(SortedSet(NAMES)) == list(SortedFrozenSet(NAMES)) == sorted(NAMES)


def test_tuples_come_in_the_order_of_their_text() -> None:
    assert in_order([("b", 1), ("a", 2)]) == [("a", 2), ("b", 1)]
    assert in_order([(2, "b"), ("bootstrap", "a")]) == [("bootstrap", "a"), (2, "b")]


def test_what_is_no_name_comes_as_it_did() -> None:
    things = [object(), object()]
    assert in_order(things) == things


def test_what_is_made_of_a_set_is_in_order_too() -> None:
    names, some = SortedSet(NAMES), SortedSet(["orders", "x"])

    assert list(names - some) == list(names.difference(some)) == ["a", "letters", "zones"]
    assert list(names | some) == list(names.union(some)) == sorted([*NAMES, "x"])
    assert list(names & some) == list(names.intersection(some)) == ["orders"]
    assert list(names.copy()) == sorted(NAMES)


def test_the_first_is_taken_out_first() -> None:
    names = SortedSet(NAMES)

    assert [names.pop() for _ in NAMES] == sorted(NAMES)
    with pytest.raises(KeyError):
        names.pop()


def test_built_in_sets_are_taken_for_them_and_each_for_its_own() -> None:
    assert isinstance({1}, SortedSet)
    assert isinstance({1}, tuple | SortedSet)
    assert isinstance(frozenset({1}), SortedFrozenSet)
    assert not isinstance(frozenset({1}), SortedSet)
    assert not isinstance([1], SortedSet | SortedFrozenSet)
