"""Files that somebody puts on a disk, real or simulated, past its broker, and takes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.storage.disk import FileDisk
from broker.storage.memory_disk import MemoryDisk
from simulation.sampling.log_dir_files import holds_records, put_file, take_file, texts_below


def test_a_file_is_put_there_with_the_directories_above_it_and_survives_a_power_cut():
    memory = MemoryDisk()
    put_file(memory, "orders-0/partition.metadata", "version: 0\n")
    memory.power_cut()
    assert texts_below(memory) == {
        "orders-0": "",
        "orders-0/partition.metadata": "version: 0\n",
    }


def test_a_file_takes_the_place_of_another():
    memory = MemoryDisk()
    memory.write_atomic("meta.properties", b"version=0\n")
    put_file(memory, "meta.properties", "version=7\n")
    memory.power_cut()
    assert texts_below(memory) == {"meta.properties": "version=7\n"}


def test_what_is_taken_away_is_gone_for_good():
    memory = MemoryDisk()
    put_file(memory, "a/b", "x")
    put_file(memory, "c", "y")
    take_file(memory, "a")
    memory.power_cut()
    assert texts_below(memory) == {"c": "y"}
    put_file(memory, "a/b", "x")
    take_file(memory, ".")
    memory.power_cut()
    assert texts_below(memory) == {}


def test_what_is_not_there_cannot_be_taken_away():
    with pytest.raises(FileNotFoundError):
        take_file(MemoryDisk(), "nothing")


def test_a_file_is_no_directory():
    memory = MemoryDisk()
    put_file(memory, "a", "x")
    with pytest.raises(NotADirectoryError):
        put_file(memory, "a/b", "y")


def test_records_lie_in_log_files_alone():
    memory = MemoryDisk()
    put_file(memory, "orders-0/00000000000000000000.log", "x")
    put_file(memory, "orders-0/00000000000000000000.index", "x")
    put_file(memory, "meta.properties", "x")
    holding = [
        name
        for name in (".", "orders-0", "orders-0/00000000000000000000.log")
        if holds_records(memory, name)
    ]
    assert holding == [".", "orders-0", "orders-0/00000000000000000000.log"]
    assert not holds_records(memory, "orders-0/00000000000000000000.index")
    assert not holds_records(memory, "orders")
    assert not holds_records(memory, "meta.properties")


def test_files_of_a_real_disk_are_put_there_read_and_taken_away(tmp_path: Path) -> None:
    log_dir = FileDisk(str(tmp_path / "d1"))
    log_dir.prepare()
    put_file(log_dir, "orders-0/partition.metadata", "version: 0\n")
    put_file(log_dir, "meta.properties", "broker.id=1\n")
    log_dir.write_file("orders-0/0.log", b"\xff")
    assert texts_below(log_dir) == {
        "meta.properties": "broker.id=1\n",
        "orders-0": "",
        "orders-0/0.log": "",
        "orders-0/partition.metadata": "version: 0\n",
    }
    take_file(log_dir, "orders-0")
    take_file(log_dir, "meta.properties")
    assert texts_below(log_dir) == {}


def test_a_log_dir_that_is_missing_holds_nothing(tmp_path: Path) -> None:
    assert texts_below(FileDisk(str(tmp_path / "none"))) == {}


def test_all_of_a_real_disk_is_taken_away(tmp_path: Path) -> None:
    log_dir = FileDisk(str(tmp_path))
    put_file(log_dir, "a/b", "x")
    put_file(log_dir, "c", "y")
    take_file(log_dir, ".")
    assert list(tmp_path.iterdir()) == []
