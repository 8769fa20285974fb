"""Tests of the engine: virtual time, disks in memory; the contracts of its rules hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from tests.broker.engine.lab import Lab
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.simulation.contracts.holding import contracts_hold

__all__ = ["contracts_hold"]


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Give every test below this directory a loop of virtual time."""
    return {"virtual": VirtualLoop}


@pytest.fixture(autouse=True)
def loops_go_on(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test in which one of the engine's loops met a defect and was begun anew."""
    yield
    failed = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.name == "broker.engine.supervise"
    ]
    assert failed == []


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    """Three brokers with two log dirs each, and a controller that grants every Isr change."""
    async with Lab.running(broker_count=3, dir_count=2) as running:
        yield running


@pytest.fixture
async def alone() -> AsyncIterator[Lab]:
    """One broker with three log dirs."""
    async with Lab.running(broker_count=1, dir_count=3) as running:
        yield running
