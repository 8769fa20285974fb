"""A fake controller and a link to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from broker.lifecycle.controller_link import ControllerLink
from tests.broker.fake_controller import FakeController


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    made = FakeController()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def link(controller: FakeController) -> AsyncIterator[ControllerLink]:
    made = ControllerLink(controller.connect)
    yield made
    made.close()
