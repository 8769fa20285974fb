"""Copies of this process tell how they ended."""

from __future__ import annotations

import os

from simulation.matrix.forks import Forks


def test_each_copy_goes_its_own_way() -> None:
    told: dict[str, list[str]] = {}
    forks: Forks[str] = Forks(2, told.__setitem__)
    for label in ("one", "two", "three"):
        if forks.fork(label):
            forks.tell(f"{label} has a pipe: {forks.told_by is not None}")
    forks.finish()
    assert told == {label: [f"{label} has a pipe: True"] for label in ("one", "two", "three")}
    assert forks.told_by is None


def test_a_copy_that_dies_tells_nothing() -> None:
    told: dict[str, list[str]] = {}
    forks: Forks[str] = Forks(1, told.__setitem__)
    if forks.fork("dead"):
        os._exit(1)
    forks.finish()
    assert told == {"dead": []}


def test_a_copy_goes_two_ways_and_tells_of_both() -> None:
    told: dict[str, list[str]] = {}
    forks: Forks[str] = Forks(1, told.__setitem__)
    if forks.fork("copy"):
        text = "branch" if forks.branch() else "trunk"
        forks.tell(text)
    forks.finish()
    assert told == {"copy": ["branch", "trunk"]}
