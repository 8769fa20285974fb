"""Bytes per second."""

from __future__ import annotations

import pytest

from broker.core.pacing import Pacer, rest_s


def test_work_waits_as_long_as_its_bytes_take() -> None:
    pacer = Pacer()
    assert pacer.delay_ms(500, bytes_per_second=1000, now_ms=10_000) == 500
    assert pacer.delay_ms(500, bytes_per_second=1000, now_ms=10_500) == 500


def test_all_that_ask_share_the_rate() -> None:
    pacer = Pacer()
    pacer.delay_ms(500, bytes_per_second=1000, now_ms=10_000)
    assert pacer.delay_ms(500, bytes_per_second=1000, now_ms=10_000) == 1000


def test_a_rest_saves_nothing_up() -> None:
    pacer = Pacer()
    pacer.delay_ms(500, bytes_per_second=1000, now_ms=10_000)
    assert pacer.delay_ms(500, bytes_per_second=1000, now_ms=90_000) == 500


def test_without_a_bound_nothing_waits() -> None:
    assert Pacer().delay_ms(1 << 20, bytes_per_second=1.7e308, now_ms=5) < 1e-200


def test_a_tiny_rate_stops_nothing_for_ever() -> None:
    assert Pacer().delay_ms(1 << 30, bytes_per_second=0, now_ms=0) == 60_000


@pytest.mark.parametrize(
    ("worked_s", "appends_count", "expected_s"),
    [(0.02, 3, 0.04), (0.02, 0, 0.0), (30.0, 1, 0.1)],
    ids=["loaded", "idle", "a disk that stood still"],
)
def test_work_in_the_background_rests_only_for_appends_and_not_for_long(
    worked_s: float, appends_count: int, expected_s: float
) -> None:
    assert rest_s(worked_s, appends_count=appends_count) == expected_s
