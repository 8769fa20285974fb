"""What contracts tell while a broker of the lab goes through a story."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.simulation.contracts.wrong_rules import told_of

Story: TypeAlias = Callable[[Lab], Awaitable[object]]
OTHER: Final = TopicPartition("other", 0)


def told(wrong: Callable[..., Any] | None, rule: str, story: Story) -> list[str]:
    """Return what is told while a story of one broker with two log dirs goes on."""

    async def play() -> None:
        async with Lab.running(broker_count=1, dir_count=2) as lab, asyncio.timeout(60):
            for tp in (ORDERS, OTHER):
                await lab.create(tp, replicas=[1])
                await lab[1].produce("a", tp=tp, acks=1)
            await story(lab)

    def use() -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(play())

    return told_of(wrong, rule, use)
