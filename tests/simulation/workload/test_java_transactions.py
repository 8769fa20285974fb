"""The second version of transactions in a simulated world: each is written down, and is whole."""

from __future__ import annotations

import asyncio

from protocol.faults.model import DiskMode
from simulation.core.history import Function, Kind, Txn
from simulation.workload.java_transactions import JavaTransactionsWorkload
from simulation.workload.producer import ProducerSettings
from tests.simulation.workload.lab import TP, Lab

SETTINGS = ProducerSettings(topic="orders", batch_records=3, interval_ms=50)


def teller(lab: Lab, *, aborts_every: int = 0, name: str = "teller") -> JavaTransactionsWorkload:
    client = lab.new_client(name)
    return JavaTransactionsWorkload(
        1, client, lab.history, SETTINGS, lab.clock, aborts_every=aborts_every
    )


async def run_for(lab: Lab, workload: JavaTransactionsWorkload, for_s: float) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(workload.run())
        await asyncio.sleep(for_s)
        workload.stop()


def txns(lab: Lab, kind: Kind) -> list[Txn]:
    found = [each.value for each in lab.ended(Function.TXN, kind)]
    return [each for each in found if isinstance(each, Txn)]


async def test_transactions_are_committed_with_their_offsets(lab: Lab) -> None:
    await lab.create(partitions=2)
    one = teller(lab)
    await run_for(lab, one, 3)

    committed = txns(lab, Kind.OK)
    assert len(committed) > 10
    assert one.progress.acknowledged == 3 * len(committed)
    assert len(txns(lab, Kind.FAIL)) == len(txns(lab, Kind.INFO)) == 0
    offsets = [send.base_offset for each in committed for send in each.sends if send.tp == TP]
    assert offsets == sorted(offsets)
    assert len(offsets) == len(set(offsets))


async def test_some_are_aborted_on_purpose_and_the_next_ones_go_on(lab: Lab) -> None:
    await lab.create()
    await run_for(lab, teller(lab, aborts_every=2), 3)

    failed = lab.ended(Function.TXN, Kind.FAIL)
    assert {each.error for each in failed} == {"aborted"}
    assert abs(len(failed) - len(txns(lab, Kind.OK))) <= 1


async def test_another_producer_of_the_id_fences_the_first_which_begins_anew(lab: Lab) -> None:
    await lab.create()
    one, other = teller(lab), teller(lab)
    async with asyncio.TaskGroup() as group:
        for each in (one, other):
            group.create_task(each.run())
            await asyncio.sleep(2)
        one.stop()
        other.stop()

    refused = {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"}
    assert refused & {*one.progress.errors, *other.progress.errors}
    assert len(txns(lab, Kind.OK)) > 5


async def test_a_coordinator_whose_disk_breaks_gives_way_to_the_next_one(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    one = teller(lab)
    async with asyncio.TaskGroup() as group:
        group.create_task(one.run())
        await asyncio.sleep(2)
        before = one.progress.acknowledged
        for drive in lab.cluster.brokers[1].drives.values():
            drive.faults.set_fault(DiskMode.EIO)
        await asyncio.sleep(15)
        one.stop()

    assert one.progress.acknowledged > before
