"""Replicas that are made anew on an empty disk come at a rate of their own."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.hosted import ReturnRule
from broker.core.rebuild_throttle import RebuildView
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.throttled import BATCH_BYTES, RATE, now_s

OTHERS = TopicPartition("others", 0)
RULE = ReturnRule(rate_bytes_per_second=RATE)


async def emptied(lab: Lab, *tps: TopicPartition, batch_count: int = 200) -> str:
    """Broker 1 leads and has it all; the log dir of broker 2 with all of ``tps`` is broken."""
    path = next(iter(lab[2].log_dirs))
    for tp in tps:
        lab[2].state.log_dirs.prefer(tp, path)
        await lab.create(tp, replicas=[1, 2])
        for _ in range(batch_count):
            await lab[1].produce("x" * (BATCH_BYTES - 75), tp=tp, acks=1)
    lab[2].log_dirs[path].fail("append", OSError(5, "broken"))
    for tp in tps:
        await lab.elect(tp, 1, [1])
    return path


async def in_sync_after_s(lab: Lab, *tps: TopicPartition) -> float:
    before_s = now_s()
    await lab.tell(*tps, to=[2])
    async with asyncio.timeout(1_000):
        while any(2 not in lab.led[tp].isr for tp in tps):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return now_s() - before_s


async def test_replicas_made_anew_share_the_rate_and_leave_it_in_sync(lab: Lab) -> None:
    path = await emptied(lab, ORDERS, OTHERS)
    await lab[2].bring_back(path, RULE, is_empty=True)
    assert lab[2].engine.rebuild_throttle(path) == RebuildView(RATE, 2)
    took_s = await in_sync_after_s(lab, ORDERS, OTHERS)
    assert took_s == pytest.approx(400 * BATCH_BYTES / RATE, rel=0.1)
    assert lab[2].engine.rebuild_throttle(path) is None
    assert not lab[2].state.quotas.follower.room_bytes(0) < 0


async def test_it_is_counted_apart_from_the_followers_throttle(lab: Lab) -> None:
    path = await emptied(lab, ORDERS, batch_count=50)
    lab[2].state.quotas.follower.limit_bytes_per_second = 10
    await lab[2].bring_back(path, RULE, is_empty=True)
    took_s = await in_sync_after_s(lab, ORDERS)
    assert took_s == pytest.approx(50 * BATCH_BYTES / RATE, rel=0.1)


async def test_other_replicas_of_the_broker_are_not_slowed(lab: Lab) -> None:
    path = await emptied(lab, ORDERS)
    await lab.create(OTHERS, replicas=[1, 2])
    await lab[2].bring_back(path, ReturnRule(rate_bytes_per_second=100), is_empty=True)
    await lab.tell(ORDERS, to=[2])
    await asyncio.sleep(2)
    before_s = now_s()
    for _ in range(5):
        await lab[1].produce("y", tp=OTHERS)
    assert now_s() - before_s < 0.1
    assert 2 not in lab.led[ORDERS].isr


async def test_without_a_rate_it_is_made_anew_as_fast_as_can_be(lab: Lab) -> None:
    path = await emptied(lab, ORDERS)
    await lab[2].bring_back(path, ReturnRule(), is_empty=True)
    assert await in_sync_after_s(lab, ORDERS) < 1


async def test_a_replica_that_leads_or_whose_disk_fails_again_leaves_the_rate(lab: Lab) -> None:
    path = await emptied(lab, ORDERS, OTHERS)
    await lab[2].bring_back(path, ReturnRule(rate_bytes_per_second=100), is_empty=True)
    await lab.tell(ORDERS, OTHERS, to=[2])
    assert lab[2].engine.rebuild_throttle(path) == RebuildView(100, 2)
    await lab.elect(ORDERS, 2, [2])
    assert lab[2].engine.rebuild_throttle(path) == RebuildView(100, 1)
    lab[2].log_dirs[path].fail("append", OSError(5, "again"))
    assert lab[2].engine.rebuild_throttle(path) is None
