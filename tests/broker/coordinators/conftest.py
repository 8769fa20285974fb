"""Three brokers with two log dirs each, and an offsets topic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from protocol.ids import TopicPartition
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.broker.coordinators.asking import until
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.simulation.contracts.holding import contracts_hold

__all__ = ["contracts_hold", "lab", "verifying_lab"]

OFFSETS = TopicPartition(CONSUMER_OFFSETS, 0)
STATE = TopicPartition(TRANSACTION_STATE, 0)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"virtual": VirtualLoop}


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with Lab.running(broker_count=3, dir_count=2) as lab:
        await lab.create(ORDERS)
        await lab.create(OFFSETS, cleanup_policy="compact")
        yield lab


@pytest.fixture
async def verifying_lab(lab: Lab) -> Lab:
    """Broker 1 leads the records and offsets, broker 2 the transactions."""
    await lab.create(STATE, cleanup_policy="compact")
    await lab.elect(STATE, 2, [1, 2, 3])
    for node in (lab[1], lab[2]):
        await until(lambda node=node: all(h.is_loaded for h in node.transactions.shards.hosts()))
    await until(lambda: all(host.is_loaded for host in lab[1].groups.hosts()))
    return lab
