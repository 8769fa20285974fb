from __future__ import annotations

import pytest

from simulation.workload.backoff import Backoff


@pytest.mark.parametrize(
    ("first_ms", "waits_ms"),
    [(100, [100, 200, 400, 800, 1_000, 1_000]), (3_000, [3_000, 3_000])],
)
def test_each_wait_is_twice_as_long_up_to_a_second(first_ms: int, waits_ms: list[int]) -> None:
    backoff = Backoff(first_ms)
    assert [backoff.next_ms() for _ in waits_ms] == waits_ms


def test_a_success_begins_anew() -> None:
    backoff = Backoff()
    assert [backoff.next_ms(), backoff.next_ms()] == [100, 200]
    backoff.reset()
    assert [backoff.next_ms(), backoff.next_ms()] == [100, 200]
