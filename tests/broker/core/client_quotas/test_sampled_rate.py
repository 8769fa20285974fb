"""A rate over the last samples, and how long who is above its limit waits, as Kafka reckons it."""

from __future__ import annotations

import math

from broker.core.client_quotas.sampled_rate import SampledRate, Sampling

SAMPLING = Sampling(11, 1000)


def rate() -> SampledRate:
    return SampledRate(SAMPLING)


def test_ten_seconds_at_the_limit_may_come_at_once() -> None:
    first = rate()
    first.record(1000.0, 0)
    assert first.throttle_ms(100.0, 0) == 0
    first.record(1.0, 0)
    assert first.throttle_ms(100.0, 0) == 10


def test_twice_the_limit_waits_as_long_as_it_was_measured() -> None:
    one = rate()
    one.record(2000.0, 0)
    assert one.throttle_ms(100.0, 0) == 10_000
    one.record(2000.0, 5_000)
    assert one.throttle_ms(200.0, 5_000) == 10_000


def test_a_client_that_waits_as_told_keeps_its_rate() -> None:
    one, now_ms, sent = rate(), 0, 0.0
    while now_ms < 120_000:
        one.record(500.0, now_ms)
        sent += 500.0
        now_ms += 1 + one.throttle_ms(1000.0, now_ms)
    assert abs(sent / now_ms - 1.0) < 0.1


def test_samples_older_than_all_do_not_count() -> None:
    one = rate()
    one.record(10_000.0, 0)
    assert one.throttle_ms(100.0, 10_999) > 0
    assert one.throttle_ms(100.0, 11_000) == 0
    assert one.is_over(11_000)


def test_what_is_taken_back_never_counted() -> None:
    one = rate()
    one.record(5000.0, 0)
    one.record(-5000.0, 0)
    assert one.throttle_ms(1.0, 0) == 0


def test_what_is_recorded_within_a_sample_counts_in_it_and_later_in_the_next() -> None:
    one = rate()
    one.record(1000.0, 0)
    one.record(1000.0, 999)  # Of the first sample, which now lasts as long.
    per_second = 2_000_000 / 10_998
    wait_ms = math.floor((per_second - 150) / 150 * 10_998 + 0.5)
    assert one.throttle_ms(150.0, 10_998) == wait_ms
    assert one.throttle_ms(150.0, 11_998) == math.floor((2_000_000 - 150 * 11_998) / 150 + 0.5)
    assert not one.is_over(11_998)
    assert one.throttle_ms(150.0, 11_999) == 0
    other = rate()
    other.record(1000.0, 0)
    other.record(1000.0, 1_000)
    assert other.throttle_ms(150.0, 11_999) == 0, "of the second sample 1000 in 10 s are left"


def test_a_rate_is_measured_over_ten_seconds_at_least_and_over_all_that_it_lasted() -> None:
    one = rate()
    one.record(1500.0, 0)
    for now_ms, wait_ms in ((0, 5_000), (999, 4_001), (1_000, 5_000), (2_500, 4_500)):
        assert one.throttle_ms(100.0, now_ms) == wait_ms
    single = SampledRate(Sampling(1, 1000))
    single.record(150.0, 0)
    assert single.throttle_ms(100.0, 0) == 500
    assert single.throttle_ms(100.0, 999) == 500
