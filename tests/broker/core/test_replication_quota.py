"""The quotas of replication, compared with what a real broker does at a low rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.replication_quota import (
    UNLIMITED,
    ReplicationQuota,
    ReplicationQuotas,
    is_throttled_replica,
)
from protocol.configs import broker_config

MIB = 1 << 20


def copy_times(
    throttle: ReplicationQuota, sizes: list[int], *, back_off_ms: int = 1000, step_ms: int = 1
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
    throttle = ReplicationQuota()
    assert copy_times(throttle, [MIB] * 100) == list(range(100))
    assert throttle.limit_bytes_per_second == UNLIMITED


def test_nothing_copied_is_rate_zero() -> None:
    assert ReplicationQuota(0).rate_bytes_per_second(5) == 0.0
    assert not ReplicationQuota(0).is_exceeded(5)


@pytest.mark.scenario(138)
def test_one_byte_per_second_lets_one_batch_through_per_window() -> None:
    assert copy_times(ReplicationQuota(1), [MIB] * 3) == [0, 11_001, 22_002]


def test_the_pace_of_a_move_as_seen_on_apache_kafka() -> None:
    # 3,037,631 bytes at 200,000 B/s: the first MiB at once, at least 4 s of nothing, then 12.1 s.
    times = copy_times(ReplicationQuota(200_000), [1_001_468, 1_018_000, 1_018_163])
    assert times[0] == 0
    assert 5000 <= times[1] <= 7000
    assert 11_000 <= times[2] <= 13_000


@pytest.mark.scenario(139)
def test_a_new_limit_holds_at_once() -> None:
    throttle = ReplicationQuota(1)
    throttle.record(MIB, 0)
    assert throttle.is_exceeded(10)
    throttle.limit_bytes_per_second = UNLIMITED
    assert not throttle.is_exceeded(10)
    throttle.limit_bytes_per_second = 2 * MIB
    assert not throttle.is_exceeded(10)


def test_the_rate_is_measured_over_at_least_one_sample() -> None:
    throttle = ReplicationQuota(100)
    throttle.record(100, 0)
    assert throttle.rate_bytes_per_second(0) == 100.0
    assert throttle.rate_bytes_per_second(500) == 100.0
    assert throttle.rate_bytes_per_second(2000) == 50.0
    assert throttle.rate_bytes_per_second(11_000) == 0.0


@pytest.mark.scenario(265)
@given(st.lists(st.integers(1, MIB), min_size=30, max_size=80), st.integers(10_000, MIB))
def test_over_a_long_move_the_rate_keeps_to_the_limit(sizes: list[int], limit: int) -> None:
    times = copy_times(ReplicationQuota(limit), sizes, back_off_ms=100)
    for window in range(1, len(sizes)):
        elapsed_ms = times[window] - times[0]
        if elapsed_ms > 11_000:
            copied = sum(sizes[:window])
            assert copied * 1000 / elapsed_ms <= limit + MIB / 11 * 2 + 1


def exact_times(quota: ReplicationQuota, sizes: list[int]) -> list[int]:
    """Return when each transfer goes through, for one that waits as long as it is told."""
    now_ms = 0
    times: list[int] = []
    for size_bytes in sizes:
        now_ms += quota.wait_ms(now_ms)
        times.append(now_ms)
        quota.record(size_bytes, now_ms)
    return times


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, MIB)), max_size=40),
    st.integers(0, MIB),
)
def test_the_wait_is_neither_too_long_nor_too_short(
    transfers: list[tuple[int, int]], limit: int
) -> None:
    quota = ReplicationQuota(limit)
    now_ms = 0
    for pause_ms, size_bytes in transfers:
        now_ms += pause_ms
        quota.record(size_bytes, now_ms)
    wait_ms = quota.wait_ms(now_ms)
    assert (wait_ms > 0) == quota.is_exceeded(now_ms)
    if wait_ms > 0:
        assert quota.is_exceeded(now_ms + wait_ms - 1)
    assert not quota.is_exceeded(now_ms + wait_ms)


@given(st.integers(1_000, 100 * MIB))
def test_bursts_keep_within_a_tenth_of_the_limit(limit: int) -> None:
    quota = ReplicationQuota(limit)
    size_bytes = min(quota.burst_bytes, MIB)
    count = 20 * limit // size_bytes
    times = exact_times(quota, [size_bytes] * min(count, 2_000))
    if times[-1] >= 4_000:
        rate = size_bytes * (len(times) - 1) * 1000 / times[-1]
        assert 0.95 * limit <= rate <= 1.1 * limit


def test_empty_transfers_save_nothing_up_for_later() -> None:
    quota = ReplicationQuota(1_000)
    quota.record(0, 0)
    assert quota.room_bytes(8_000) == 1_000


def test_what_did_not_happen_is_taken_back() -> None:
    quota = ReplicationQuota(1_000)
    quota.record(50_000, 0)
    assert quota.is_exceeded(5)
    quota.record(-49_500, 10)
    assert (quota.is_exceeded(10), quota.room_bytes(10)) == (False, 500)


def test_a_burst_is_a_quarter_of_what_the_limit_gives_in_one_sample() -> None:
    assert ReplicationQuota(5_000, sample_ms=2_000).burst_bytes == 2_500
    assert ReplicationQuota(0).burst_bytes == 1


def test_a_topic_names_its_throttled_replicas_by_partition_and_broker() -> None:
    assert is_throttled_replica(("*",), partition=3, broker_id=1)
    assert is_throttled_replica(("0:2", "3:1"), partition=3, broker_id=1)
    assert not is_throttled_replica(("3:2", "1:1"), partition=3, broker_id=1)
    assert not is_throttled_replica((), partition=3, broker_id=1)


def test_each_quota_has_its_own_keys() -> None:
    quotas = ReplicationQuotas.of(
        broker_config(
            {
                "leader.replication.throttled.rate": "10",
                "follower.replication.throttled.rate": "20",
                "replica.alter.log.dirs.io.max.bytes.per.second": "30",
                "replication.quota.window.size.seconds": "2",
            }
        )
    )
    assert [quota.burst_bytes for quota in quotas] == [5, 10, 7]
    quotas.configure(broker_config({}))
    assert not any(quota.is_limited for quota in quotas)
