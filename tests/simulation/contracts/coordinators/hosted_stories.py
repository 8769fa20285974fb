"""What happens where a broker coordinates groups, and their log has another leader then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from broker.core.groups.group_offsets import Committed
from broker.core.groups.group_shard import GroupShard
from broker.core.metadata_image import MetadataImage
from protocol.configs.coordination import CoordinationConfig
from protocol.ids import BrokerId, TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.coordinators.asking import commit, fetch, until_loaded
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.virtual_loop import VirtualLoop

OFFSETS = TopicPartition(CONSUMER_OFFSETS, 0)


def story(told: Callable[[Lab], Awaitable[object]]) -> Callable[[], object]:
    """Run a story of three brokers, of which the first coordinates groups."""

    async def run() -> None:
        async with Lab.running(broker_count=3, dir_count=2) as lab, asyncio.timeout(100):
            await lab.create(ORDERS)
            await lab.create(OFFSETS, cleanup_policy="compact")
            await until_loaded(lab[1])
            await told(lab)

    def use() -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(run())

    return use


async def committed(lab: Lab) -> None:
    await commit(lab[1], 5)
    await fetch(lab[1])


async def led_by_another(lab: Lab) -> None:
    await commit(lab[1], 5)
    lab[1].is_reachable = lab[3].is_reachable = False
    await lab.elect(OFFSETS, 2, [1, 2, 3])
    await until_loaded(lab[2])


def pending() -> GroupShard:
    """Return a shard that has an offset of a producer's open transaction."""
    image = MetadataImage(broker_id=BrokerId(1))
    shard = GroupShard(CoordinationConfig(), lambda: 1_000_000, image)
    shard.offsets.put("g", {ORDERS: Committed(5, 0, "", 0)}, producer_id=7)
    return shard
