"""Which log of a log dir is cleaned next, and the checkpoint of the cleaner."""

from __future__ import annotations

import dataclasses

import pytest

from broker.storage.cleanable import (
    Candidate,
    facts_of,
    read_cleaner_offsets,
    survey,
    write_cleaner_offsets,
)
from broker.storage.files import LogDirFiles
from broker.storage.log_recovery import KnownOffsets, open_log
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.segment_files import PartitionFiles
from protocol.ids import TopicPartition
from tests.broker.fake_configs import compaction_rules
from tests.broker.storage.builders import Config, batches

RULES = compaction_rules()
END = 30


def log_of(name: str, disk: MemoryDisk | None = None) -> PartitionLog:
    files = LogDirFiles(disk or MemoryDisk())
    log = PartitionLog.create(files, name, Config(segment_bytes=500), now_ms=0)
    log.append(batches(0, END), now_ms=0)
    return log


def candidate(name: str, checkpoint: int | None = None, **changes: int) -> Candidate:
    return Candidate(
        TopicPartition(name, 0),
        log_of(f"{name}-0"),
        checkpoint,
        END,
        dataclasses.replace(RULES, **changes),
    )


def test_the_log_with_the_largest_dirty_share_is_first() -> None:
    found = survey([candidate("a", 9), candidate("b"), candidate("c", 3)], 0)
    assert found.filthiest is not None
    assert found.filthiest.candidate.tp.topic == "b"
    assert found.dirtiest_ratio == 1
    assert found.resets == []


def test_nothing_is_due_when_little_is_dirty() -> None:
    found = survey([candidate("a", 24)], 0)
    assert found.filthiest is None
    assert 0 < found.dirtiest_ratio < 0.5
    assert survey([], 0).filthiest is None


def test_a_checkpoint_outside_its_log_is_told() -> None:
    found = survey([candidate("a", END + 1)], 0)
    assert found.resets == [(TopicPartition("a", 0), 0)]
    assert found.filthiest is not None


def test_timestamps_are_read_of_dirty_segments_and_only_for_a_rule() -> None:
    plain = facts_of(candidate("a", 12))
    assert {(one.first_timestamp, one.largest_timestamp) for one in plain.segments} == {(-1, -1)}
    aged = facts_of(candidate("a", 12, max_compaction_lag_ms=5, min_compaction_lag_ms=5))
    dirty = [one for one in aged.segments if one.largest_timestamp >= 0]
    assert dirty == [one for one in aged.segments[:-1] if one.base_offset >= 12]
    assert [one.first_timestamp for one in dirty] == [one.base_offset * 1000 for one in dirty]
    only_old = facts_of(candidate("a", 12, max_compaction_lag_ms=5))
    assert {one.largest_timestamp for one in only_old.segments} == {-1}
    only_young = facts_of(candidate("a", 12, min_compaction_lag_ms=5))
    assert {one.first_timestamp for one in only_young.segments} == {-1}


def test_a_damaged_log_is_told_and_the_others_go_on() -> None:
    disk = MemoryDisk()
    log_of("bad-0", disk).close()
    directory = PartitionFiles(LogDirFiles(disk), "bad-0")
    known = KnownOffsets(recovery_point=END, was_clean=True)
    log = open_log(directory, Config(), known, now_ms=0).log
    name = log.segments[0].files.name(".log")
    disk.write_file(name, bytes(disk.size(name)))
    rules = dataclasses.replace(RULES, max_compaction_lag_ms=5)
    bad = Candidate(TopicPartition("bad", 0), log, None, END, rules)
    found = survey([bad, candidate("a")], 0)
    assert [tp.topic for tp, _ in found.unreadable] == ["bad"]
    assert found.filthiest is not None
    assert found.filthiest.candidate.tp.topic == "a"


def test_the_checkpoint_is_written_and_read_again() -> None:
    disk = MemoryDisk()
    offsets = {TopicPartition("a", 0): 5, TopicPartition("b-c", 12): 7}
    write_cleaner_offsets(disk, offsets)
    assert disk.read_file("cleaner-offset-checkpoint") == b"0\n2\na 0 5\nb-c 12 7\n"
    assert read_cleaner_offsets(disk) == offsets


@pytest.mark.parametrize("content", [b"", b"7\n0\n", b"0\n2\na 0 5\n"])
def test_a_damaged_or_empty_checkpoint_holds_nothing(content: bytes) -> None:
    disk = MemoryDisk()
    disk.write_file("cleaner-offset-checkpoint", content)
    assert read_cleaner_offsets(disk) == {}


def test_a_missing_checkpoint_holds_nothing() -> None:
    assert read_cleaner_offsets(MemoryDisk()) == {}
