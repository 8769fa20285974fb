"""Which offset indexes are believed."""

from __future__ import annotations

import pytest

from broker.storage.index_check import check_last_entry
from broker.storage.indexes import CorruptIndex, OffsetIndex
from broker.storage.memory_disk import MemoryDisk
from protocol.ports import DiskFile
from tests.broker.storage.builders import batch, batches

SIZE = len(batch(0))


@pytest.fixture
def file() -> DiskFile:
    disk = MemoryDisk()
    disk.write_file("log", b"".join(batches(0, 5)))
    return disk.open("log", create=False)


def index_with(offset: int, position: int) -> OffsetIndex:
    index = OffsetIndex(0)
    index.append(offset, position)
    return index


@pytest.mark.parametrize("offset", [2, 4])
def test_an_entry_may_mean_its_batch_or_a_later_one_of_the_same_append(
    file: DiskFile, offset: int
) -> None:
    check_last_entry(index_with(offset, 2 * SIZE), file, 5 * SIZE)


def test_an_empty_index_says_nothing_wrong(file: DiskFile) -> None:
    check_last_entry(OffsetIndex(0), file, 0)


@pytest.mark.parametrize(
    ("offset", "position"), [(1, 2 * SIZE), (2, 2 * SIZE + 1), (4, 5 * SIZE), (4, -1)]
)
def test_an_entry_that_can_mean_nothing_there_is_corrupt(
    file: DiskFile, offset: int, position: int
) -> None:
    with pytest.raises(CorruptIndex):
        check_last_entry(index_with(offset, position), file, 5 * SIZE)
