"""The newest batches stay readable in memory, within two byte bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.tail import BATCH_OVERHEAD_BYTES, NOTHING, Tail, TailCache


def filled(cache: TailCache, *, batches: int, size: int = 100, start: int = 0) -> Tail:
    tail = cache.new_tail(start)
    for number in range(batches):
        first = start + number * 10
        tail.append(first, first + 10, bytes([number % 256]) * size, 1_000 + number)
    return tail


def test_a_read_starts_at_the_batch_that_holds_the_offset() -> None:
    tail = filled(TailCache(), batches=3)
    read = tail.read(15, 10_000, up_to=30, min_one=False)
    assert read is not None
    assert [bytes(b)[0] for b in read.buffers] == [1, 2]
    assert read.size_bytes == 200


def test_a_read_ends_at_whole_batches_below_the_bound() -> None:
    tail = filled(TailCache(), batches=3)
    read = tail.read(0, 10_000, up_to=25, min_one=False)
    assert read is not None
    assert len(read.buffers) == 2


def test_a_read_at_the_end_is_empty_and_needs_no_disk() -> None:
    assert filled(TailCache(), batches=3).read(30, 100, up_to=30, min_one=True) is NOTHING
    assert TailCache().new_tail(7).read(7, 100, up_to=7, min_one=True) is NOTHING
    assert NOTHING == ((), 0, -1)


def test_an_older_offset_is_for_the_disk() -> None:
    assert filled(TailCache(), batches=2, start=50).read(49, 100, up_to=70, min_one=True) is None
    assert TailCache().new_tail(7).read(3, 100, up_to=7, min_one=True) is None


def test_the_first_batch_may_exceed_the_limit_only_when_asked() -> None:
    tail = filled(TailCache(), batches=2)
    assert tail.read(0, 50, up_to=20, min_one=False) == NOTHING
    read = tail.read(0, 50, up_to=20, min_one=True)
    assert read is not None
    assert read.size_bytes == 100


def test_each_tail_keeps_within_its_bound_and_the_newest_stay() -> None:
    cache = TailCache(tail_bytes_max=3 * (100 + BATCH_OVERHEAD_BYTES))
    tail = filled(cache, batches=1000)
    assert tail.size_bytes == cache.size_bytes == 3 * (100 + BATCH_OVERHEAD_BYTES)
    assert tail.read(9_969, 10_000, up_to=10_000, min_one=False) is None
    read = tail.read(9_970, 10_000, up_to=10_000, min_one=False)
    assert read is not None
    assert len(read.buffers) == 3


def test_the_least_recently_written_tail_pays_for_the_total() -> None:
    cache = TailCache(total_bytes_max=4 * (100 + BATCH_OVERHEAD_BYTES))
    old = filled(cache, batches=3)
    new = filled(cache, batches=3)
    assert old.size_bytes == 100 + BATCH_OVERHEAD_BYTES
    assert new.size_bytes == 3 * (100 + BATCH_OVERHEAD_BYTES)
    assert cache.size_bytes == old.size_bytes + new.size_bytes


def test_skipped_offsets_start_the_tail_anew() -> None:
    tail = filled(TailCache(), batches=2)
    tail.append(100, 110, b"x", 5)
    assert tail.read(10, 100, up_to=110, min_one=True) is None
    assert tail.read(100, 100, up_to=110, min_one=True) is not None


def test_idle_tails_are_dropped_and_their_bytes_given_back() -> None:
    cache = TailCache()
    filled(cache, batches=2)
    busy = cache.new_tail(0)
    busy.append(0, 1, b"x", 9_000)
    cache.drop_older_than(5_000)
    assert cache.size_bytes == busy.size_bytes > 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 300)), max_size=200),
    st.integers(1_000, 20_000),
)
def test_the_account_is_always_the_sum_of_the_tails(
    writes: list[tuple[int, int]], total_bytes_max: int
) -> None:
    cache = TailCache(total_bytes_max=total_bytes_max, tail_bytes_max=total_bytes_max // 2)
    tails = [cache.new_tail(0) for _ in range(3)]
    for which, size in writes:
        tail = tails[which]
        tail.append(tail.end_offset, tail.end_offset + 1, bytes(size), 0)
        assert cache.size_bytes == sum(t.size_bytes for t in tails) <= total_bytes_max
    for tail in tails:
        tail.clear()
    assert cache.size_bytes == 0


@pytest.mark.parametrize(("size_bytes", "is_copied"), [(499, True), (500, False), (1_000, False)])
def test_a_small_batch_does_not_keep_the_large_request_that_it_came_in(
    size_bytes: int, *, is_copied: bool
) -> None:
    tail = TailCache().new_tail(0)
    request = bytearray(range(250)) * 4
    tail.append(0, 10, memoryview(request)[:size_bytes], 1_000)
    read = tail.read(0, 10_000, up_to=10, min_one=True)
    assert read is not None
    (kept,) = read.buffers
    assert bytes(kept) == request[:size_bytes]
    assert isinstance(kept, bytes) is is_copied
    if is_copied:
        request.clear()  # A view of it would not let it.


def test_the_oldest_tail_goes_whole_before_the_next_one_pays() -> None:
    batch_bytes = 100 + BATCH_OVERHEAD_BYTES
    cache = TailCache(total_bytes_max=4 * batch_bytes)
    oldest, older = filled(cache, batches=1), filled(cache, batches=2)
    newest = filled(cache, batches=3)
    assert (oldest.size_bytes, older.size_bytes) == (0, batch_bytes)
    assert newest.size_bytes == 3 * batch_bytes
    newest.append(30, 40, bytes(100), 9_000)
    assert (older.size_bytes, newest.size_bytes) == (0, 4 * batch_bytes)
    older.append(older.end_offset, 30, bytes(100), 9_001)
    assert (older.size_bytes, newest.size_bytes) == (batch_bytes, 3 * batch_bytes)


def test_a_tail_that_lost_batches_and_was_cleared_keeps_what_comes_then() -> None:
    cache = TailCache(tail_bytes_max=2 * (100 + BATCH_OVERHEAD_BYTES))
    tail = filled(cache, batches=9)
    tail.clear(7)
    assert (tail.end_offset, tail.size_bytes, cache.size_bytes) == (7, 0, 0)
    tail.append(7, 8, b"new", 9_000)
    read = tail.read(7, 100, up_to=8, min_one=False)
    assert read is not None
    assert read.buffers == (b"new",)


def test_what_is_forgotten_of_a_busy_tail_leaves_nothing_behind() -> None:
    tail = filled(TailCache(tail_bytes_max=3 * (100 + BATCH_OVERHEAD_BYTES)), batches=1_000)
    assert len(tail._starts) == len(tail._buffers) <= 260  # pyright: ignore[reportPrivateUsage] -- memory
    assert tail.read(9_970, 10_000, up_to=10_000, min_one=False) is not None


def test_a_read_stops_before_the_batch_that_would_exceed_the_limit_or_the_bound() -> None:
    tail = filled(TailCache(), batches=3)
    for max_bytes, up_to, count, end_offset in (
        (200, 30, 2, 20),
        (199, 30, 1, 10),
        (300, 30, 3, 30),
        (300, 20, 2, 20),
        (300, 19, 1, 10),
    ):
        read = tail.read(0, max_bytes, up_to=up_to, min_one=True)
        assert read is not None
        assert (len(read.buffers), read.size_bytes, read.end_offset) == (
            count,
            100 * count,
            end_offset,
        )
    assert tail.read(25, 300, up_to=29, min_one=True) == NOTHING


def test_tails_that_were_written_since_are_not_idle() -> None:
    cache = TailCache()
    tail = filled(cache, batches=1)
    cache.drop_older_than(1_000)
    assert tail.size_bytes > 0
    cache.drop_older_than(1_001)
    assert (tail.size_bytes, cache.size_bytes) == (0, 0)


def test_a_broker_keeps_32_mib_and_8_mib_of_one_partition() -> None:
    cache = TailCache()
    mib = 1 << 20
    assert cache.total_bytes_max == 32 * mib
    tail = cache.new_tail(0)
    for offset in range(10):
        tail.append(offset, offset + 1, bytes(mib - BATCH_OVERHEAD_BYTES), 0)
    assert tail.size_bytes == 8 * mib
