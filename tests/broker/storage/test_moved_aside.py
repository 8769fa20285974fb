"""A log dir is emptied into a folder of its own, and whatever ends that on the way."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from broker.storage.files import LogDirFiles
from broker.storage.layout import current_dir_name
from broker.storage.memory_disk import MemoryDisk
from broker.storage.moved_aside import move_aside_within
from broker.storage.recovery import LoadedLogDir, load_log_dir
from broker.storage.shutdown import write_checkpoints
from protocol.ids import TopicPartition
from tests.broker.storage.builders import UNIQUE, Config, batches, log_on, offsets_read

LOGS = (TopicPartition("orders", 0), TopicPartition("payments", 1), TopicPartition("users", 2))
FOLDER = f"__replaced-0.{UNIQUE}-stray"
RECORDS = 10


def log_dir_of_a_running_broker() -> MemoryDisk:
    disk = MemoryDisk()
    logs = {tp: log_on(disk, current_dir_name(tp)) for tp in LOGS}
    for log in logs.values():
        log.append(batches(0, RECORDS), now_ms=0)
    write_checkpoints(disk, logs, dict.fromkeys(logs, RECORDS))
    disk.write_file("meta.properties", b"its identity")
    disk.sync_all()
    return disk


def loaded(disk: MemoryDisk) -> LoadedLogDir:
    return load_log_dir(
        LogDirFiles(disk), configs=lambda _: Config(), now_ms=0, progress=lambda _: None
    )


def before_each_change(disk: MemoryDisk) -> list[tuple[str, MemoryDisk]]:
    """Empty it; give the disk as it was before each operation, and how it was in the end."""
    seen: list[tuple[str, MemoryDisk]] = []
    disk.before_change = lambda operation, name: seen.append((f"{operation} {name}", disk.copy()))
    move_aside_within(disk, UNIQUE)
    return [*seen, ("the end", disk)]


def kept_records(disk: MemoryDisk) -> dict[str, bytes]:
    """What the logs hold, wherever they lie, by log and segment."""
    return {
        "/".join(name.split("/")[-2:]): disk.read_file(name)
        for name in disk.names_below()
        if name.endswith(".log")
    }


def test_all_of_it_lies_in_the_folder_and_the_log_dir_is_empty() -> None:
    disk = log_dir_of_a_running_broker()
    before = sorted(disk.list_dir(""))
    move_aside_within(disk, UNIQUE)
    assert disk.list_dir("") == [FOLDER]
    assert disk.list_dir(FOLDER) == before
    found = loaded(disk)
    assert (found.logs, found.missing, found.strays) == ([], [], [FOLDER])


CUTS: dict[str, Callable[[MemoryDisk], None]] = {
    "kill": MemoryDisk.kill,
    "power cut": MemoryDisk.power_cut,
    **{f"torn {seed}": lambda disk, seed=seed: disk.power_cut(Random(seed)) for seed in range(8)},
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_start_after_a_crash_on_the_way_knows_every_log_that_it_does_not_have(cut: str) -> None:
    counts: list[int] = []
    for where, disk in before_each_change(log_dir_of_a_running_broker()):
        CUTS[cut](disk)
        has_checkpoints = any(name.endswith("-checkpoint") for name in disk.list_dir(""))
        found = loaded(disk)
        had = [log.topic_partition for log in found.logs]
        assert sorted([*had, *found.missing]) == list(LOGS) * has_checkpoints, where
        for log in found.logs:
            assert offsets_read(log.log, 0) == list(range(RECORDS)), where
        counts.append(len(had))
    assert (counts[0], counts[-1]) == (3, 0)
    assert counts == sorted(counts, reverse=True) or cut.startswith("torn")


@pytest.mark.parametrize("cut", ["kill", "power cut"])
def test_it_is_emptied_once_more_after_a_crash_and_no_record_is_gone(cut: str) -> None:
    records = kept_records(log_dir_of_a_running_broker())
    for where, disk in before_each_change(log_dir_of_a_running_broker()):
        CUTS[cut](disk)
        move_aside_within(disk, UNIQUE[::-1])
        assert kept_records(disk) == records, where
        assert loaded(disk).logs == []
        assert all(name.endswith("-stray") for name in disk.list_dir("") if disk.is_dir(name))
