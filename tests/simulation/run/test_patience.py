"""Pauses between two looks."""

from __future__ import annotations

from simulation.run.patience import pause_s


def test_a_pause_is_a_tenth_of_the_wait_in_bounds() -> None:
    waits_ms = (0, 500, 990, 1_500, 9_999, 10_001, 600_000)
    assert [pause_s(wait_ms, 100) for wait_ms in waits_ms] == [0.1, 0.1, 0.1, 0.15, 0.999, 1, 1]
