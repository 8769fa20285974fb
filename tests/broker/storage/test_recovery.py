"""Loading whole log dirs: our own, and those that Apache Kafka 3.9.2 wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.storage.checkpoints import parse_offsets, render_offsets
from broker.storage.disk import FileDisk
from broker.storage.files import LogDirFiles
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from broker.storage.recovery import LoadedLogDir, LoadProgress, StartupRefused, load_log_dir
from broker.storage.shutdown import close_log_dir
from protocol.ids import TopicPartition
from protocol.ports import Disk
from protocol.records.batch import iterate_batches
from protocol.records.records import iterate_records
from tests.archives import unpack
from tests.broker.storage.builders import (
    ORDERS,
    UNIQUE,
    Config,
    batch,
    batches,
    filled_log,
    log_on,
    offsets_read,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "log_dirs"
KAFKA_CONFIG = Config(segment_bytes=16384, index_interval_bytes=512)


def load(disk: Disk, config: Config | None = None) -> LoadedLogDir:
    used = config or Config()
    return load_log_dir(
        LogDirFiles(disk), configs=lambda _: used, now_ms=0, progress=lambda _: None
    )


def closed_cleanly(disk: MemoryDisk, end: int = 10) -> None:
    log = filled_log(disk, end)
    log.write_partition_metadata(bytes(range(16)))
    log.write_leader_epochs([(0, 0)])
    close_log_dir(LogDirFiles(disk), {ORDERS: log}, {ORDERS: end - 2}, broker_epoch=7)


def test_a_log_comes_back_with_all_that_its_files_say() -> None:
    disk = MemoryDisk()
    closed_cleanly(disk)
    loaded = load(disk)
    assert loaded.was_clean
    log = loaded.logs[0]
    assert log.topic_partition == ORDERS
    assert not log.is_future
    assert log.topic_id == bytes(range(16))
    assert log.leader_epochs == [(0, 0)]
    assert log.high_watermark == 8
    assert log.swap_note is None
    assert log.log.recovery_point == 10
    assert offsets_read(log.log, 0) == list(range(10))


@pytest.mark.kafka_bug("KAFKA-10471")
@pytest.mark.scenario(33)
def test_the_clean_marker_goes_before_anything_is_loaded() -> None:
    disk = MemoryDisk()
    closed_cleanly(disk)
    disk.write_file("replication-offset-checkpoint", b"garbage")
    with pytest.raises(OSError, match="malformed"):
        load(disk)
    assert not disk.exists(".kafka_cleanshutdown")
    disk.remove("replication-offset-checkpoint")
    assert not load(disk).was_clean


def test_a_clean_marker_that_was_removed_before_a_kill_does_not_outlive_a_power_cut() -> None:
    disk = MemoryDisk()
    closed_cleanly(disk)
    disk.sync_dir("")
    disk.remove(".kafka_cleanshutdown")  # and the disk hung
    load(disk)
    disk.power_cut()
    assert not load(disk).was_clean


@pytest.mark.scenario(41)
def test_damaged_recovery_and_start_checkpoints_cost_time_only() -> None:
    disk = MemoryDisk()
    closed_cleanly(disk)
    disk.remove(".kafka_cleanshutdown")
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        disk.write_file(name, b"\xff\xffgarbage\n\n")
    loaded = load(disk)
    assert offsets_read(loaded.logs[0].log, 0) == list(range(10))


GONE, CHECKPOINTS = TopicPartition("gone", 0), ("recovery-point", "log-start", "replication")


def test_checkpoints_forget_logs_that_were_set_aside() -> None:
    """A log of that name that is made afterwards would be cut or hidden by what they say."""
    disk = MemoryDisk()
    closed_cleanly(disk)
    disk.make_dir(f"gone-0.{UNIQUE}-delete")
    for name in CHECKPOINTS:
        disk.write_file(f"{name}-offset-checkpoint", render_offsets({ORDERS: 6, GONE: 5}))
    assert load(disk).missing == []
    for name in CHECKPOINTS:
        assert list(parse_offsets(disk.read_file(f"{name}-offset-checkpoint"))) == [ORDERS]


@pytest.mark.parametrize("named_by", CHECKPOINTS)
def test_a_log_that_somebody_took_away_is_missing_and_stays_known_without_its_offsets(
    named_by: str,
) -> None:
    disk = MemoryDisk()
    closed_cleanly(disk)
    disk.write_file(f"{named_by}-offset-checkpoint", render_offsets({ORDERS: 6, GONE: 5}))
    for _ in range(2):
        assert load(disk).missing == [GONE]
    told = [parse_offsets(disk.read_file(f"{name}-offset-checkpoint")) for name in CHECKPOINTS]
    assert [offsets.get(GONE) for offsets in told] == [None, None, 0]


def test_garbage_in_place_of_a_topic_id_is_told_and_an_empty_file_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = MemoryDisk()
    closed_cleanly(disk)
    for content, is_told in ((b"", False), (b"topic orders\n" * 50, True)):
        disk.write_file("orders-0/partition.metadata", content)
        assert load(disk).logs[0].topic_id is None
        assert bool(caplog.messages) is is_told
    (message,) = caplog.messages
    assert "orders-0/partition.metadata" in message
    assert "topic orders" in message
    assert len(message) < 300


@pytest.mark.scenario(42)
def test_damaged_high_watermarks_are_an_error_of_the_disk() -> None:
    disk = MemoryDisk()
    disk.write_file("replication-offset-checkpoint", b"0\n2\norders 0 1\n")
    with pytest.raises(OSError, match="malformed checkpoint"):
        load(disk)


@pytest.mark.scenario(36, 38, 39)
def test_every_kind_of_directory_is_put_where_it_belongs() -> None:
    disk = MemoryDisk()
    names = ["orders-0", f"orders-1.{UNIQUE}-future"]
    gone = [f"orders-2.{UNIQUE}-delete"]
    strays = [f"orders-3.{UNIQUE}-stray"]
    for name in [*names, *gone, *strays, "__cluster_metadata-0", "remote-log-index-cache"]:
        disk.make_dir(name)
    disk.write_file("orders-0/partition.metadata", b"")
    disk.write_file("a plain file", b"")
    loaded = load(disk)
    assert [log.log.name for log in loaded.logs] == names
    assert [log.is_future for log in loaded.logs] == [False, True]
    assert (loaded.to_delete, loaded.strays) == (gone, strays)


@pytest.mark.parametrize("left", [[], ["partition.metadata.tmp"]], ids=["nothing", "half a file"])
def test_a_log_whose_making_was_cut_is_removed(left: list[str]) -> None:
    """Its log dir failed meanwhile; the topic may be gone when that is back."""
    disk = MemoryDisk()
    disk.make_dir("orders-0")
    for name in left:
        disk.write_file(f"orders-0/{name}", b"version: 0")
    loaded = load(disk)
    assert (loaded.logs, loaded.missing) == ([], [])
    assert not disk.exists("orders-0")


def test_a_log_that_was_made_once_stays_without_its_files() -> None:
    disk = MemoryDisk()
    disk.make_dir("orders-0")
    disk.write_file("replication-offset-checkpoint", render_offsets({ORDERS: 0}))
    assert [log.topic_partition for log in load(disk).logs] == [ORDERS]


@pytest.mark.scenario(36)
def test_an_unknown_directory_stops_the_start_and_is_named() -> None:
    disk = MemoryDisk("/data/d1")
    disk.make_dir("my holiday pictures")
    with pytest.raises(StartupRefused, match="/data/d1/my holiday pictures"):
        load(disk)


@pytest.mark.scenario(37)
def test_two_future_logs_of_one_partition_stop_the_start() -> None:
    disk = MemoryDisk()
    for unique in ("a" * 32, "b" * 32):
        disk.make_dir(f"orders-0.{unique}-future")
    with pytest.raises(StartupRefused, match=r"two logs of orders-0: .*a{32}.*b{32}"):
        load(disk)


@pytest.mark.scenario(37)
def test_a_current_and_a_future_log_are_both_loaded() -> None:
    disk = MemoryDisk()
    filled_log(disk, 1)
    disk.make_dir(f"orders-0.{UNIQUE}-future")
    assert len(load(disk).logs) == 2


def test_progress_is_told_before_each_log_and_segment_and_at_the_end() -> None:
    disk = MemoryDisk()
    filled_log(disk, 30, Config(segment_bytes=2000))
    disk.make_dir("orders-1")
    disk.write_file("orders-1/partition.metadata", b"")
    told: list[LoadProgress] = []
    files = LogDirFiles(disk)
    load_log_dir(files, configs=lambda _: Config(), now_ms=0, progress=told.append)
    assert told == [
        *[(0, 2, left) for left in (0, 3, 2, 1)],
        *[(1, 2, left) for left in (0, 1)],
        (2, 2, 0),
    ]
    assert [one.logs_left for one in told] == [2, 2, 2, 2, 1, 1, 0]


def test_high_watermarks_stay_within_the_log() -> None:
    disk = MemoryDisk()
    filled_log(disk, 10)
    disk.write_file("replication-offset-checkpoint", b"0\n1\norders 0 99\n")
    disk.write_file("log-start-offset-checkpoint", b"0\n1\norders 0 4\n")
    assert load(disk).logs[0].high_watermark == 10
    disk.remove("replication-offset-checkpoint")
    assert load(disk).logs[0].high_watermark == 4


class Kafka:
    """Log dirs as Apache Kafka left them, unpacked; loaded on first use."""

    def __init__(self, kind: str, root: Path) -> None:
        unpack(GOLDEN / f"{kind}.tar.xz", root)
        contents: dict[str, Any] = json.loads((GOLDEN / "contents.json").read_text())
        self.contents: dict[str, Any] = contents[kind]
        self.kind = kind
        self.root = root

    def load(self) -> dict[str, LoadedLogDir]:
        loaded: dict[str, LoadedLogDir] = {}
        for name in ("d1", "d2", "d3"):
            disk = FileDisk(str(self.root / name))
            disk.prepare()
            loaded[name] = load(disk, KAFKA_CONFIG)
        return loaded


@pytest.fixture(params=["clean", "killed"])
def kafka(request: pytest.FixtureRequest, tmp_path: Path) -> Kafka:
    return Kafka(request.param, tmp_path)


def records_of(log: PartitionLog) -> Iterator[bytes]:
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        read = log.read(offset, 7000)
        for buffer in read.buffers:
            for position, header in iterate_batches(buffer):
                if header.is_control:
                    continue
                for record in iterate_records(buffer, position, header):
                    headers = [[key, value and value.hex()] for key, value in record.headers]
                    row = [
                        record.offset,
                        record.timestamp_ms,
                        record.key and record.key.hex(),
                        record.value and record.value.hex(),
                        headers,
                    ]
                    yield json.dumps(row).encode()
        offset = read.next_offset


def test_every_record_that_kafka_wrote_is_read(kafka: Kafka) -> None:
    seen: dict[str, tuple[int, int, int, str]] = {}
    for found in kafka.load().values():
        assert found.was_clean is (kafka.kind == "clean")
        for log in found.logs:
            rows = list(records_of(log.log))
            seen[str(log.topic_partition)] = (
                log.log.log_start_offset,
                log.high_watermark,
                len(rows),
                hashlib.sha256(b"".join(rows)).hexdigest(),
            )
    for name, expected in kafka.contents.items():
        start, high_watermark, *rows = seen[name]
        assert start == expected["log_start"]
        assert rows == [expected["records"], expected["sha256"]], name
        # A marker ended the open transaction of txn-0 after the consumer had looked.
        assert 0 <= high_watermark - expected["high_watermark"] <= (name == "txn-0")
    assert len(seen) == 14


def test_kafkas_names_ids_and_producers_are_understood(kafka: Kafka) -> None:
    loaded = kafka.load()
    assert [name.partition(".")[0] for name in loaded["d1"].to_delete] == ["moving-0"]
    assert [name.partition(".")[0] for name in loaded["d2"].to_delete] == ["deleted-0"]
    logs = {log.topic_partition: log for found in loaded.values() for log in found.logs}
    assert all(log.topic_id is not None for log in logs.values())
    assert len(logs[TopicPartition("plain", 1)].producers) == 1
    assert len(logs[TopicPartition("txn", 0)].producers) == 4
    assert logs[TopicPartition("plain", 0)].leader_epochs == [(0, 0)]


def test_rebuilt_files_are_byte_for_byte_those_of_kafka(tmp_path: Path) -> None:
    Kafka("clean", tmp_path / "kafka")
    ours = Kafka("clean", tmp_path / "ours")
    for path in sorted(ours.root.rglob("*")):
        if path.name.endswith("index") or path.name in {
            ".kafka_cleanshutdown",
            "recovery-point-offset-checkpoint",
        }:
            path.unlink()
    for found in ours.load().values():
        for log in found.logs:
            log.log.close()
    differing = [
        f"{path.parent.name}/{path.name}"
        for path in sorted((tmp_path / "kafka").rglob("*"))
        if path.name.endswith("index")
        and not path.parent.name.endswith("-delete")
        and path.read_bytes() != (ours.root / path.relative_to(tmp_path / "kafka")).read_bytes()
    ]
    # The internal topics have another index interval; epochs-0 and txn-0 were restarted inside a
    # segment, after which Kafka counts the interval anew and adds a time entry.
    assert {name.partition("/")[0] for name in differing} <= {
        "__consumer_offsets-0",
        "__transaction_state-0",
        "__transaction_state-1",
        "epochs-0",
        "txn-0",
    }
    assert [name for name in differing if name.endswith("txnindex")] == []


def test_damage_before_the_recovery_point_costs_the_dir_and_is_named() -> None:
    disk = MemoryDisk()
    log = filled_log(disk, 40)
    disk.write_atomic("recovery-point-offset-checkpoint", b"0\n1\norders 0 40\n")
    first = f"orders-0/{log.segment_base_offsets[1]:020d}.log"
    disk.write_file(first, bytes(disk.size(first)))
    with pytest.raises(OSError, match="damaged before its recovery point"):
        load(disk)


def test_a_log_that_ends_before_its_recovery_point_gets_a_lower_one() -> None:
    disk = MemoryDisk()
    filled_log(disk, 5).close()
    disk.write_atomic("recovery-point-offset-checkpoint", b"0\n1\norders 0 9\n")
    load(disk)
    assert disk.read_file("recovery-point-offset-checkpoint") == b"0\n1\norders 0 5\n"


def with_hole(disk: MemoryDisk) -> None:
    """Leave a log of which a power cut took the end of the first segment, and not the second."""
    size = len(batch(0))
    load(disk)
    log = log_on(disk, config=Config(segment_bytes=3 * size))
    log.append(batches(0, 5), now_ms=0)
    log.flush()
    disk.open("orders-0/00000000000000000000.log", create=False).truncate(2 * size)


def test_what_lies_behind_lost_batches_is_dropped_so_that_it_is_fetched_again() -> None:
    disk = MemoryDisk()
    with_hole(disk)
    log = load(disk).logs[0].log
    assert (log.log_end_offset, log.segment_base_offsets) == (2, [0])
    assert offsets_read(log, 0) == [0, 1]


def test_gaps_of_compaction_and_durable_ones_are_no_holes() -> None:
    for name, offset in (("recovery-point-offset-checkpoint", 3), ("cleaner-offset-checkpoint", 3)):
        disk = MemoryDisk()
        with_hole(disk)
        disk.write_file(name, render_offsets({ORDERS: offset}))
        assert load(disk).logs[0].log.log_end_offset == 5


@pytest.mark.parametrize("content", [None, b"garbage"])
def test_without_recovery_points_nobody_can_tell_a_hole(content: bytes | None) -> None:
    disk = MemoryDisk()
    with_hole(disk)
    disk.remove("recovery-point-offset-checkpoint")
    if content is not None:
        disk.write_file("recovery-point-offset-checkpoint", content)
    assert load(disk).logs[0].log.log_end_offset == 5
