"""When garbage is collected."""

from __future__ import annotations

import gc
import weakref

from simulation.world.garbage import garbage_of_one_world


class Circle:
    def __init__(self) -> None:
        self.itself = self


def many_circles() -> weakref.ref[Circle]:
    first = weakref.ref(Circle())
    for _ in range(10_000):
        Circle()
    return first


def test_nothing_is_collected_meanwhile_and_all_at_the_end():
    with garbage_of_one_world():
        first = many_circles()
        assert first() is not None
    assert first() is None


def test_afterwards_it_is_as_before():
    gc.enable()  # A large request that an earlier test left in the air may still hold it off.
    with garbage_of_one_world():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    gc.disable()
    try:
        with garbage_of_one_world():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
