"""The controller's journal on a simulated disk."""

from __future__ import annotations

import errno
from random import Random

import pytest

from controller.core.decision import Decision
from controller.core.records import ControllerStarted, ProducerIdsAllocated
from controller.journal import Journal, JournalInUseError
from simulation.world.drive import Drive
from simulation.world.journal_disk import DiskJournal, SimExecutor
from tests.simulation.world.drives import new_drive, worker_of


def journal_of(drive: Drive) -> Journal:
    return Journal(DiskJournal(drive.faults), SimExecutor(worker_of(drive)))


def decision(number: int) -> Decision:
    return Decision(number, [ProducerIdsAllocated(number)], [])


async def test_what_was_appended_outlives_a_power_cut():
    drive = new_drive()
    journal = journal_of(drive)
    await journal.load()
    await journal.append([decision(1), decision(2)])
    drive.power_cut(Random(1))
    replayed = await journal_of(drive).load()
    assert replayed.next_sequence == 2


async def test_a_journal_has_one_user():
    drive = new_drive()
    first = journal_of(drive)
    await first.load()
    with pytest.raises(JournalInUseError):
        await journal_of(drive).load()
    await first.close()
    await journal_of(drive).load()


async def test_a_torn_tail_is_cut_off_and_a_compacted_journal_read_again():
    drive = new_drive()
    journal = journal_of(drive)
    replayed = await journal.load()
    await journal.append([decision(1)])
    await journal.compact(replayed.state)
    await journal.append([decision(1)])
    await journal.close()
    drive.faults.open("journal.jsonl", create=False).append([b"torn"])
    replayed = await journal_of(drive).load()
    assert (replayed.next_sequence, replayed.torn_bytes) == (2, 4)


async def test_a_broken_disk_fails_the_append():
    drive = new_drive()
    journal = journal_of(drive)
    await journal.load()
    drive.faults.set_fault("eio")
    with pytest.raises(OSError, match="injected") as caught:
        await journal.append([decision(1)])
    assert caught.value.errno == errno.EIO


async def test_it_knows_which_decisions_are_durable_from_the_bytes_alone():
    drive = new_drive()
    store = DiskJournal(drive.faults)
    journal = Journal(store, SimExecutor(worker_of(drive)))
    replayed = await journal.load()
    assert store.durable_number == 0
    await journal.append([decision(1), decision(2)])
    assert store.durable_number == 2
    replayed.state.journal_number = 2
    ControllerStarted("c", 1, 40).apply(replayed.state)
    await journal.append([Decision(41, [ControllerStarted("c", 1, 40)], [])])
    assert store.durable_number == 41
    replayed.state.journal_number = 41
    durable = await journal.compact(replayed.state)
    assert store.durable_number == durable.journal_number == 42
