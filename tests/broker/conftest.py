"""A broker of fakes whose metadata knows the topic ``orders`` with two partitions."""

from __future__ import annotations

import pytest

from tests.broker.fakes import FakeBroker, topic_state, update_metadata


@pytest.fixture
async def broker() -> FakeBroker:
    made = FakeBroker()
    made.engine.metadata.update(update_metadata(topic_state()))
    return made
