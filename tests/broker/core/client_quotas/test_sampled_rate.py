"""A rate over the last samples, and how long who is above its limit waits, as Kafka reckons it."""

from __future__ import annotations

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
