"""The throttle of moves goes when the last move ends; a permanent one stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.move_throttles import MoveThrottles
from protocol.configs.names import MOVE_RATE
from protocol.messages.configs import IncrementalAlterConfigsRequest
from tests.broker.fake_controller import FakeController

REMOVE = "jbodlab.reassignment.throttles.remove"


class Lab:
    def __init__(self, link: ControllerLink, controller: FakeController) -> None:
        self.controller = controller
        self.is_moving = False
        self.configs = BrokerConfigs(link, broker_id=1, static={}, on_changed=lambda _config: None)
        self.throttles = MoveThrottles(
            link, self.configs, broker_id=1, is_moving=lambda: self.is_moving
        )

    @property
    def asked(self) -> list[IncrementalAlterConfigsRequest]:
        return self.controller.of(IncrementalAlterConfigsRequest)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        await self.configs.refresh()
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self.throttles.run())
            yield
            task.cancel()


@pytest.fixture
def lab(link: ControllerLink, controller: FakeController) -> Lab:
    return Lab(link, controller)


async def test_it_is_taken_off_when_the_last_move_has_ended(lab: Lab) -> None:
    lab.controller.broker_configs = {"1": {MOVE_RATE: "1000", "cordoned.log.dirs": "/d1"}}
    async with lab.running():
        lab.throttles.moves_ended()
        await lab.controller.until(lambda: len(lab.asked) > 0)
    (resource,) = lab.asked[0].resources
    assert (resource.resource_type, resource.resource_name) == (4, "1")
    assert [(one.name, one.config_operation) for one in resource.configs] == [(MOVE_RATE, 1)]
    assert lab.controller.broker_configs["1"] == {"cordoned.log.dirs": "/d1"}


async def test_a_controller_whose_answer_cannot_be_read_is_asked_again(lab: Lab) -> None:
    lab.controller.broker_configs = {"1": {MOVE_RATE: "1000"}}
    lab.controller.garbled[IncrementalAlterConfigsRequest] = 1
    async with lab.running():
        lab.throttles.moves_ended()
        await lab.controller.until(lambda: len(lab.asked) == 2)


async def test_a_controller_that_is_away_is_asked_again(lab: Lab) -> None:
    lab.controller.broker_configs = {"1": {MOVE_RATE: "1000"}}
    async with lab.running():
        await lab.controller.stop()
        lab.throttles.moves_ended()
        await lab.controller.start()
        await lab.controller.until(lambda: len(lab.asked) > 0)


async def test_the_broker_hears_of_its_configs_while_the_controller_has_not_answered(
    lab: Lab,
) -> None:
    lab.controller.broker_configs = {"1": {MOVE_RATE: "1000"}}
    gate = lab.controller.held[IncrementalAlterConfigsRequest] = asyncio.Event()
    async with lab.running():
        lab.throttles.moves_ended()
        await lab.controller.until(lambda: len(lab.asked) > 0)
        lab.controller.broker_configs = {}
        await lab.configs.refresh()
        assert MOVE_RATE not in lab.configs.overrides.dynamic
        gate.set()


@pytest.mark.parametrize(
    ("configs", "is_moving"),
    [
        ({"": {MOVE_RATE: "1000"}}, False),
        ({"1": {MOVE_RATE: "1000"}}, True),
        ({"1": {MOVE_RATE: "1000", REMOVE: "false"}}, False),
    ],
    ids=["set for all brokers", "moves go on", "removal switched off"],
)
async def test_it_stays(lab: Lab, configs: dict[str, dict[str, str]], is_moving: bool) -> None:
    lab.controller.broker_configs = configs
    await lab.configs.refresh()
    lab.is_moving = is_moving
    await lab.throttles._take_off()  # pyright: ignore[reportPrivateUsage] - what a wake ends in
    assert lab.asked == []
