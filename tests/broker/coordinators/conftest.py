"""Three brokers with two log dirs each, and an offsets topic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.virtual_loop import VirtualLoop

OFFSETS = TopicPartition(CONSUMER_OFFSETS, 0)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"virtual": VirtualLoop}


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with Lab.running(broker_count=3, dir_count=2) as lab:
        await lab.create(ORDERS)
        await lab.create(OFFSETS, cleanup_policy="compact")
        yield lab
