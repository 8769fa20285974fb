"""Clusters live in worlds of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from simulation.world.loop import SimLoop


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"simulated": SimLoop}
