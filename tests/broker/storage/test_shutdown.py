"""What a log dir's checkpoints say, and that a clean stop leaves all of it."""

from __future__ import annotations

import contextlib

import pytest

from broker.storage.checkpoints import parse_offsets
from broker.storage.files import LogDirFiles
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.shutdown import (
    close_log_dir,
    write_high_watermarks,
    write_log_start_offsets,
    write_recovery_points,
)
from protocol.faults.model import Operation
from protocol.ids import TopicPartition
from tests.broker.storage.builders import ORDERS, Config, batches, faulty

OTHER = TopicPartition("orders", 1)


def two_logs(disk: MemoryDisk) -> dict[TopicPartition, PartitionLog]:
    files = LogDirFiles(disk)
    logs = {tp: PartitionLog.create(files, str(tp), Config(), now_ms=0) for tp in (ORDERS, OTHER)}
    for log in logs.values():
        log.append(batches(0, 10), now_ms=0)
    return logs


@pytest.mark.scenario(216)
def test_recovery_points_are_how_far_each_log_is_durable() -> None:
    disk = MemoryDisk()
    logs = two_logs(disk)
    logs[OTHER].flush()
    write_recovery_points(disk, logs)
    content = disk.read_file("recovery-point-offset-checkpoint")
    assert parse_offsets(content) == {ORDERS: 0, OTHER: 10}


@pytest.mark.scenario(216)
def test_only_logs_that_do_not_start_at_0_have_their_start_offset_written() -> None:
    disk = MemoryDisk()
    logs = two_logs(disk)
    logs[OTHER].raise_log_start_offset(4)
    write_log_start_offsets(disk, logs)
    assert parse_offsets(disk.read_file("log-start-offset-checkpoint")) == {OTHER: 4}


def test_a_start_offset_is_written_also_when_the_first_segment_begins_there() -> None:
    """A power cut may bring back the segments before it."""
    disk = MemoryDisk()
    logs = two_logs(disk)
    logs[OTHER].truncate_fully_and_start_at(4, now_ms=0)
    write_log_start_offsets(disk, logs)
    assert parse_offsets(disk.read_file("log-start-offset-checkpoint")) == {OTHER: 4}


def test_a_start_offset_that_is_to_rise_is_written_before_the_files_know_it() -> None:
    disk = MemoryDisk()
    logs = two_logs(disk)
    logs[OTHER].raise_log_start_offset(4)
    write_log_start_offsets(disk, logs, raised={ORDERS: 3, OTHER: 2})
    assert parse_offsets(disk.read_file("log-start-offset-checkpoint")) == {ORDERS: 3, OTHER: 4}


@pytest.mark.scenario(214)
def test_high_watermarks_are_written_as_given() -> None:
    disk = MemoryDisk()
    write_high_watermarks(disk, {ORDERS: 7})
    assert disk.read_file("replication-offset-checkpoint") == b"0\n1\norders 0 7\n"


@pytest.mark.scenario(31)
def test_a_clean_stop_survives_a_power_cut_and_frees_the_lock() -> None:
    disk = MemoryDisk()
    disk.lock()
    logs = two_logs(disk)
    close_log_dir(logs[ORDERS].segments[0].directory.files, logs, {ORDERS: 10}, broker_epoch=5)
    disk.power_cut()
    assert disk.read_file(".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":5}'
    content = disk.read_file("recovery-point-offset-checkpoint")
    assert parse_offsets(content) == {ORDERS: 10, OTHER: 10}
    assert disk.size("orders-1/00000000000000000000.log") == logs[OTHER].size_bytes
    assert disk.exists("orders-1/00000000000000000010.snapshot")
    disk.lock()


def operations_until(nth: int) -> tuple[MemoryDisk, int]:
    """Close a log dir with an error at the ``nth`` operation; 0 for none."""
    memory = MemoryDisk()
    disk = faulty(memory)
    files = LogDirFiles(disk)
    log = PartitionLog.create(files, "orders-0", Config(), now_ms=0)
    log.append(batches(0, 10), now_ms=0)
    rule = disk.set_fault("eio", nth=nth)
    with contextlib.suppress(OSError):
        close_log_dir(files, {ORDERS: log}, {}, broker_epoch=5)
    assert rule.hits == (nth > 0)
    return memory, rule.matches


@pytest.mark.kafka_bug("KAFKA-13773")
@pytest.mark.scenario(34, 35)
def test_an_error_on_the_way_leaves_no_clean_marker() -> None:
    _, total = operations_until(0)
    assert total > 10
    for nth in range(1, total - 1):
        memory, count = operations_until(nth)
        assert count == nth
        assert not memory.exists(".kafka_cleanshutdown")
    for nth in (
        total - 1,
        total,
    ):  # the marker is there, and true: its name and the lock
        memory, _ = operations_until(nth)
        assert memory.exists(".kafka_cleanshutdown")


def test_many_logs_are_made_durable_at_once() -> None:
    memory = MemoryDisk()
    disk = faulty(memory)
    files = LogDirFiles(disk)
    logs: dict[TopicPartition, PartitionLog] = {}
    for number in range(40):
        tp = TopicPartition("many", number)
        logs[tp] = log = PartitionLog.create(files, str(tp), Config(), now_ms=0)
        log.append(batches(0, 3), now_ms=0)
        log.write_leader_epochs([(0, 0)])
    rule = disk.set_fault("slow", delay_ms=0, operations=(Operation.SYNC,))
    close_log_dir(files, logs, {}, broker_epoch=5)
    assert rule.hits == 1 + 4 * 2  # everything, then four small files with their names
    memory.power_cut()
    content = memory.read_file("recovery-point-offset-checkpoint")
    assert parse_offsets(content) == dict.fromkeys(logs, 3)
    assert memory.exists("many-39/leader-epoch-checkpoint")
