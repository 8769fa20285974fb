"""The engine's news reach the session, the settings, the counters and the process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

from broker.engine.types import FailedLogDir
from broker.lifecycle.broker_configs import BrokerConfigs
from broker.lifecycle.controller_link import ControllerLink
from broker.lifecycle.engine_events import EngineEventRelay
from broker.lifecycle.move_throttles import MoveThrottles
from broker.lifecycle.session import ControllerSession, SessionPorts
from broker.lifecycle.topic_configs import TopicConfigs
from broker.metrics import Metrics
from protocol.configs.parsing import broker_config
from protocol.ids import TopicPartition
from protocol.messages.configs import DescribeConfigsRequest
from protocol.messages.journal import JournalReport
from tests.broker.fake_controller import FakeController

FAILED = FailedLogDir(
    path="/d1",
    directory_id=bytes([1] * 16),
    operation="append",
    cause="eio",
    offline_replica_count=1,
)


class FakeClock:
    def now_ms(self) -> int:
        return 1


async def _nothing() -> None:
    return


class Coordinators:
    def __init__(self) -> None:
        self.told: list[object] = []

    def leads_internal(self, tp: TopicPartition, leader_epoch: int) -> None:
        self.told.append((tp, leader_epoch))

    def leads_internal_no_more(self, tp: TopicPartition) -> None:
        self.told.append(tp)

    def partitions_deleted(self, tps: Sequence[TopicPartition]) -> None:
        self.told.append(list(tps))


class Lab:
    def __init__(self, link: ControllerLink) -> None:
        self.metrics = Metrics(1)
        self.ends = 0
        session = ControllerSession(
            link,
            SessionPorts(
                clock=FakeClock(),
                random=Random(1),
                emit=self.metrics.record,
                online_directory_ids=list,
                cordoned_directory_ids=list,
                registered=_nothing,
                unfenced=lambda: None,
                unreported=lambda: None,
                journal_report=lambda _with_replicas: JournalReport(),
            ),
            broker_id=1,
            heartbeat_interval_ms=1_000,
            failure_timeout_ms=60_000,
        )
        self.topic_configs = TopicConfigs(
            link, broker_config=broker_config({}), on_changed=lambda _topics: None
        )
        configs = BrokerConfigs(link, broker_id=1, static={}, on_changed=lambda _config: None)
        throttles = MoveThrottles(link, configs, broker_id=1, is_moving=lambda: False)
        self.coordinators = Coordinators()
        self.relay = EngineEventRelay(
            session, self.topic_configs, self.metrics, throttles, self.coordinators, self.end
        )

    def end(self) -> None:
        self.ends += 1


async def test_a_failed_log_dir_is_counted(link: ControllerLink):
    lab = Lab(link)
    lab.relay.log_dir_failed(FAILED)
    assert lab.metrics.counters.log_dir_failures.value == 1
    assert lab.metrics.log_dir("/d1").offline.value == 1
    assert lab.ends == 0


async def test_the_last_log_dir_ends_the_process(link: ControllerLink):
    lab = Lab(link)
    lab.relay.last_log_dir_failed(FAILED)
    assert lab.ends == 1


async def test_isr_changes_are_counted_by_direction(link: ControllerLink):
    lab = Lab(link)
    lab.relay.isr_changed(TopicPartition("t", 0), [1, 2], [1])
    lab.relay.isr_changed(TopicPartition("t", 0), [1], [1, 2])
    lab.relay.isr_changed(TopicPartition("t", 0), [1, 2], [1, 2, 3])
    assert (lab.metrics.counters.isr_shrinks.value, lab.metrics.counters.isr_expands.value) == (
        1,
        2,
    )


async def test_new_topics_are_wanted_without_waiting(
    controller: FakeController, link: ControllerLink
):
    lab = Lab(link)
    lab.relay.topics_seen(["orders"])
    assert controller.of(DescribeConfigsRequest) == []
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(lab.topic_configs.run())
        await controller.until(lambda: len(controller.of(DescribeConfigsRequest)) > 0)
        task.cancel()
    (resource,) = controller.of(DescribeConfigsRequest)[0].resources
    assert resource.resource_name == "orders"


async def test_coordinators_hear_what_this_broker_leads_and_which_partitions_are_no_more(
    link: ControllerLink,
):
    lab, tp = Lab(link), TopicPartition("__consumer_offsets", 3)
    lab.relay.leads_internal(tp, 7)
    lab.relay.leads_internal_no_more(tp)
    lab.relay.partitions_deleted([TopicPartition("t", 0)])
    assert lab.coordinators.told == [(tp, 7), tp, [TopicPartition("t", 0)]]
