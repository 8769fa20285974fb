"""When caches of configurations ask the controller."""

from __future__ import annotations

import asyncio

import pytest

from broker.lifecycle.fetched_configs import FetchedConfigs
from tests.broker.fake_controller import DEADLINE_S


class Asked(FetchedConfigs):
    """Counts questions; the first ``failures`` of them are not answered."""

    def __init__(self, failures: int) -> None:
        super().__init__("configs of nobody")
        self.count = 0
        self.answered = asyncio.Event()
        self._failures = failures

    async def _fetch(self) -> None:
        self.count += 1
        if self.count <= self._failures:
            raise TimeoutError("nobody answers")
        self.answered.set()


async def until_answered(configs: Asked) -> None:
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(configs.run())
        async with asyncio.timeout(DEADLINE_S):
            await configs.answered.wait()
        running.cancel()


async def test_who_is_told_that_configs_changed_asks_once() -> None:
    configs = Asked(failures=0)
    configs.changed()
    configs.changed()
    await until_answered(configs)
    assert configs.count == 1


async def test_what_a_refresh_does_not_get_is_asked_for_until_it_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    configs = Asked(failures=2)
    await configs.refresh()
    assert "configs of nobody not known yet: nobody answers" in caplog.text
    await until_answered(configs)
    assert configs.count == 3
