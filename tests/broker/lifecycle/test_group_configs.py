"""Settings of groups: fetched whole, effective within this broker's bounds."""

from __future__ import annotations

import asyncio

import pytest

from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.group_configs import GroupConfigs
from protocol.configs.parsing import broker_config
from protocol.messages.configs import DescribeConfigsRequest, ListConfigResourcesRequest
from tests.broker.fake_controller import DEADLINE_S, FakeController

SESSION = "consumer.session.timeout.ms"


@pytest.fixture
def configs(link: ControllerLink) -> GroupConfigs:
    return GroupConfigs(link, broker_config=broker_config({}))


async def test_a_group_has_its_own_settings_and_the_brokers(
    controller: FakeController, configs: GroupConfigs
):
    controller.group_configs = {"a": {SESSION: "50000"}}
    await configs.refresh()
    assert configs.groups() == ["a"]
    assert configs.overrides("a") == {SESSION: "50000"}
    assert configs.overrides("b") == {}
    assert configs.config_of("a").consumer_session_timeout_ms == 50_000
    assert configs.config_of("a").consumer_heartbeat_interval_ms == 5_000
    assert configs.config_of("b").consumer_session_timeout_ms == 45_000


async def test_without_groups_that_have_any_nothing_more_is_asked(
    controller: FakeController, configs: GroupConfigs
):
    await configs.refresh()
    assert len(controller.of(ListConfigResourcesRequest)) == 1
    assert controller.of(DescribeConfigsRequest) == []


async def test_settings_that_were_taken_away_are_gone(
    controller: FakeController, configs: GroupConfigs
):
    controller.group_configs = {"a": {SESSION: "50000"}}
    await configs.refresh()
    controller.group_configs = {}
    await configs.refresh()
    assert configs.groups() == []
    assert configs.config_of("a").consumer_session_timeout_ms == 45_000


async def test_new_bounds_of_the_broker_hold_for_what_was_set_before(
    controller: FakeController, configs: GroupConfigs
):
    controller.group_configs = {"a": {SESSION: "50000"}}
    await configs.refresh()
    configs.rebase(broker_config({"group.consumer.max.session.timeout.ms": "48000"}))
    assert configs.config_of("a").consumer_session_timeout_ms == 48_000
    assert configs.overrides("a") == {SESSION: "50000"}


async def test_a_value_that_nobody_understands_leaves_the_group_its_defaults(
    controller: FakeController, configs: GroupConfigs, caplog: pytest.LogCaptureFixture
):
    controller.group_configs = {"a": {SESSION: "soon"}}
    await configs.refresh()
    assert configs.config_of("a").consumer_session_timeout_ms == 45_000
    assert "configs of group a are unusable" in caplog.text


async def test_a_controller_that_is_away_is_asked_again(
    controller: FakeController, configs: GroupConfigs
):
    controller.group_configs = {"a": {SESSION: "50000"}}
    await controller.stop()
    await configs.refresh()
    assert configs.groups() == []
    await controller.start()
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(configs.run())
        await controller.until(lambda: bool(controller.of(DescribeConfigsRequest)))
        await configs.refresh()
        asking.cancel()
    assert configs.groups() == ["a"]
