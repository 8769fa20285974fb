"""Bytes per second."""

from __future__ import annotations

from broker.core.pacing import Pacer


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
