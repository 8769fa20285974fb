"""A budget of mutations: full at first, overdrawn once, filled up at its rate."""

from __future__ import annotations

from broker.core.client_quotas.sampled_rate import Sampling
from broker.core.client_quotas.token_bucket import TokenBucket

SAMPLING = Sampling(11, 1000)


def test_all_that_the_samples_let_through_may_be_saved_up_and_overdrawn_once() -> None:
    bucket = TokenBucket(SAMPLING, 2.0, 0)
    bucket.take(22, 0)
    assert bucket.wait_ms(2.0, 0) == 0
    bucket.take(10, 0)
    assert bucket.wait_ms(2.0, 0) == 5000
    assert bucket.wait_ms(2.0, 4000) == 1000
    assert bucket.wait_ms(2.0, 5000) == 0


def test_what_is_given_back_is_there_again_but_never_more_than_fits() -> None:
    bucket = TokenBucket(SAMPLING, 2.0, 0)
    bucket.take(30, 0)
    bucket.take(-30, 0)
    assert bucket.is_full(0)
    bucket.take(-5, 0)
    bucket.take(22, 0)
    assert not bucket.is_full(0)
    assert bucket.wait_ms(2.0, 0) == 0
    bucket.take(1, 0)
    assert bucket.wait_ms(2.0, 0) == 500


def test_a_lower_limit_holds_at_once() -> None:
    bucket = TokenBucket(SAMPLING, 10.0, 0)
    assert bucket.wait_ms(1.0, 0) == 0
    bucket.take(12, 0)
    assert bucket.wait_ms(1.0, 0) == 1000


def test_what_a_lower_limit_no_more_fits_does_not_come_back_with_a_higher_one() -> None:
    bucket = TokenBucket(SAMPLING, 10.0, 0)
    assert bucket.wait_ms(1.0, 0) == 0
    assert bucket.is_full(0)
    assert bucket.wait_ms(10.0, 0) == 0
    bucket.take(12, 0)
    assert bucket.wait_ms(10.0, 0) == 100
