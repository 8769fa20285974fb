"""Scenes live in worlds of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest_asyncio

from simulation.matrix.matrix_cluster import MatrixCluster
from simulation.world.loop import SimLoop


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"simulated": SimLoop}


@pytest_asyncio.fixture
async def cluster() -> AsyncGenerator[MatrixCluster]:
    """A cluster that is up."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    made = MatrixCluster(loop)
    await made.sim.start()
    yield made
    made.client.close()
    await made.sim.stop()
