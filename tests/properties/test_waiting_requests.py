"""Requests that wait are woken by what they wait for, at once, and nothing spins meanwhile."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.engine.waiting import STEPS, CountingLoop, run


@given(st.lists(st.sampled_from(STEPS), max_size=14))
@settings(max_examples=30, deadline=None)
def test_whoever_waits_is_woken_at_once_and_nothing_spins(steps: list[str]) -> None:
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(run(steps))
