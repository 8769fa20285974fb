"""What the engine does on its own, again and again."""

from __future__ import annotations

import asyncio

from protocol.records.build import BatchOptions
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS


async def test_a_dead_follower_leaves_the_isr_after_the_lag_time(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    lab[3].is_reachable = False
    waiting = lab.begin(lab[1].produce("b", timeout_ms=60_000))
    await asyncio.sleep(29)
    assert lab.led[ORDERS].isr == [1, 2, 3]
    assert not waiting.done()
    await asyncio.sleep(17)
    assert lab.led[ORDERS].isr == [1, 2]
    assert (await waiting).base_offset == 1
    assert lab[1].events.isr_changes == [(ORDERS, [1, 2, 3], [1, 2])]


async def test_idle_followers_stay_in_the_isr(lab: Lab) -> None:
    await lab.create()
    await lab[1].produce("a")
    await asyncio.sleep(120)
    assert lab.led[ORDERS].isr == [1, 2, 3]
    assert lab.alter_requests == []


async def test_idle_producers_are_forgotten() -> None:
    async with Lab.running(broker_count=1, dir_count=1, producer_id_expiration_ms="60000") as lab:
        await lab.create(replicas=[1])
        options = BatchOptions(producer_id=7, producer_epoch=0, base_sequence=0)
        await lab[1].produce("a", options=options)
        node = await lab.restart(1)
        await lab.elect(ORDERS, 1, [1])
        producers = node.replica().partition.producers.states
        assert len(producers) == 1
        lab[1].state.loop.now_s += 2_000_000  # type: ignore[attr-defined]
        await asyncio.sleep(601)
        assert len(producers) == 0


async def test_old_batches_leave_the_memory(alone: Lab) -> None:
    await alone.create(replicas=[1])
    await alone[1].produce("a")
    assert alone[1].state.tails.size_bytes > 0
    await asyncio.sleep(16)
    assert alone[1].state.tails.size_bytes == 0
