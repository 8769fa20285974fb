"""The Java producer's half of a transaction: records, a group's offsets, the end of both."""

from __future__ import annotations

import asyncio

from protocol.errors import ErrorCode
from protocol.messages.group_offsets import OffsetFetchRequest, OffsetFetchRequestGroup
from simulation.core.consumer_member import GroupMetadata
from simulation.workload.coordinator import GROUP, Coordinator
from simulation.workload.java_producer import JavaProducer
from simulation.workload.producer import ProducerSettings, sends_in_turn
from simulation.workload.progress import Progress
from tests.simulation.workload.lab import TP, Lab

NOBODY = GroupMetadata("tellers", "", -1)
"""Who has a group to itself, as one that assigns its partitions by hand."""


def producer(lab: Lab) -> JavaProducer:
    settings = ProducerSettings(topic="orders")
    return JavaProducer(lab.new_client("teller"), settings, lab.clock, Progress())


def coordinator(lab: Lab) -> Coordinator:
    return Coordinator(lab.new_client("member"), "tellers", GROUP, Progress())


async def committed(lab: Lab) -> list[int]:
    """Return the offsets that the group has."""
    asked = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id="tellers", topics=None)], require_stable=True
    )
    answer = await coordinator(lab).ask(asked, 9, lambda answer: answer.groups[0].error_code)
    return [
        row.committed_offset
        for topic in answer.groups[0].topics
        for row in topic.partitions
        if row.error_code == ErrorCode.NONE
    ]


async def test_offsets_are_the_groups_once_the_transaction_is_committed(lab: Lab) -> None:
    await lab.create()
    one = producer(lab)
    assert await one.initialize()
    assert await one.partitions() == [0]
    sent = await one.send(sends_in_turn(1, range(3), "orders", [0]))
    assert not isinstance(sent, ErrorCode)
    assert [send.base_offset for send in sent] == [0, 1, 2]

    assert await one.commit_offsets(coordinator(lab), NOBODY, {TP: 7}) is ErrorCode.NONE
    assert await committed(lab) == []
    assert await one.end(is_committed=True) is None
    async with asyncio.timeout(60):  # The marker is written behind the answer.
        while await committed(lab) != [7]:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)


async def test_offsets_of_an_aborted_transaction_never_are(lab: Lab) -> None:
    await lab.create()
    one = producer(lab)
    assert await one.initialize()
    assert await one.commit_offsets(coordinator(lab), NOBODY, {TP: 7}) is ErrorCode.NONE
    assert await one.end(is_committed=False) is None
    assert await committed(lab) == []


async def test_a_member_that_the_group_does_not_know_commits_nothing(lab: Lab) -> None:
    await lab.create()
    one = producer(lab)
    assert await one.initialize()
    stranger = GroupMetadata("tellers", "stranger", 3)
    code = await one.commit_offsets(coordinator(lab), stranger, {TP: 7})
    assert code is ErrorCode.ILLEGAL_GENERATION
    assert await one.end(is_committed=False) is None
    assert await committed(lab) == []
