"""Walking over the batches of a file, good and damaged."""

from __future__ import annotations

import random

import pytest

from broker.core.batch_order import BatchOrder
from broker.core.leader_epochs import LeaderEpochs
from broker.storage.batch_scan import (
    CorruptBatch,
    MisplacedBatch,
    cut_position,
    scan_batches,
    scan_headers,
)
from broker.storage.faults import FaultyDisk
from broker.storage.memory_disk import MemoryDisk
from protocol.ports import DiskFile
from tests.broker.storage.builders import BitsInTurn, OneBit, batch, batches


def file_of(*parts: bytes) -> DiskFile:
    file = MemoryDisk().open("a", create=True)
    file.append(parts)
    return file


@pytest.mark.parametrize("chunk_bytes", [61, 200, 1 << 20])
def test_headers_are_given_with_their_positions_whatever_is_read_at_once(chunk_bytes: int) -> None:
    parts = [batch(0, 3), batch(3, size=700), batch(10)]
    file = file_of(*parts)
    found = list(scan_headers(file, 0, file.size(), chunk_bytes=chunk_bytes))
    assert [(position, header.base_offset) for position, header in found] == [
        (0, 0),
        (len(parts[0]), 3),
        (len(parts[0]) + len(parts[1]), 10),
    ]


def test_a_scan_may_begin_at_any_batch() -> None:
    file = file_of(batch(0), batch(1))
    start = len(batch(0))
    assert [header.base_offset for _, header in scan_headers(file, start, file.size())] == [1]


def test_batches_come_whole_also_when_larger_than_a_chunk() -> None:
    parts = [batch(0), batch(1, size=600_000), batch(2)]
    file = file_of(*parts)
    found = [bytes(data) for _, _, data in scan_batches(file, 0, file.size(), verify=True)]
    assert found == parts


@pytest.mark.parametrize("cut_bytes", [1, 60, 61, 100])
def test_a_torn_tail_ends_the_scan_where_it_begins(cut_bytes: int) -> None:
    whole = b"".join(batches(0, 3))
    file = file_of(whole, batch(3)[:cut_bytes])
    for scan in (
        scan_headers(file, 0, file.size()),
        (found[:2] for found in scan_batches(file, 0, file.size(), verify=True)),
    ):
        seen: list[int] = []
        with pytest.raises(CorruptBatch) as caught:
            seen.extend(header.base_offset for _, header in scan)
        assert seen == [0, 1, 2]
        assert caught.value.position == len(whole)


SIZE = len(batch(0, 3))


@pytest.mark.parametrize(
    ("offset", "position"), [(0, 0), (2, 0), (3, SIZE), (4, SIZE), (6, 2 * SIZE), (9, 2 * SIZE)]
)
def test_a_log_is_cut_where_the_batch_of_an_offset_begins(offset: int, position: int) -> None:
    file = file_of(batch(0, 3), batch(3, 3))
    assert cut_position(file, 0, offset, begin=0, end=file.size()) == position


@pytest.mark.parametrize(
    ("offset", "begin", "position"),
    [(3, 0, SIZE), (3, None, SIZE), (4, 0, None), (2, 0, 0), (0, 0, 0)],
)
def test_damage_is_cut_off_only_where_the_log_shall_end(
    offset: int, begin: int | None, position: int | None
) -> None:
    file = file_of(batch(0, 3), bytes(200))
    if position is None:
        with pytest.raises(CorruptBatch):
            cut_position(file, 0, offset, begin=begin, end=file.size())
    else:
        assert cut_position(file, 0, offset, begin=begin, end=file.size()) == position


@pytest.mark.parametrize(("begin", "is_known"), [(7, True), (None, False), (6, False)])
def test_damage_at_the_begin_is_cut_off_where_its_offset_is_known(
    begin: int | None, *, is_known: bool
) -> None:
    file = file_of(bytes(200))
    if is_known:
        assert cut_position(file, 0, 7, begin=begin, end=file.size()) == 0
    else:
        with pytest.raises(CorruptBatch):
            cut_position(file, 0, 7, begin=begin, end=file.size())


@pytest.mark.parametrize("bits", [[20], [8 * 8 + 1], [20, 8 * 8 + 1, 21]])
def test_where_a_log_is_cut_is_looked_at_until_two_looks_agree(bits: list[int]) -> None:
    """Seed 1153745: the first of five batches was misread, and all went in place of the last."""
    disk = FaultyDisk(MemoryDisk(), chance=BitsInTurn(bits))
    file = disk.open("a", create=True)
    file.append([batch(0), batch(1), batch(2)])
    disk.set_fault("bit_flip", times=len(bits))
    assert cut_position(file, 0, 2, begin=0, end=file.size()) == 2 * len(batch(0))


def test_a_wrong_sum_is_found_only_on_request() -> None:
    bad = bytearray(batch(1))
    bad[-1] ^= 1
    file = file_of(batch(0), bytes(bad))
    assert len(list(scan_batches(file, 0, file.size(), verify=False))) == 2
    with pytest.raises(CorruptBatch, match="CRC"):
        list(scan_batches(file, 0, file.size(), verify=True))


def test_zeros_and_negative_offsets_are_no_batches() -> None:
    negative = bytearray(batch(0))
    negative[0] = 0xFF
    for bad in (bytes(100), bytes(negative)):
        file = file_of(bad)
        with pytest.raises(CorruptBatch):
            list(scan_headers(file, 0, file.size()))


@pytest.mark.parametrize("seed", range(10))
def test_a_batch_that_was_misread_once_is_read_again(seed: int) -> None:
    parts = [batch(0), batch(1, size=600_000), batch(2)]
    disk = FaultyDisk(MemoryDisk(), chance=random.Random(seed))
    file = disk.open("a", create=True)
    file.append(parts)
    rule = disk.set_fault("bit_flip", times=1)
    found = [bytes(data)[8:12] for _, _, data in scan_batches(file, 0, file.size(), verify=True)]
    assert found == [part[8:12] for part in parts]
    assert rule.hits == 1


def test_a_batch_that_is_misread_twice_is_damaged() -> None:
    disk = FaultyDisk(MemoryDisk(), chance=random.Random(0))
    file = disk.open("a", create=True)
    file.append([batch(0, size=5_000)])
    disk.set_fault("bit_flip", times=2)
    with pytest.raises(CorruptBatch):
        list(scan_batches(file, 0, file.size(), verify=True))


def test_a_batch_is_misplaced_where_its_order_says_so_twice() -> None:
    parts = [batch(0), batch(7), batch(2)]
    file = file_of(*parts)
    order = BatchOrder(0, 9, LeaderEpochs())
    seen: list[int] = []
    with pytest.raises(MisplacedBatch, match="offsets 2 to 2, expected within 8 to 8"):
        seen.extend(
            header.base_offset
            for _, header, _ in scan_batches(file, 0, file.size(), verify=True, order=order)
        )
    assert seen == [0, 7]


@pytest.mark.parametrize("bit", [0, 30, 50, 8 * 12, 8 * 15 + 7])
def test_an_offset_or_epoch_that_was_misread_once_is_read_again(bit: int) -> None:
    disk = FaultyDisk(MemoryDisk(), chance=Chosen(bit))
    file = disk.open("a", create=True)
    file.append([batch(5), batch(6)])
    rule = disk.set_fault("bit_flip", times=1)
    order = BatchOrder(5, 9, LeaderEpochs([(0, 0)]))
    found = [data for _, _, data in scan_batches(file, 0, file.size(), verify=True, order=order)]
    assert found == [batch(5), batch(6)]
    assert rule.hits == 1


class Chosen(random.Random):
    """Draws one number, always."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert (self._number < start, stop, step) == (True, None, 1)
        return self._number


def test_a_gap_before_the_last_batch_of_a_log_is_taken_that_is_there_twice() -> None:
    file = file_of(batch(0), batch(7), batch(9, epoch=1))
    scanned = scan_batches(file, 0, file.size(), verify=True, ends_log=True)
    assert [header.base_offset for _, header, _ in scanned] == [0, 7, 9]


@pytest.mark.parametrize("bit", [0, 28, 35, 63, 96, 127])
def test_a_last_batch_that_is_another_when_it_is_read_again_is_misplaced(bit: int) -> None:
    """Bits of its base offset and of its leader epoch, which stands behind its size."""
    disk = MemoryDisk()
    made = disk.open("a", create=True)
    made.append(batches(0, 3))
    start = 8 * 2 * len(batch(0))
    faulty = FaultyDisk(disk, chance=OneBit(start + bit))
    faulty.set_fault("bit_flip", times=1)
    file = faulty.open("a", create=False)
    scanned = scan_batches(file, 0, file.size(), verify=True, ends_log=True)
    with pytest.raises(MisplacedBatch, match="and again as"):
        list(scanned)
