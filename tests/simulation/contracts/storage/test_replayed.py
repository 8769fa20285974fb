from __future__ import annotations

from typing import Final

import pytest

from broker.core.producer_entry import ProducerEntry
from broker.storage.memory_disk import MemoryDisk
from protocol.faults.model import DiskMode
from simulation.contracts.storage.replayed import (
    Replayed,
    replayed,
    wrong_epochs,
    wrong_producers,
)
from tests.broker.storage.builders import Config, batch, faulty, log_on, produced

CONFIG: Final = Config(segment_bytes=300)


def log() -> Replayed:
    """Producer 7 wrote twelve batches and 8 one before them, in leader epoch 0; epoch 3 follows."""
    whole = log_on(MemoryDisk(), config=CONFIG)
    batches = [produced(0, 8, 0), *(produced(number, 7, number - 1) for number in range(1, 13))]
    whole.append([*batches, batch(13, epoch=3)], now_ms=0)
    found = replayed(whole.segments)
    assert found is not None
    return found


def known(**changes: int) -> list[ProducerEntry]:
    """What is known of the producers, with changes in the one that wrote last."""
    producers = log().producers
    return [producers[7]._replace(**changes), producers[8]]


def wrong(entries: list[ProducerEntry]) -> str | None:
    return wrong_producers(entries, log(), active_base=9, end_offset=14)


def test_a_log_is_read_to_its_end() -> None:
    found = log()

    assert found.end_offset == 14
    assert (found.producers[7].last_offset, found.producers[8].last_offset) == (12, 0)
    assert Replayed((), {}).end_offset == -1


def test_a_damaged_log_or_one_behind_faults_is_not_read() -> None:
    disk = MemoryDisk()
    lost = faulty(disk)
    whole = log_on(lost)
    whole.append([batch(0)], now_ms=0)
    assert replayed(whole.segments) is not None

    lost.set_fault(DiskMode.EIO)
    assert replayed(whole.segments) is None
    lost.clear()
    name = "orders-0/00000000000000000000.log"
    disk.write_file(name, disk.read_file(name)[:-1] + b"?")

    assert replayed(whole.segments) is None


def test_what_its_batches_say_is_known() -> None:
    assert wrong(known()) is None


def test_an_idle_producer_may_be_forgotten() -> None:
    assert wrong(known()[:1]) is None
    assert wrong(known()[1:]) is not None


def test_more_may_be_known_than_compaction_left() -> None:
    assert wrong(known(last_offset=13, last_sequence=12)) is None
    assert wrong(known(producer_epoch=1, last_offset=-1, last_sequence=-1)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"last_offset": 14},
        {"last_offset": 11, "last_sequence": 10},
        {"last_sequence": 10},
        {"producer_epoch": -1},
    ],
)
def test_a_producer_that_is_not_as_its_batches_say_is_told(changes: dict[str, int]) -> None:
    assert wrong(known(**changes)) is not None


def test_a_transaction_that_is_open_is_known_so() -> None:
    opened = log().producers[8]._replace(transaction_first_offset=0)
    found = Replayed((), {8: opened})

    assert wrong_producers([opened], found, active_base=9, end_offset=14) is None
    assert wrong_producers(known(), found, active_base=9, end_offset=14) is not None


def test_each_batch_is_of_the_epoch_that_is_known() -> None:
    assert wrong_epochs([(0, 0), (3, 13)], log(), 0) is None
    assert wrong_epochs([(0, 5), (3, 13)], log(), 5) is None

    assert wrong_epochs([(0, 0)], log(), 0) is not None
    assert wrong_epochs([(0, 0), (2, 7), (3, 13)], log(), 0) is not None
    assert wrong_epochs([(0, 5), (3, 13)], log(), 0) is not None
