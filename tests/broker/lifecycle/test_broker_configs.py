"""A broker's configuration: the file, overlaid with what the controller keeps, asked for again."""

from __future__ import annotations

import asyncio
import logging

import pytest

from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.controller_link import ControllerLink
from protocol.configs.parsing import BrokerConfig
from protocol.errors import ErrorCode
from protocol.messages.configs import DescribeConfigsRequest
from tests.broker.fake_controller import DEADLINE_S, FakeController

SEGMENT = "log.segment.bytes"


class Lab:
    def __init__(self, link: ControllerLink) -> None:
        self.told: list[BrokerConfig] = []
        self.heard = asyncio.Event()
        self.configs = BrokerConfigs(
            link,
            broker_id=1,
            static={SEGMENT: "5000", "log.dirs": "/d1,/d2"},
            on_changed=self.on_changed,
        )

    def on_changed(self, config: BrokerConfig) -> None:
        self.told.append(config)
        self.heard.set()


@pytest.fixture
def lab(link: ControllerLink) -> Lab:
    return Lab(link)


async def test_the_file_counts_until_the_controller_says_more(controller: FakeController, lab: Lab):
    assert lab.configs.config.log_segment_bytes == 5_000
    await lab.configs.refresh()
    assert lab.told == []
    (request,) = controller.of(DescribeConfigsRequest)
    assert [(one.resource_type, one.resource_name) for one in request.resources] == [
        (4, "1"),
        (4, ""),
    ]


async def test_its_own_settings_go_before_everyones_before_the_file(
    controller: FakeController, lab: Lab
):
    controller.broker_configs[""] = {SEGMENT: "6000"}
    await lab.configs.refresh()
    assert lab.configs.config.log_segment_bytes == 6_000
    controller.broker_configs["1"] = {SEGMENT: "7000"}
    await lab.configs.refresh()
    assert lab.configs.config.log_segment_bytes == 7_000
    controller.broker_configs.clear()
    await lab.configs.refresh()
    assert lab.configs.config.log_segment_bytes == 5_000
    assert [config.log_segment_bytes for config in lab.told] == [6_000, 7_000, 5_000]


async def test_where_values_come_from_is_known(controller: FakeController, lab: Lab):
    controller.broker_configs = {"": {SEGMENT: "6000"}, "1": {"cordoned.log.dirs": "/d2"}}
    await lab.configs.refresh()
    assert lab.configs.overrides.dynamic == {"cordoned.log.dirs": "/d2"}
    assert lab.configs.overrides.dynamic_default == {SEGMENT: "6000"}
    assert lab.configs.overrides.static[SEGMENT] == "5000"


async def test_nobody_is_told_when_the_values_stay(controller: FakeController, lab: Lab):
    controller.broker_configs["1"] = {SEGMENT: "5000"}
    await lab.configs.refresh()
    assert lab.told == []
    assert lab.configs.overrides.dynamic == {SEGMENT: "5000"}


async def test_a_controller_that_is_away_is_asked_again(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    controller.broker_configs["1"] = {SEGMENT: "7000"}
    await controller.stop()
    await lab.configs.refresh()
    assert "not known yet" in caplog.text
    assert lab.configs.config.log_segment_bytes == 5_000
    await controller.start()
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(lab.configs.run())
        async with asyncio.timeout(DEADLINE_S):
            await lab.heard.wait()
        task.cancel()
    assert lab.configs.config.log_segment_bytes == 7_000


async def test_unusable_settings_leave_the_last_ones_in_force(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    controller.broker_configs["1"] = {SEGMENT: "many"}
    await lab.configs.refresh()
    assert "unusable" in caplog.text
    assert lab.configs.config.log_segment_bytes == 5_000
    assert lab.configs.overrides.dynamic == {}


async def test_a_password_that_changed_is_not_logged(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    controller.broker_configs["1"] = {"ssl.key.password": "sesame", SEGMENT: "6000"}
    await lab.configs.refresh()
    assert lab.configs.config.ssl_key_password == "sesame"
    assert "log.segment.bytes 5000 -> 6000" in caplog.text
    assert "ssl.key.password is another one" in caplog.text
    assert "sesame" not in caplog.text


async def test_a_controller_that_refuses_is_logged(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    controller.describe_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    await lab.configs.refresh()
    assert "CLUSTER_AUTHORIZATION_FAILED" in caplog.text


async def test_a_cordon_outlives_the_log_dir_that_it_names(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    controller.broker_configs["1"] = {"cordoned.log.dirs": "/d1,/removed"}
    await lab.configs.refresh()
    assert lab.configs.config.cordoned_log_dirs == ("/d1",)
    assert "no log dir any more: /removed" in caplog.text
    controller.broker_configs["1"] = {"cordoned.log.dirs": "*"}
    await lab.configs.refresh()
    assert lab.configs.config.cordoned_log_dirs == ("*",)
