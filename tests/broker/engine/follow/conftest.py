"""The fetch loops of one source broker, running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.broker.engine.follow.followers import Loops


@pytest.fixture
async def loops() -> AsyncIterator[Loops]:
    async with asyncio.TaskGroup() as group:
        running = Loops(group)
        yield running
        running.stop()
