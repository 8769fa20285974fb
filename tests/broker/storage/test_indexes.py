"""Index entries as Kafka lays them out, and the searches in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.storage.indexes import (
    NO_TIME_ENTRY,
    AbortedTransaction,
    CorruptIndex,
    OffsetIndex,
    OffsetPosition,
    TimeIndex,
    TimestampOffset,
    pack_aborted,
    unpack_aborted,
)

ASCENDING = st.lists(st.integers(0, 1000), min_size=1, unique=True).map(sorted)


def offset_index(offsets: list[int]) -> OffsetIndex:
    index = OffsetIndex(100)
    for offset in offsets:
        index.append(100 + offset, offset * 10)
    return index


def test_an_offset_entry_is_two_int32_relative_to_the_base() -> None:
    index = OffsetIndex(100)
    assert index.last is None
    index.append(107, 4096)
    assert bytes(index.entries) == bytes.fromhex("0000000700001000")
    assert index.last == OffsetPosition(107, 4096)


@given(ASCENDING, st.integers(0, 1100))
def test_the_search_begins_at_the_last_entry_not_above_the_offset(
    offsets: list[int], asked: int
) -> None:
    expected = max((offset * 10 for offset in offsets if offset <= asked), default=0)
    assert offset_index(offsets).position_before(100 + asked) == expected


@given(ASCENDING, st.integers(0, 11_000))
def test_a_boundary_is_the_last_indexed_batch_start(offsets: list[int], position: int) -> None:
    expected = max((offset * 10 for offset in offsets if offset * 10 <= position), default=0)
    assert offset_index(offsets).boundary_before(position) == expected


@given(ASCENDING, st.integers(0, 1100))
def test_truncation_keeps_the_entries_below(offsets: list[int], asked: int) -> None:
    index = offset_index(offsets)
    index.truncate_to(100 + asked)
    kept = [index.entry(number).offset - 100 for number in range(len(index))]
    assert kept == [offset for offset in offsets if offset < asked]


def test_a_preallocated_or_cut_offset_index_is_corrupt() -> None:
    good = bytes(offset_index([1, 2]).entries)
    assert OffsetIndex.parse(100, good).last == OffsetPosition(102, 20)
    assert len(OffsetIndex.parse(100, b"")) == 0
    for bad in (good + bytes(8), good[:-1], bytes(4096)):
        with pytest.raises(CorruptIndex):
            OffsetIndex.parse(100, bad)


def test_a_time_entry_is_added_only_for_a_larger_timestamp() -> None:
    index = TimeIndex(100)
    assert index.last == NO_TIME_ENTRY
    index.maybe_append(TimestampOffset(5000, 107))
    index.maybe_append(TimestampOffset(5000, 109))
    index.maybe_append(TimestampOffset(-1, 110))
    assert bytes(index.entries) == bytes.fromhex("000000000000138800000007")


@given(ASCENDING, st.integers(0, 1100))
def test_no_batch_before_the_found_offset_has_the_timestamp(times: list[int], asked: int) -> None:
    index = TimeIndex(100)
    for number, timestamp in enumerate(times):
        index.maybe_append(TimestampOffset(timestamp, 101 + number))
    earlier = [101 + number for number, timestamp in enumerate(times) if timestamp < asked]
    assert index.offset_before(asked) == max(earlier, default=100)


@given(ASCENDING, st.integers(0, 100))
def test_a_time_index_truncates_by_offset(times: list[int], asked: int) -> None:
    index = TimeIndex(0)
    for number, timestamp in enumerate(times):
        index.maybe_append(TimestampOffset(timestamp, number))
    index.truncate_to(asked)
    assert len(index) == min(asked, len(times))


def test_a_preallocated_or_cut_time_index_is_corrupt() -> None:
    index = TimeIndex(0)
    index.maybe_append(TimestampOffset(5, 1))
    good = bytes(index.entries)
    assert TimeIndex.parse(0, good).last == TimestampOffset(5, 1)
    for bad in (good + bytes(12), good[:-1]):
        with pytest.raises(CorruptIndex):
            TimeIndex.parse(0, bad)


def test_an_aborted_transaction_takes_34_bytes() -> None:
    transaction = AbortedTransaction(7, 10, 20, 15)
    packed = pack_aborted(transaction)
    assert len(packed) == 34
    assert list(unpack_aborted(packed * 2 + packed[:5])) == [transaction] * 2
    with pytest.raises(CorruptIndex):
        list(unpack_aborted(b"\1" + packed[1:]))
