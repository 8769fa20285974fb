"""Two brokers in racks of their own, of which a leader may send readers to the nearest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.broker.engine.lab import Lab

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


@asynccontextmanager
async def two_racks() -> AsyncGenerator[Lab]:
    """Give brokers 1 in rack a and 2 in rack b: 1 leads a record, 2 has told that it has it."""
    async with Lab.running(broker_count=2, dir_count=1, replica_selector_class=SELECTOR) as lab:
        lab.racks = {1: "a", 2: "b"}
        await lab.create(replicas=[1, 2])
        await lab[1].produce("x")
        await asyncio.sleep(1)
        yield lab
