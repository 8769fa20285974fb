"""Files that a hand puts on a simulated disk and takes away."""

from __future__ import annotations

import pytest

from broker.storage.memory_disk import MemoryDisk
from simulation.world.by_hand import holds_records, remove_by_hand, texts_below, write_by_hand


def test_a_file_is_put_there_with_the_directories_above_it_and_survives_a_power_cut():
    memory = MemoryDisk()
    write_by_hand(memory, "orders-0/partition.metadata", "version: 0\n")
    memory.power_cut()
    assert texts_below(memory) == {
        "orders-0": "",
        "orders-0/partition.metadata": "version: 0\n",
    }


def test_a_file_takes_the_place_of_another():
    memory = MemoryDisk()
    memory.write_atomic("meta.properties", b"version=0\n")
    write_by_hand(memory, "meta.properties", "version=7\n")
    memory.power_cut()
    assert texts_below(memory) == {"meta.properties": "version=7\n"}


def test_what_is_taken_away_is_gone_for_good():
    memory = MemoryDisk()
    write_by_hand(memory, "a/b", "x")
    write_by_hand(memory, "c", "y")
    remove_by_hand(memory, "a")
    memory.power_cut()
    assert texts_below(memory) == {"c": "y"}
    write_by_hand(memory, "a/b", "x")
    remove_by_hand(memory, ".")
    memory.power_cut()
    assert texts_below(memory) == {}


def test_what_is_not_there_cannot_be_taken_away():
    with pytest.raises(FileNotFoundError):
        remove_by_hand(MemoryDisk(), "nothing")


def test_a_file_is_no_directory():
    memory = MemoryDisk()
    write_by_hand(memory, "a", "x")
    with pytest.raises(NotADirectoryError):
        write_by_hand(memory, "a/b", "y")


def test_records_lie_in_log_files_alone():
    memory = MemoryDisk()
    write_by_hand(memory, "orders-0/00000000000000000000.log", "x")
    write_by_hand(memory, "orders-0/00000000000000000000.index", "x")
    write_by_hand(memory, "meta.properties", "x")
    holding = [
        name
        for name in (".", "orders-0", "orders-0/00000000000000000000.log")
        if holds_records(memory, name)
    ]
    assert holding == [".", "orders-0", "orders-0/00000000000000000000.log"]
    assert not holds_records(memory, "orders-0/00000000000000000000.index")
    assert not holds_records(memory, "orders")
    assert not holds_records(memory, "meta.properties")
