"""Scenes live in worlds of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest_asyncio

from simulation.matrix.scene import Scene
from simulation.world.loop import SimLoop


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"simulated": SimLoop}


@pytest_asyncio.fixture
async def scene() -> AsyncGenerator[Scene]:
    """A cluster that is up."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimLoop)
    made = Scene(loop)
    await made.cluster.start()
    yield made
    made.client.close()
    await made.cluster.stop()
