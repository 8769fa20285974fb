"""Replication loops are tested in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.broker.engine.virtual_loop import VirtualLoop


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"virtual": VirtualLoop}
