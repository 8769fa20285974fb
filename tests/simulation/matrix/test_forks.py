"""Copies of this process tell how they ended."""

from __future__ import annotations

import os
import signal

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


def test_copies_that_are_abandoned_end_at_once_with_their_branches() -> None:
    told: dict[str, list[str]] = {}
    forks: Forks[str] = Forks(2, told.__setitem__)
    begun, begins = os.pipe()
    for label in ("one", "two"):
        if forks.fork(label):
            forks.branch()
            os.write(begins, b".")
            signal.pause()
    for _ in range(2):  # The branches: their copies wait for them.
        os.read(begun, 1)

    forks.abandon()

    os.close(begins)
    assert os.read(begun, 1) == b""  # Nobody has the other end any more.
    os.close(begun)
    assert told == {}
    forks.finish()
