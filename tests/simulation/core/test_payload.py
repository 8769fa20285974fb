from __future__ import annotations

import pytest

from simulation.core.history import UNREADABLE
from simulation.core.payload import (
    SIZE_BYTES_MIN,
    is_tombstone,
    key_of,
    number_of,
    payload,
    record_number,
    tombstone_headers,
)


@pytest.mark.parametrize("size_bytes", [0, SIZE_BYTES_MIN, SIZE_BYTES_MIN + 1, 100, 10_000])
def test_a_value_has_its_size_and_tells_its_number(size_bytes: int) -> None:
    value = payload(3_000_000_017, size_bytes)

    assert len(value) == max(size_bytes, SIZE_BYTES_MIN)
    assert number_of(value) == 3_000_000_017


def test_any_changed_byte_makes_it_unreadable() -> None:
    value = payload(17, 60)

    for position in range(len(value)):
        changed = bytearray(value)
        changed[position] ^= 0x10
        assert number_of(changed) == UNREADABLE, position


def test_every_eighth_record_of_a_key_deletes_it_and_is_named_by_its_headers() -> None:
    deletions = [record for record in range(48) if is_tombstone(record, 3)]

    assert deletions == [21, 22, 23, 45, 46, 47]
    assert not any(is_tombstone(record, 0) for record in range(48))
    assert number_of(None, tombstone_headers(21)) == 21


def test_a_cut_value_and_none_are_unreadable() -> None:
    value = payload(17, 60)

    assert number_of(value[:-1]) == UNREADABLE
    assert number_of(value[:4]) == UNREADABLE
    assert number_of(None) == UNREADABLE


def test_numbers_of_workloads_do_not_meet() -> None:
    assert record_number(0, 999_999_999) < record_number(1, 0)
    assert record_number(3, 17) == 3_000_000_017


def test_keys_come_in_turn_and_only_where_there_are_any() -> None:
    assert [key_of(number, 2) for number in range(3)] == [b"key-0-0", b"key-1", b"key-0-0"]
    assert [key_of(number, 2) for number in (14, 15, 16, 17)] == [
        b"key-0-0",
        b"key-1",
        b"key-0-1",
        b"key-1",
    ]
    assert key_of(5, 0) is None
