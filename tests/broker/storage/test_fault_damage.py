"""Damage to bytes: drawn, and never none."""

from __future__ import annotations

import random

import pytest

from broker.storage.fault_damage import flip_bit, part_of, write_elsewhere
from broker.storage.memory_disk import MemoryDisk


@pytest.mark.parametrize("seed", range(20))
def test_one_bit_is_flipped_wherever_it_is(seed: int) -> None:
    flipped = flip_bit(bytes(9), random.Random(seed))
    assert int.from_bytes(flipped).bit_count() == 1
    assert len(flipped) == 9


@pytest.mark.parametrize("seed", range(20))
def test_a_part_is_a_start_and_never_all(seed: int) -> None:
    part = part_of(b"0123456789", random.Random(seed))
    assert len(part) < 10
    assert b"0123456789".startswith(part)


def test_nothing_has_no_bits_and_no_parts() -> None:
    assert flip_bit(b"", random.Random(1)) == part_of(b"", random.Random(1)) == b""


@pytest.mark.parametrize("seed", range(20))
def test_only_a_file_of_the_same_class_suffers_and_keeps_its_size(seed: int) -> None:
    disk = MemoryDisk()
    disk.make_dir("t-0")
    for name in ("t-0/1.log", "t-0/2.log", "t-0/3.log", "t-0/1.index"):
        disk.write_file(name, bytes(8))
    disk.write_file("t-0/4.log", b"")
    write_elsewhere(disk, "t-0/1.log", b"xyz", random.Random(seed))
    contents = [disk.read_file(f"t-0/{number}.log") for number in (2, 3)]
    assert sorted(b"xyz" in content for content in contents) == [False, True]
    assert all(len(content) == 8 for content in contents)
    assert disk.read_file("t-0/1.log") == disk.read_file("t-0/1.index") == bytes(8)
    assert disk.read_file("t-0/4.log") == b""


def test_bytes_without_a_victim_are_nowhere_and_long_ones_are_cut() -> None:
    disk = MemoryDisk()
    disk.write_file("a", b"1234")
    write_elsewhere(disk, "a", b"xyz", random.Random(1))
    assert disk.read_file("a") == b"1234"
    write_elsewhere(disk, "b", b"xyzxyzxyz", random.Random(1))
    assert disk.read_file("a") == b"xyzx"
