"""Whom a consumer fetches from, on virtual time."""

from __future__ import annotations

import asyncio

from protocol.ids import NO_LEADER, TopicPartition
from simulation.workload.replica_choice import NO_CHOICE, ReplicaChoice

TP = TopicPartition("orders", 0)


async def test_the_leader_is_asked_until_it_names_somebody() -> None:
    choice = ReplicaChoice(1_000)
    choice.take(TP, NO_CHOICE)
    assert choice.source(TP, 1) == 1
    choice.take(TP, 2)
    assert choice.source(TP, 1) == 2
    assert choice.source(TopicPartition("orders", 1), 1) == 1


async def test_after_a_while_the_leader_is_asked_again() -> None:
    choice = ReplicaChoice(1_000)
    choice.take(TP, 2)
    await asyncio.sleep(0.999)
    assert choice.source(TP, 1) == 2
    await asyncio.sleep(0.001)
    assert choice.source(TP, 1) == 1


async def test_without_a_leader_nobody_is_asked() -> None:
    choice = ReplicaChoice(1_000)
    choice.take(TP, 2)
    assert choice.source(TP, NO_LEADER) == NO_LEADER


async def test_what_is_forgotten_was_another_replica_or_not() -> None:
    choice = ReplicaChoice(1_000)
    assert not choice.forget(TP)
    choice.take(TP, 2)
    assert choice.forget(TP)
    assert choice.source(TP, 1) == 1
