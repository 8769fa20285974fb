"""Whose turn it is."""

from __future__ import annotations

import asyncio

from protocol.admin.cluster import ClusterView, PartitionView, TopicView
from protocol.errors import ErrorCode
from simulation.core.restless_members import KnownTopic
from simulation.workload.turns import Turn, known_topics


async def test_who_waits_for_an_answer_or_is_silent_is_not_free() -> None:
    turn = Turn()
    turn.silent_until = 3
    assert [turn.is_free(count) for count in (2, 3)] == [False, True]
    answered = asyncio.Event()

    async def ask() -> None:
        await answered.wait()

    async with asyncio.TaskGroup() as group:
        turn.asked = group.create_task(ask())
        assert not turn.is_free(3)
        answered.set()
    assert turn.is_free(3)


def test_topics_that_are_there_are_known() -> None:
    there = PartitionView(
        topic="a",
        partition=0,
        leader=1,
        leader_epoch=0,
        replicas=(1,),
        isr=(1,),
        offline_replicas=(),
        error_code=0,
    )
    view = ClusterView(
        controller_id=1,
        brokers={},
        topics=(
            TopicView(name="a", topic_id=bytes(16), is_internal=False, partitions=(there, there)),
            TopicView(
                name="b",
                topic_id=bytes(16),
                is_internal=False,
                partitions=(),
                error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ),
        ),
    )
    assert known_topics(view) == {"a": KnownTopic(bytes(16), 2)}
