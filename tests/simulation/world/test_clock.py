"""The wall clock of a node."""

from __future__ import annotations

from simulation.world.clock import EPOCH_MS, SimClock


def test_it_runs_with_the_world_and_may_be_wrong():
    now_us = [0]
    clock = SimClock(lambda: now_us[0])
    assert clock.now_ms() == EPOCH_MS
    now_us[0] = 2_500_000
    assert clock.now_ms() == EPOCH_MS + 2500
    clock.skew_ms = -10_000
    assert clock.now_ms() == EPOCH_MS - 7500
