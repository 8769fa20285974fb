"""What another thread reads of a log: the same as the log itself gives, or nothing."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.storage.log_extents import Piece, find_pieces, read_piece
from broker.storage.memory_disk import MemoryDisk
from broker.storage.partition_log import PartitionLog
from protocol.faults.model import DiskMode
from protocol.records.batch import iterate_batches
from tests.broker.storage.builders import Config, batch, batches, faulty, filled_log, log_on

DISK = MemoryDisk()
LOG = filled_log(DISK, 100, Config(segment_bytes=1500))
SIZE = len(batch(0))
SPARSE = Config(index_interval_bytes=1 << 20)


def found(log: PartitionLog, offset: int, piece_bytes: int = 700) -> list[Piece]:
    return find_pieces(log, offset, log.log_end_offset, piece_bytes, 10_000)


@given(st.integers(0, 99), st.integers(0, 100), st.integers(SIZE * 4, 3000))
def test_pieces_hold_what_a_read_gives(offset: int, up_to: int, piece_bytes: int) -> None:
    pieces = find_pieces(LOG, offset, up_to, piece_bytes, 1 << 20)
    assert bool(pieces) == (offset < up_to)
    for piece in pieces:
        read = read_piece(DISK, piece)
        assert read is not None
        assert read.size_bytes <= piece_bytes
        expected = LOG.read(offset, read.size_bytes, up_to=up_to)
        assert (b"".join(read.buffers), read.next_offset) == (
            b"".join(map(bytes, expected.buffers)),
            expected.next_offset,
        )
        offset = read.next_offset


def test_no_more_is_looked_for_than_is_asked() -> None:
    log = filled_log(MemoryDisk(), 100, Config(segment_bytes=1 << 20))
    pieces = find_pieces(log, 0, 100, 700, 2000)
    assert 2000 <= sum(piece.size_bytes for piece in pieces) < 2700


def test_a_batch_larger_than_a_piece_is_left_to_a_read() -> None:
    log = log_on(MemoryDisk())
    log.append([batch(0, size=900), batch(1, size=900)], now_ms=0)
    assert found(log, 0) == []


def test_an_index_that_knows_too_little_is_no_guess() -> None:
    assert found(filled_log(MemoryDisk(), 12, SPARSE), 0) == []
    assert len(found(filled_log(MemoryDisk(), 12, SPARSE), 0, piece_bytes=5000)) == 1


def test_a_gap_behind_the_last_batch_is_passed_over() -> None:
    log = log_on(disk := MemoryDisk(), config=Config(segment_bytes=400))
    log.append([batch(0), batch(1)], now_ms=0)
    log.append([batch(50), batch(51)], now_ms=0)
    [piece] = find_pieces(log, 0, 52, 700, 700)
    read = read_piece(disk, piece)
    assert read is not None
    assert [one.base_offset for _, one in iterate_batches(read.buffers[0])] == [0, 1]
    assert read.next_offset == log.segment_base_offsets[1]


def test_what_was_cut_off_meanwhile_is_not_given() -> None:
    log = filled_log(disk := MemoryDisk(), 12)
    *_, last = found(log, 0)
    log.truncate_to(9)
    assert read_piece(disk, last) is None


def test_what_was_written_anew_meanwhile_is_given_whole_or_not_at_all() -> None:
    log = filled_log(disk := MemoryDisk(), 12)
    pieces = found(log, 0)
    log.truncate_to(2)
    log.append([batch(2, size=333), *batches(3, 10, size=77)], now_ms=0)
    for piece in pieces:
        read = read_piece(disk, piece)
        if read is not None:
            first = next(iterate_batches(read.buffers[0]))[1].base_offset
            assert log.read(first, read.size_bytes) == read


def test_a_file_that_went_is_not_missed() -> None:
    log = filled_log(disk := MemoryDisk(), 100, Config(segment_bytes=1500))
    pieces = found(log, 0)
    log.remove_oldest(1, now_ms=0)
    assert [read_piece(disk, piece) for piece in pieces] == [None] * len(pieces)


def test_offsets_that_the_log_has_not_are_not_looked_for() -> None:
    log = filled_log(MemoryDisk(), 12)
    log.raise_log_start_offset(5)
    assert (found(log, 4), found(log, 12)) == ([], [])


def test_a_damaged_batch_is_left_to_a_read() -> None:
    log = filled_log(disk := MemoryDisk(), 12)
    name = found(log, 0)[0].file_name
    disk.write_file(name, bytes(len(disk.read_file(name))))
    assert found(log, 0) == []


def test_a_broken_disk_is_told() -> None:
    disk = faulty(MemoryDisk())
    [piece, *_] = found(filled_log(disk, 12), 0)
    disk.set_fault(DiskMode.EIO)
    with pytest.raises(OSError, match="injected") as told:
        read_piece(disk, piece)
    assert told.value.errno == errno.EIO
