from __future__ import annotations

from itertools import islice

from tests.fuzz.listeners import rounds


def test_a_seed_sends_the_same_again() -> None:
    assert list(islice(rounds(3), 50)) == list(islice(rounds(3), 50))
    assert list(islice(rounds(3), 50)) != list(islice(rounds(4), 50))


def test_every_kind_of_listener_is_attacked() -> None:
    assert {listener for listener, _ in islice(rounds(1), 100)} == {"broker", "controller", "http"}
