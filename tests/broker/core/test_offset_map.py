"""The offset map: a dict in a fixed number of bytes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.offset_map import ENTRY_BYTES, OffsetMap


@given(st.lists(st.binary(max_size=3), max_size=200))
def test_it_holds_the_last_offset_of_each_key(keys: list[bytes]) -> None:
    offsets = OffsetMap(1 << 20, keys_max=len(keys))
    expected: dict[bytes, int] = {}
    for offset, key in enumerate(keys):
        assert offsets.put(key, offset)
        expected[key] = offset
    assert offsets.count == len(expected)
    assert {key: offsets.get(key) for key in expected} == expected
    assert offsets.get(b"none of them") == -1
    assert offsets.latest_offset == len(keys) - 1


def test_a_full_map_takes_no_new_key_but_newer_offsets_of_those_it_has() -> None:
    offsets = OffsetMap(10 * ENTRY_BYTES, keys_max=1000)
    taken = [number for number in range(20) if offsets.put(b"%d" % number, number)]
    assert taken == list(range(9))
    assert offsets.latest_offset == 8
    assert offsets.put(b"3", 20)
    assert offsets.get(b"3") == 20
    assert offsets.latest_offset == 20


def test_it_takes_no_more_memory_than_its_keys_can_need() -> None:
    assert OffsetMap(128 << 20, keys_max=90).size_bytes <= 102 * ENTRY_BYTES
    assert OffsetMap(1 << 20, keys_max=10**9).size_bytes <= 1 << 20


@pytest.mark.parametrize("slots", range(2, 9))
def test_who_finds_the_end_taken_goes_on_at_the_begin_and_is_found_there(slots: int) -> None:
    """All keys of a table that is full but for one slot: some belong behind its end."""
    for first in range(0, 400, 10):
        offsets = OffsetMap(slots * ENTRY_BYTES, keys_max=100, load_factor=1.0)
        taken = [b"%d" % key for key in range(first, first + 10) if offsets.put(b"%d" % key, key)]
        assert [offsets.get(key) for key in taken] == [int(key) for key in taken]
        assert offsets.get(b"nobody's") == -1


def test_the_smallest_map_takes_one_key() -> None:
    offsets = OffsetMap(0, keys_max=0)
    assert offsets.put(b"a", 5)
    assert not offsets.put(b"b", 6)
    assert offsets.get(b"b") == -1


def test_what_was_looked_at_never_goes_back() -> None:
    offsets = OffsetMap(1000, keys_max=5)
    offsets.advance(7)
    offsets.advance(3)
    assert offsets.latest_offset == 7


@pytest.mark.parametrize("factor", [0.0, -1.0, 5e-324, 1.0, 2.0, math.inf, -math.inf, math.nan])
def test_every_load_factor_makes_a_table_that_can_be_searched(factor: float) -> None:
    offsets = OffsetMap(100 * ENTRY_BYTES, keys_max=50, load_factor=factor)
    taken = sum(offsets.put(b"%d" % number, number) for number in range(200))
    assert 1 <= taken < 100
    assert offsets.get(b"0") == 0
    assert offsets.get(b"nobody's") == -1


def test_a_table_has_room_for_its_keys_at_nine_tenths_and_two_slots_more() -> None:
    offsets = OffsetMap(128 << 20, keys_max=90)
    assert offsets.size_bytes == 102 * 24
    assert all(offsets.put(b"%d" % number, number) for number in range(91))
    assert not offsets.put(b"91", 91)
    assert OffsetMap(0, keys_max=0).size_bytes == 2 * 24
    assert OffsetMap(0, keys_max=-5).size_bytes == 2 * 24
    assert OffsetMap(1 << 20, keys_max=1, load_factor=0.0).size_bytes == 102 * 24
    assert OffsetMap(24 * 7 + 23, keys_max=1000).size_bytes == 7 * 24


def test_a_map_without_records_has_looked_at_nothing() -> None:
    offsets = OffsetMap(1000, keys_max=5)
    assert (offsets.count, offsets.latest_offset, offsets.get(b"a")) == (0, -1, -1)
