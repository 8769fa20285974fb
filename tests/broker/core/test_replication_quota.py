"""The quotas of replication, compared with what a real broker does at a low rate."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from broker.core.replication_quota import (
    UNLIMITED,
    ReplicationQuota,
    ReplicationQuotas,
    is_throttled_replica,
)
from protocol.configs.parsing import broker_config

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


def test_what_was_never_used_lets_a_first_transfer_in() -> None:
    assert not ReplicationQuota(0).is_exceeded(5)
    assert ReplicationQuota(0).room_bytes(5) == 0


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


RATES = st.integers(12, 29).map(lambda power: 1 << power) | st.integers(3_000, 300 * MIB)
"""From 3 kB/s to 512 MiB/s."""


def most_in(times: list[int], sizes: list[int], window_ms: int) -> int:
    """Return the most bytes that went through within any ``window_ms``."""
    most = total = begin = 0
    for end, size_bytes in enumerate(sizes):
        total += size_bytes
        while times[end] - times[begin] >= window_ms:
            total -= sizes[begin]
            begin += 1
        most = max(most, total)
    return most


@given(RATES, st.data())
def test_whatever_the_sizes_the_rate_is_the_limit_within_a_tenth(
    limit: int, data: st.DataObject
) -> None:
    """Few large batches and many small ones: all that may go in one transfer is a burst."""
    quota = ReplicationQuota(limit)
    largest = min(quota.burst_bytes, 8 * MIB)
    size = st.integers(1, largest) | st.just(largest) | st.integers(1, max(largest // 100, 1))
    sizes = data.draw(st.lists(size, min_size=1, max_size=30))
    sizes *= min(6 * limit // sum(sizes) + 1, 4_000 // len(sizes))
    times = exact_times(quota, sizes)
    took_ms = times[-1]
    if took_ms >= 5_000:
        assert sum(sizes[:-1]) * 1000 / took_ms == pytest.approx(limit, rel=0.1)
    if took_ms >= 1_000:
        assert most_in(times, sizes, 1_000) <= 1.5 * limit, "over a second two bursts more at most"


@given(RATES, st.lists(st.integers(0, 3_000), min_size=1, max_size=8), st.data())
def test_no_stall_is_made_up_for_by_a_higher_rate(
    limit: int, stalls_ms: list[int], data: st.DataObject
) -> None:
    quota = ReplicationQuota(limit)
    size_bytes = min(quota.burst_bytes, 8 * MIB)
    assume(limit // size_bytes <= 100)
    when = st.integers(0, 5 * limit // size_bytes)
    stalls = {data.draw(when): stall_ms for stall_ms in stalls_ms}
    now_ms = 0
    times: list[int] = []
    for index in range(6 * limit // size_bytes):
        now_ms += stalls.get(index, 0)
        now_ms += quota.wait_ms(now_ms)
        times.append(now_ms)
        quota.record(size_bytes, now_ms)
    sizes = [size_bytes] * len(times)
    for window_ms in (1_000, 2_500, 5_000):
        assert most_in(times, sizes, window_ms) <= limit * (window_ms + 125) / 1000 + 2 * size_bytes


def test_a_stall_right_after_the_first_transfer_does_not_raise_the_rate() -> None:
    """Once 1.49 of a limit was measured, from the second transfer on: it had been saved up."""
    quota = ReplicationQuota(6 * MIB)
    quota.record(MIB, 0)
    now_ms, copied = 1_300, 0
    while copied < 23 * MIB:
        now_ms += quota.wait_ms(now_ms)
        quota.record(MIB, now_ms)
        copied += MIB
    assert copied * 1000 / (now_ms - 1_300) == pytest.approx(6 * MIB, rel=0.1)


@given(RATES, RATES)
def test_a_changed_limit_holds_at_once_without_a_gap(before: int, after: int) -> None:
    quota = ReplicationQuota(before)
    now_ms = exact_times(quota, [min(quota.burst_bytes, 8 * MIB)] * 40)[-1]
    quota.limit_bytes_per_second = after
    began_ms, copied = now_ms, 0
    size_bytes = min(quota.burst_bytes, 8 * MIB)
    while now_ms < began_ms + 6_000 and copied < 300 * size_bytes:
        now_ms += quota.wait_ms(now_ms)
        copied += size_bytes
        quota.record(size_bytes, now_ms)
    if now_ms - began_ms >= 6_000:
        assert (copied - size_bytes) * 1000 / (now_ms - began_ms) == pytest.approx(after, rel=0.1)


def test_what_came_before_there_was_a_limit_is_not_paid_for() -> None:
    quota = ReplicationQuota()
    for now_ms in range(1_000):
        quota.record(MIB, now_ms)
    quota.limit_bytes_per_second = 1_000
    assert not quota.is_exceeded(1_000)


def test_members_of_the_isr_leave_no_debt_for_ever() -> None:
    """They count and never wait, so they may take more than the limit for hours."""
    quota = ReplicationQuota(1_000)
    for now_s in range(3_600):
        quota.record(100_000, now_s * 1000)
    for now_s in range(3_600, 3_660):
        quota.record(500, now_s * 1000)
    assert not quota.is_exceeded(3_660_000)


def test_a_long_rest_saves_nothing_up() -> None:
    quota = ReplicationQuota(1_000)
    quota.record(1, 0)
    assert quota.room_bytes(8_000) == quota.burst_bytes // 2
    assert quota.room_bytes(11_000) == 0


def test_what_did_not_happen_is_taken_back() -> None:
    quota = ReplicationQuota(1_000)
    quota.record(50_000, 0)
    assert quota.wait_ms(5) == 10_995
    quota.record(-49_500, 10)
    assert (quota.wait_ms(10), quota.room_bytes(10)) == (490, -490)


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


def test_the_least_transfer_counts_and_an_empty_one_does_not() -> None:
    quota = ReplicationQuota(1_000)
    quota.record(0, 0)
    assert quota.room_bytes(8_000) == 0, "nothing was saved up, for nothing was transferred"
    least = ReplicationQuota(1)
    least.record(1, 0)
    assert least.wait_ms(0) == 1_000
    least.record(0, 10)
    assert least.wait_ms(10) == 990
    least.record(-1, 10)
    assert not least.is_exceeded(10)


def test_samples_are_as_many_and_as_long_as_configured() -> None:
    quotas = ReplicationQuotas.of(
        broker_config(
            {
                "replication.quota.window.num": "2",
                "replication.quota.window.size.seconds": "3",
                "alter.log.dirs.replication.quota.window.num": "4",
                "alter.log.dirs.replication.quota.window.size.seconds": "5",
            }
        )
    )
    for quota, longest_ms, burst_bytes in zip(
        quotas, (6_000, 6_000, 20_000), (750_000, 750_000, 1_250_000), strict=True
    ):
        assert quota.limit_bytes_per_second == UNLIMITED == 2**63 - 1
        quota.limit_bytes_per_second = 1_000_000
        assert quota.burst_bytes == burst_bytes
        quota.record(10**9, 0)
        assert quota.wait_ms(0) == longest_ms
        assert not quota.is_exceeded(longest_ms)


def test_a_debt_costs_what_a_higher_limit_lets_it_and_no_less_at_a_lower_one() -> None:
    for before, after, wait_ms in ((1_000, 4_000, 500), (1_000, 500, 2_000), (0, 2, 1_000)):
        quota = ReplicationQuota(before)
        quota.record(2_000 if before else 2, 0)
        quota.limit_bytes_per_second = after
        assert quota.wait_ms(0) == wait_ms
