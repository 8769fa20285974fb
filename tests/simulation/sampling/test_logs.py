"""Logs are read alike from a disk in memory and from a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.storage.disk import FileDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.ids import TopicPartition
from protocol.ports import Disk
from protocol.records.build import BatchOptions, NewRecord, build_batch, build_end_marker
from protocol.records.records import ControlRecordType
from simulation.core.payload import payload, record_number, tombstone_headers
from simulation.core.samples import LogSample
from simulation.sampling.logs import Holding, logs_below

TP = TopicPartition("orders", 0)
FUTURE = f"orders-0.{'0' * 32}-future"


def batch(offset: int, *numbers: int) -> bytes:
    records = [NewRecord(payload(record_number(1, number), 60)) for number in numbers]
    return bytes(build_batch(records, BatchOptions(base_offset=offset)))


@pytest.fixture(params=["memory", "file"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    made: Disk = MemoryDisk("/d1") if request.param == "memory" else FileDisk(str(tmp_path / "d1"))
    made.prepare()
    for name in (str(TP), FUTURE, "nobody-knows"):
        made.make_dir(name)
    made.write_file(f"{TP}/{0:020}.log", batch(0, 0, 1) + batch(2, 2))
    made.write_file(f"{TP}/{3:020}.log", batch(3, 3))
    made.write_file(f"{TP}/{0:020}.index", b"")
    made.write_file("meta.properties", b"version=1")
    return made


def look(disk: Disk, holding: Holding | None) -> list[LogSample]:
    holdings = None if holding is None else {TP: holding}
    return sorted(logs_below(1, "/d1", disk, holdings), key=lambda log: log.is_future)


def test_a_leader_s_batches_are_read_with_their_records(disk: Disk) -> None:
    current, future = look(disk, Holding("/d1", True, 4, 0))

    assert [(each.base_offset, each.next_offset) for each in current.batches] == [
        (0, 2),
        (2, 3),
        (3, 4),
    ]
    assert [offset for each in current.batches for offset, _ in each.records] == [0, 1, 2, 3]
    assert (current.high_watermark, current.is_leader, current.is_future) == (4, True, False)
    assert (future.is_future, future.batches) == (True, ())


def test_a_follower_s_batches_are_read_alike(disk: Disk) -> None:
    leader, _ = look(disk, Holding("/d1", True, 4, 0))
    follower, _ = look(disk, Holding("/d1", False, 4, 0))

    assert [each.digest for each in follower.batches] == [each.digest for each in leader.batches]
    assert [each.records for each in follower.batches] == [each.records for each in leader.batches]


def test_a_record_without_value_is_named_by_its_headers(disk: Disk) -> None:
    record = NewRecord(None, b"key", headers=tombstone_headers(record_number(1, 7)))
    name = f"{TP}/{4:020}.log"
    disk.write_file(name, bytes(build_batch([record], BatchOptions(base_offset=4))))

    current, _ = look(disk, Holding("/d1", True, 4, 0))

    assert current.batches[-1].records == ((4, record_number(1, 7)),)


def test_a_log_that_its_broker_uses_elsewhere_is_told_without_batches(disk: Disk) -> None:
    current, _ = look(disk, Holding("/d2", True, 4, 0))

    assert (current.is_readable, current.batches) == (True, ())


def test_of_a_log_dir_that_is_not_online_only_names_are_told(disk: Disk) -> None:
    assert [(each.is_readable, each.batches) for each in look(disk, None)] == [(False, ())] * 2


def test_what_lies_below_the_start_of_the_log_is_left_out(disk: Disk) -> None:
    current, _ = look(disk, Holding("/d1", True, 4, 2))

    assert [each.base_offset for each in current.batches] == [2, 3]


def test_batches_of_transactions_and_their_markers_are_told_apart(disk: Disk) -> None:
    open_ = BatchOptions(base_offset=0, producer_id=7, producer_epoch=0, is_transactional=True)
    markers = [
        build_end_marker(kind, producer_id=7, producer_epoch=0, coordinator_epoch=3, timestamp_ms=1)
        for kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT)
    ]
    record = bytes(build_batch([NewRecord(payload(1, 60))], open_))
    disk.write_file(f"{TP}/{0:020}.log", record + b"".join(map(bytes, markers)))

    current, _ = look(disk, Holding("/d1", True, 4, 0))

    assert [(one.is_transactional, one.marker) for one in current.batches] == [
        (True, ""),
        (True, "commit"),
        (True, "abort"),
        (False, ""),
    ]
