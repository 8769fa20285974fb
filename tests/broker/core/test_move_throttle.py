"""The move throttle, compared with what a real broker does at a low rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.move_throttle import UNLIMITED, MoveThrottle

MIB = 1 << 20


def copy_times(
    throttle: MoveThrottle, sizes: list[int], *, back_off_ms: int = 1000, step_ms: int = 1
) -> list[int]:
    """Return when each copy goes through, for a mover that asks again after its back-off."""
    now_ms = 0
    times: list[int] = []
    for size_bytes in sizes:
        while throttle.is_exceeded(now_ms):
            now_ms += back_off_ms
        times.append(now_ms)
        throttle.record(size_bytes, now_ms)
        now_ms += step_ms
    return times


def test_without_a_limit_nothing_waits() -> None:
    throttle = MoveThrottle()
    assert copy_times(throttle, [MIB] * 100) == list(range(100))
    assert throttle.limit_bytes_per_second == UNLIMITED


def test_nothing_copied_is_rate_zero() -> None:
    assert MoveThrottle(0).rate_bytes_per_second(5) == 0.0
    assert not MoveThrottle(0).is_exceeded(5)


@pytest.mark.scenario(138)
def test_one_byte_per_second_lets_one_batch_through_per_window() -> None:
    assert copy_times(MoveThrottle(1), [MIB] * 3) == [0, 11_001, 22_002]


def test_the_pace_of_a_move_as_seen_on_apache_kafka() -> None:
    # 3,037,631 bytes at 200,000 B/s: the first MiB at once, at least 4 s of nothing, then 12.1 s.
    times = copy_times(MoveThrottle(200_000), [1_001_468, 1_018_000, 1_018_163])
    assert times[0] == 0
    assert 5000 <= times[1] <= 7000
    assert 11_000 <= times[2] <= 13_000


@pytest.mark.scenario(139)
def test_a_new_limit_holds_at_once() -> None:
    throttle = MoveThrottle(1)
    throttle.record(MIB, 0)
    assert throttle.is_exceeded(10)
    throttle.limit_bytes_per_second = UNLIMITED
    assert not throttle.is_exceeded(10)
    throttle.limit_bytes_per_second = 2 * MIB
    assert not throttle.is_exceeded(10)


def test_the_rate_is_measured_over_at_least_one_sample() -> None:
    throttle = MoveThrottle(100)
    throttle.record(100, 0)
    assert throttle.rate_bytes_per_second(0) == 100.0
    assert throttle.rate_bytes_per_second(500) == 100.0
    assert throttle.rate_bytes_per_second(2000) == 50.0
    assert throttle.rate_bytes_per_second(11_000) == 0.0


@pytest.mark.scenario(265)
@given(st.lists(st.integers(1, MIB), min_size=30, max_size=80), st.integers(10_000, MIB))
def test_over_a_long_move_the_rate_keeps_to_the_limit(sizes: list[int], limit: int) -> None:
    times = copy_times(MoveThrottle(limit), sizes, back_off_ms=100)
    for window in range(1, len(sizes)):
        elapsed_ms = times[window] - times[0]
        if elapsed_ms > 11_000:
            copied = sum(sizes[:window])
            assert copied * 1000 / elapsed_ms <= limit + MIB / 11 * 2 + 1
