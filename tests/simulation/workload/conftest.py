"""Workloads are tested against whole clusters, in worlds of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from simulation.world.loop import SimLoop
from tests.simulation.workload.lab import Lab


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"simulated": SimLoop}


@pytest.fixture
async def lab() -> Lab:
    """A running cluster of three brokers with two log dirs each, and its clients."""
    return await Lab.running()
