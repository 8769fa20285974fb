"""One limit for all replicas that are made anew on a log dir."""

from __future__ import annotations

from broker.core.rebuild_throttle import RebuildThrottle, RebuildView
from protocol.ids import TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def rebuilding() -> RebuildThrottle:
    throttle = RebuildThrottle()
    throttle.begin("/d1", [T0, T1], 1_000)
    throttle.begin("/d2", [T2], 2_000)
    return throttle


def test_the_replicas_of_a_log_dir_share_a_quota() -> None:
    throttle = rebuilding()
    quota = throttle.quota_of(T0)
    assert quota is not None
    assert quota.limit_bytes_per_second == 1_000
    assert quota is throttle.quota_of(T1)
    assert quota is not throttle.quota_of(T2)
    assert throttle.quota_of(TopicPartition("u", 0)) is None


def test_the_limit_goes_with_its_last_replica() -> None:
    throttle = rebuilding()
    throttle.done(T0)
    throttle.done(T0)
    assert throttle.quota_of(T0) is None
    assert throttle.view("/d1") == RebuildView(1_000, 1)
    throttle.done(T1)
    assert throttle.view("/d1") is None
    assert throttle
    throttle.done(T2)
    assert not throttle


def test_a_log_dir_that_fails_again_has_no_limit_any_more() -> None:
    throttle = rebuilding()
    throttle.end("/d1")
    assert (throttle.quota_of(T0), throttle.view("/d1")) == (None, None)
    throttle.end("/d3")
    assert throttle.view("/d2") == RebuildView(2_000, 1)


def test_a_limit_begun_anew_takes_the_place_of_the_old_one() -> None:
    throttle = rebuilding()
    throttle.begin("/d1", [T1], 5)
    assert throttle.quota_of(T0) is None
    assert throttle.view("/d1") == RebuildView(5, 1)
    throttle.begin("/d1", [], 5)
    assert throttle.view("/d1") is None
