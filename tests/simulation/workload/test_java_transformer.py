"""Consume, transform, produce by several members, in a simulated world: each record once."""

from __future__ import annotations

import asyncio
from collections import Counter

from protocol.errors import ErrorCode
from protocol.faults.model import DiskMode
from protocol.messages.group_offsets import OffsetFetchRequest, OffsetFetchRequestGroup
from simulation.core.history import Assignment, Function, Kind, Txn
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.coordinator import GROUP, Coordinator
from simulation.workload.java_transactions import JavaTransactionsWorkload
from simulation.workload.java_transformer import JavaTransformSettings, JavaTransformWorkload
from simulation.workload.producer import ProducerSettings
from simulation.workload.progress import Progress
from tests.simulation.workload.lab import TP, Lab

READING = ConsumerSettings(topic="orders", group="tellers", is_read_committed=True)
WRITING = ProducerSettings(topic="results")


def transformer(lab: Lab, number: int, *, aborts_every: int = 0) -> JavaTransformWorkload:
    client = lab.new_client(f"teller-{number}")
    settings = JavaTransformSettings(READING, WRITING, aborts_every)
    return JavaTransformWorkload(number, client, lab.history, settings, lab.clock)


def payer(lab: Lab, *, records_max: int = 80) -> JavaTransactionsWorkload:
    settings = ProducerSettings(topic="orders", batch_records=4, records_max=records_max)
    client = lab.new_client("payer")
    return JavaTransactionsWorkload(90, client, lab.history, settings, lab.clock, aborts_every=2)


def txns(lab: Lab, of: str, kind: Kind = Kind.OK) -> list[Txn]:
    found = [each.value for each in lab.ended(Function.TXN, kind)]
    return [each for each in found if isinstance(each, Txn) and bool(each.group) == (of != "payer")]


def transformed(lab: Lab) -> Counter[int]:
    """Count how often each record was the source of a committed result."""
    return Counter(
        record for txn in txns(lab, "tellers") for read in txn.reads for _, record in read.records
    )


def paid(lab: Lab) -> set[int]:
    return {record for txn in txns(lab, "payer") for send in txn.sends for record in send.records}


def assigned(lab: Lab) -> dict[str, int]:
    """Return how many partitions each member had at the end."""
    return {
        each.client: len(each.value.partitions)
        for each in lab.ended(Function.ASSIGN)
        if isinstance(each.value, Assignment)
    }


async def until_all(lab: Lab) -> None:
    """Wait until what was paid is transformed."""
    async with asyncio.timeout(120):
        while transformed(lab).keys() != paid(lab):  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.1)


async def test_two_members_share_a_topic_and_transform_committed_records_once(lab: Lab) -> None:
    await lab.create(partitions=2)
    await lab.create("results", partitions=2)
    tellers = [transformer(lab, number) for number in (1, 2)]
    async with asyncio.TaskGroup() as group:
        for each in tellers:
            group.create_task(each.run())
        async with asyncio.timeout(120):
            while assigned(lab) != {"teller-1": 1, "teller-2": 1}:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.1)
        await payer(lab).run()
        await until_all(lab)
        for each in tellers:
            each.stop()

    assert set(transformed(lab).values()) == {1}
    assert len(paid(lab)) == 40
    for each in tellers:
        assert each.progress.acknowledged > 0


async def test_a_result_that_is_refused_is_aborted_and_its_record_is_read_again(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    await lab.create("results", replication_factor=3)
    teller = transformer(lab, 1)
    async with asyncio.TaskGroup() as group:
        group.create_task(teller.run())
        writing = group.create_task(payer(lab).run())
        await asyncio.sleep(1)
        for drive in lab.cluster.brokers[1].drives.values():
            drive.faults.set_fault(DiskMode.EIO)
        await writing
        await until_all(lab)
        teller.stop()

    assert teller.progress.errors
    assert set(transformed(lab).values()) == {1}
    assert teller.reached[TP] == teller.positions[TP].offset


async def test_what_a_fenced_member_was_about_to_commit_is_aborted(lab: Lab) -> None:
    await lab.create()
    await lab.create("results")
    teller = transformer(lab, 1)
    async with asyncio.TaskGroup() as group:
        group.create_task(teller.run())
        writing = group.create_task(payer(lab).run())
        for _ in range(8):
            await asyncio.sleep(0.2)
            teller.read_again([TP])  # As when a heartbeat is answered FENCED_MEMBER_EPOCH.
        await writing
        await until_all(lab)
        teller.stop()

    assert set(transformed(lab).values()) == {1}
    values = [each.value for each in lab.ended(Function.ASSIGN)]
    assert [each.placed for each in values if isinstance(each, Assignment)][1:9] == [()] * 8


async def test_what_a_transaction_read_that_is_aborted_on_purpose_is_read_again(lab: Lab) -> None:
    await lab.create()
    await lab.create("results")
    teller = transformer(lab, 1, aborts_every=2)
    async with asyncio.TaskGroup() as group:
        group.create_task(teller.run())
        await payer(lab, records_max=24).run()
        await until_all(lab)
        teller.stop()

    assert txns(lab, "tellers", Kind.FAIL)
    assert set(transformed(lab).values()) == {1}


async def test_how_much_is_made_is_noted_as_an_offset_of_where_it_goes(lab: Lab) -> None:
    await lab.create()
    await lab.create("results")
    teller = transformer(lab, 1)
    async with asyncio.TaskGroup() as group:
        group.create_task(teller.run())
        await payer(lab, records_max=24).run()
        await until_all(lab)
        teller.stop()

    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id="tellers", topics=None)], require_stable=False
    )
    coordinator = Coordinator(lab.client, "tellers", GROUP, Progress())
    answer = await coordinator.ask(request, 9, lambda _: ErrorCode.NONE)
    noted = {row.name: row.partitions[0].committed_offset for row in answer.groups[0].topics}
    assert noted["results"] == len(paid(lab))
