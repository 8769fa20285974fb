"""Which segments go, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.retention import Expired, RetentionLimits, expired_segments

HOUR_MS = 3_600_000
NOW_MS = 1_000 * HOUR_MS
KEEP = RetentionLimits(
    high_watermark=1_000,
    log_start_offset=0,
    retention_ms=-1,
    retention_bytes=-1,
    now_ms=NOW_MS,
    deletes=True,
)


@dataclass
class Part:
    """A segment of 10 offsets."""

    base_offset: int
    size_bytes: int = 100
    age_hours: int = 0

    def newest_ms(self) -> int:
        return NOW_MS - self.age_hours * HOUR_MS


def parts(*ages: int) -> list[Part]:
    return [Part(number * 10, age_hours=age) for number, age in enumerate(ages)]


def test_without_bounds_everything_stays() -> None:
    assert expired_segments(parts(900, 900), 20, KEEP) == Expired(0, 0, 0)


def test_segments_go_by_age_up_to_the_first_young_one() -> None:
    limits = replace(KEEP, retention_ms=24 * HOUR_MS)
    assert expired_segments(parts(30, 25, 24, 30, 0), 50, limits) == Expired(0, 0, 2)


def test_the_active_segment_goes_too_when_it_is_old() -> None:
    limits = replace(KEEP, retention_ms=HOUR_MS)
    assert expired_segments(parts(3, 2), 20, limits).total == 2


def test_an_empty_active_segment_stays() -> None:
    limits = replace(KEEP, retention_ms=HOUR_MS)
    log = [*parts(3, 2), Part(20, size_bytes=0, age_hours=9)]
    assert expired_segments(log, 20, limits).total == 2


def test_a_timestamp_in_the_future_holds_its_segment() -> None:
    limits = replace(KEEP, retention_ms=0)
    assert expired_segments(parts(-5, 3), 20, limits).total == 0


def test_nothing_at_the_high_watermark_goes() -> None:
    limits = replace(KEEP, retention_ms=0, high_watermark=19)
    assert expired_segments(parts(9, 9, 9), 30, limits).total == 1
    assert expired_segments(parts(9, 9, 9), 30, replace(limits, high_watermark=20)).total == 2
    assert expired_segments(parts(9, 9, 9), 30, replace(limits, high_watermark=30)).total == 3


@pytest.mark.parametrize(
    ("retention_bytes", "count"), [(0, 3), (99, 2), (100, 2), (199, 1), (200, 1), (201, 0)]
)
def test_segments_go_by_size_while_the_rest_reaches_the_bound(
    retention_bytes: int, count: int
) -> None:
    limits = replace(KEEP, retention_bytes=retention_bytes)
    assert expired_segments(parts(0, 0, 0), 30, limits) == Expired(0, count, 0)


def test_the_log_start_offset_lets_go_what_lies_wholly_below_it() -> None:
    for start, count in ((9, 0), (10, 1), (19, 1), (20, 2), (30, 2)):
        limits = replace(KEEP, log_start_offset=start)
        assert expired_segments(parts(0, 0, 0), 30, limits) == Expired(count, 0, 0)


def test_a_compacted_log_loses_only_what_lies_below_its_start() -> None:
    limits = replace(KEEP, deletes=False, retention_ms=0, retention_bytes=0, log_start_offset=10)
    assert expired_segments(parts(9, 9, 9), 30, limits) == Expired(1, 0, 0)


def test_reasons_are_counted_one_after_the_other() -> None:
    limits = replace(KEEP, log_start_offset=10, retention_bytes=300, retention_ms=5 * HOUR_MS)
    assert expired_segments(parts(9, 9, 9, 9, 0), 50, limits) == Expired(1, 1, 2)


def test_a_segment_whose_age_is_not_needed_is_not_asked_for_it() -> None:
    class Blind(Part):
        def newest_ms(self) -> int:
            raise AssertionError("its index would be read from the disk")

    log = [Part(0), Blind(10)]
    assert expired_segments(log, 20, replace(KEEP, retention_ms=HOUR_MS)).total == 0


@given(
    sizes=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    high_watermark=st.integers(0, 90),
    start=st.integers(0, 90),
    retention_bytes=st.integers(-1, 300),
    retention_ms=st.integers(-1, 5),
)
def test_what_goes_is_committed_and_leaves_enough(
    sizes: list[int], high_watermark: int, start: int, retention_bytes: int, retention_ms: int
) -> None:
    log = [Part(number * 10, size, age_hours=1) for number, size in enumerate(sizes)]
    end = len(log) * 10
    limits = RetentionLimits(
        high_watermark=min(high_watermark, end),
        log_start_offset=start,
        retention_ms=retention_ms * HOUR_MS if retention_ms >= 0 else -1,
        retention_bytes=retention_bytes,
        now_ms=NOW_MS,
        deletes=True,
    )
    expired = expired_segments(log, end, limits)
    left = log[expired.total :]
    first_left = left[0].base_offset if left else end
    assert first_left <= max(limits.high_watermark, 0)
    if expired.by_size and not expired.by_age:
        assert sum(part.size_bytes for part in left) >= retention_bytes
