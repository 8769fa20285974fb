"""Parts of fetches, as consumers and followers ask for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from broker.engine.types import FetchPart
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS, topic_id_of


def now_s() -> float:
    return asyncio.get_running_loop().time()


def part(
    tp: TopicPartition = ORDERS, offset: int = 0, *, epoch: int = -1, max_bytes: int = 1 << 20
) -> FetchPart:
    return FetchPart(tp, bytes(16), offset, -1, epoch, -1, max_bytes)


def as_follower(
    offset: int, *, tp: TopicPartition = ORDERS, last_epoch: int = -1, epoch: int = 0
) -> FetchPart:
    return FetchPart(tp, topic_id_of(tp.topic), offset, 0, epoch, last_epoch, 1 << 20)


async def wrote(lab: Lab, *values: str, of: Sequence[TopicPartition] = (ORDERS,)) -> None:
    """Have broker 1 alone lead partitions, and write each value to them."""
    for tp in of:
        await lab.create(tp, replicas=[1])
        for value in values:
            await lab[1].produce(value, tp=tp, acks=1)


async def led_for(lab: Lab, *followers: int, tp: TopicPartition = ORDERS) -> None:
    """Have broker 1 lead a partition, in its second leader epoch, for followers that are nobody."""
    await lab.create(tp, replicas=[1])
    lab.led[tp].replicas = [1, *followers]
    lab.led[tp].leader_epoch = 1
    await lab.tell(tp, to=[1])
