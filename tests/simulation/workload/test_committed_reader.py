"""A reader of committed records without a group: it is followed from where it says it begins."""

from __future__ import annotations

import asyncio

from simulation.core.history import Assignment, Function, Poll
from simulation.workload.committed_reader import CommittedReader
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.java_transactions import JavaTransactionsWorkload
from simulation.workload.producer import ProducerSettings
from tests.simulation.workload.lab import Lab

SETTINGS = ConsumerSettings(topic="orders", is_read_committed=True, max_bytes=1)


async def test_it_reads_what_was_committed_alone_in_small_answers(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    settings = ProducerSettings(topic="orders", batch_records=3, records_max=12)
    writer = JavaTransactionsWorkload(
        1, lab.new_client("payer"), lab.history, settings, lab.clock, aborts_every=2
    )
    reader = CommittedReader(lab.new_client("reader"), lab.history, SETTINGS)
    async with asyncio.TaskGroup() as group:
        group.create_task(reader.run())
        await writer.run()
        async with asyncio.timeout(60):
            while reader.progress.read < 6:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.1)
        reader.stop()

    assert reader.progress.read == 6
    assert [each.value for each in lab.ended(Function.ASSIGN)] == [Assignment("", -1, ())]
    polls = [each.value for each in lab.ended(Function.POLL)]
    assert all(
        len(read.records) <= 1 for poll in polls if isinstance(poll, Poll) for read in poll.reads
    )
