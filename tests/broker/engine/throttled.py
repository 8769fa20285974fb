"""A follower that has much to catch up with, for tests of throttles."""

from __future__ import annotations

import asyncio

from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS

RATE = 100_000
BATCH_BYTES = 10_000


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def left_behind(
    lab: Lab, *tps: TopicPartition, batch_count: int = 200, **configs: str
) -> None:
    """Broker 1 leads and has it all; broker 2 is cut off and out of the Isr."""
    for tp in tps or (ORDERS,):
        await lab.create(tp, replicas=[1, 2], **configs)
        lab[2].is_reachable = False
        await lab.elect(tp, 1, [1])
        for _ in range(batch_count):
            await lab[1].produce("x" * (BATCH_BYTES - 75), tp=tp, acks=1)
        lab[2].is_reachable = True
    lab[2].is_reachable = False


async def seconds_to_catch_up(lab: Lab, *tps: TopicPartition) -> float:
    """Let broker 2 come back; return how long it needs to be in the Isr of all ``tps``."""
    before_s = now_s()
    lab[2].is_reachable = True
    for tp in tps or (ORDERS,):
        await lab.tell(tp, to=[2])
    async with asyncio.timeout(1_000):
        while any(2 not in lab.led[tp].isr for tp in tps or (ORDERS,)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return now_s() - before_s
