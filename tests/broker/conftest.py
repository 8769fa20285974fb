"""A broker of fakes that knows the topic ``orders``, and a controller for whole brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.broker.fake_controller import FakeController
from tests.broker.fakes import FakeBroker, topic_state, update_metadata


@pytest.fixture
async def broker() -> FakeBroker:
    made = FakeBroker()
    made.engine.metadata.update(update_metadata(topic_state()))
    return made


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    made = FakeController()
    made.configs["orders"] = {}
    await made.start()
    yield made
    await made.stop()
