"""Topic configs: fetched once, again when told, defaults while the controller is away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from broker.core.isr import effective_min_insync_replicas
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.topic_configs import TopicConfigs
from protocol.configs.parsing import broker_config
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID
from protocol.messages.configs import DescribeConfigsRequest
from tests.broker.fake_controller import DEADLINE_S, FakeController


class Lab:
    def __init__(self, link: ControllerLink) -> None:
        self.told: list[list[str]] = []
        self.heard = asyncio.Event()
        self.configs = TopicConfigs(
            link,
            broker_config=broker_config({"log.segment.bytes": "5000"}),
            on_changed=self.on_changed,
        )

    def on_changed(self, topics: list[str]) -> None:
        self.told.append(topics)
        self.heard.set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[TopicConfigs]:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self.configs.run())
            yield self.configs
            task.cancel()

    async def until_told(self) -> None:
        async with asyncio.timeout(DEADLINE_S):
            await self.heard.wait()


@pytest.fixture
def lab(link: ControllerLink) -> Lab:
    return Lab(link)


async def test_nothing_of_a_topic_goes_before_its_settings_are_known(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {}
    for defaults in ({}, {"log.retention.ms": "1", "log.cleanup.policy": "compact"}):
        lab.configs.rebase(broker_config(defaults))
        unknown = lab.configs.config_of("orders")
        assert (unknown.retention_ms, unknown.retention_bytes) == (-1, -1)
        assert unknown.cleanup_policy == ("delete",)
    await lab.configs.ensure(["orders"])
    assert lab.configs.config_of("orders").retention_ms == 1


async def test_all_replicas_have_to_be_in_sync_before_its_settings_are_known(
    controller: FakeController, lab: Lab
):
    """Seed 681962: a leader that could not ask took one copy for enough."""
    controller.configs["orders"] = {}
    wanted = lab.configs.config_of("orders").min_insync_replicas
    assert effective_min_insync_replicas(wanted, replica_count=3) == 3
    await lab.configs.ensure(["orders"])
    assert lab.configs.config_of("orders").min_insync_replicas == 1


async def test_a_topic_has_its_own_settings_over_the_brokers_defaults(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {"min.insync.replicas": "2"}
    await lab.configs.ensure(["orders"])
    config = lab.configs.config_of("orders")
    assert (config.min_insync_replicas, config.segment_bytes) == (2, 5_000)
    assert config.retention_ms != 1, "the controller's defaults are not the topic's own"
    assert lab.told == [["orders"]]


async def test_what_is_known_is_not_asked_again(controller: FakeController, lab: Lab):
    controller.configs["orders"] = {}
    await lab.configs.ensure(["orders"])
    await lab.configs.ensure(["orders"])
    assert await lab.configs.overrides("orders") == {}
    assert len(controller.of(DescribeConfigsRequest)) == 1
    assert lab.told == [["orders"]], "known from now on"


async def test_changed_settings_are_fetched_again_in_the_background(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {}
    await lab.configs.ensure(["orders"])
    lab.heard.clear()
    controller.configs["orders"] = {"segment.bytes": "9000"}
    async with lab.running() as configs:
        configs.wanted(["orders"])
        configs.changed(["orders"])
        await lab.until_told()
        assert configs.config_of("orders").segment_bytes == 9_000


async def test_a_forgotten_topic_is_asked_anew(controller: FakeController, lab: Lab):
    controller.configs["orders"] = {"segment.bytes": "9000"}
    await lab.configs.ensure(["orders"])
    lab.configs.forget(["orders"])
    assert lab.configs.config_of("orders").segment_bytes == 5_000
    controller.configs["orders"] = {"segment.bytes": "7000"}
    await lab.configs.ensure(["orders"])
    assert lab.configs.config_of("orders").segment_bytes == 7_000


async def test_an_older_topics_settings_are_asked_anew_in_the_background(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {"segment.bytes": "9000"}
    lab.configs.identify({"orders": b"first"})
    await lab.configs.ensure(["orders"])
    lab.heard.clear()
    controller.configs["orders"] = {"segment.bytes": "7000"}
    lab.configs.identify({"orders": b"first"})
    lab.configs.identify({"orders": ZERO_UUID})
    assert lab.configs.config_of("orders").segment_bytes == 9_000
    async with lab.running() as configs:
        configs.identify({"orders": b"second"})
        assert configs.config_of("orders").segment_bytes == 5_000
        await lab.until_told()
        assert configs.config_of("orders").segment_bytes == 7_000


async def test_what_is_wanted_of_a_topic_stays_so_when_its_id_is_heard(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {"segment.bytes": "9000"}
    lab.configs.wanted(["orders"])
    lab.configs.identify({"orders": b"first"})
    async with lab.running() as configs:
        await lab.until_told()
        assert configs.config_of("orders").segment_bytes == 9_000


async def _ask_and_meanwhile(lab: Lab, happens: Callable[[], None]) -> None:
    """Ask for the settings of orders, and let something happen before their answer comes."""
    async with asyncio.TaskGroup() as tasks, asyncio.timeout(DEADLINE_S):
        asked = tasks.create_task(lab.configs.ensure(["orders"]))
        await asyncio.sleep(0)
        happens()
        await asked


async def test_an_answer_about_an_older_topic_is_asked_for_again(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {"segment.bytes": "9000"}
    lab.configs.identify({"orders": b"first"})
    await _ask_and_meanwhile(lab, lambda: lab.configs.identify({"orders": b"second"}))
    assert lab.configs.config_of("orders").segment_bytes == 5_000
    controller.configs["orders"] = {"segment.bytes": "7000"}
    async with lab.running() as configs:
        await lab.until_told()
        assert configs.config_of("orders").segment_bytes == 7_000


async def test_an_answer_about_a_topic_that_is_gone_is_not_kept(
    controller: FakeController, lab: Lab
):
    controller.configs["orders"] = {"segment.bytes": "9000"}
    lab.configs.identify({"orders": b"first"})
    await _ask_and_meanwhile(lab, lambda: lab.configs.forget(["orders"]))
    assert lab.configs.config_of("orders").segment_bytes == 5_000
    assert not lab.told


async def test_without_a_controller_defaults_serve_until_it_is_back(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    controller.configs["orders"] = {"segment.bytes": "9000"}
    await controller.stop()
    await lab.configs.ensure(["orders"])
    assert "using defaults" in caplog.text
    assert lab.configs.config_of("orders").segment_bytes == 5_000
    with pytest.raises(KafkaError) as error:
        await lab.configs.overrides("orders")
    assert error.value.code is ErrorCode.REQUEST_TIMED_OUT
    await controller.start()
    async with lab.running() as configs:
        await lab.until_told()
        assert configs.config_of("orders").segment_bytes == 9_000


async def test_an_unknown_topic_has_the_controllers_code(lab: Lab):
    with pytest.raises(KafkaError) as error:
        await lab.configs.overrides("nothing")
    assert error.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_unusable_settings_leave_the_last_ones_in_force(
    controller: FakeController, lab: Lab, caplog: pytest.LogCaptureFixture
):
    controller.configs["orders"] = {"segment.bytes": "many"}
    await lab.configs.ensure(["orders"])
    assert lab.configs.config_of("orders").segment_bytes == 5_000
    assert "unusable" in caplog.text
