"""AlterPartition: one request in flight, repeated until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from broker.core.partition import Partition
from broker.engine.serve.isr_reporter import IsrReporter, ReporterPorts
from broker.metrics import Counters
from protocol.errors import ErrorCode, MalformedAnswer
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.control import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    LeaderAndIsrPartitionState,
)
from tests.broker.engine.virtual_loop import VirtualLoop

TOPIC_ID = b"T" * 16


class Led:
    """A partition that broker 1 leads and broker 2 wants to join."""

    def __init__(self, index: int = 0) -> None:
        self.tp = TopicPartition("orders", index)
        self.topic_id = TOPIC_ID
        self.partition = Partition(self.tp, BrokerId(1))
        self.raised = 0
        self.looked = 0
        self.lead(0)

    def lead(self, leader_epoch: int) -> None:
        state = LeaderAndIsrPartitionState(
            partition_index=self.tp.partition,
            controller_epoch=1,
            leader=1,
            leader_epoch=leader_epoch,
            isr=[1],
            partition_epoch=0,
            replicas=[1, 2],
        )
        self.partition.become_leader(state, now_ms=0)
        self.partition.follower_fetched(
            BrokerId(2),
            fetch_offset=0,
            log_start_offset=0,
            broker_epoch=78,
            now_ms=0,
            lag_time_max_ms=1_000,
        )

    def propose(self) -> None:
        assert self.partition.propose_join(BrokerId(2))

    def on_high_watermark(self) -> None:
        self.raised += 1

    def on_log_start(self) -> None:
        self.looked += 1


class Controller:
    """Answers from a script of codes, then grants."""

    def __init__(self) -> None:
        self.requests: list[AlterPartitionRequest] = []
        self.asked_at_s: list[float] = []
        self.top: list[int | Exception] = []
        self.codes: list[int] = []
        self.in_flight = 0
        self.delay_s = 0.01
        self.before_answer: Callable[[], None] = lambda: None

    async def send(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        self.requests.append(request)
        self.asked_at_s.append(asyncio.get_running_loop().time())
        self.in_flight += 1
        assert self.in_flight == 1, "one request in flight"
        await asyncio.sleep(self.delay_s)
        self.in_flight -= 1
        self.before_answer()
        top = self.top.pop(0) if self.top else 0
        if isinstance(top, Exception):
            raise top
        rows = [
            AlterPartitionResponsePartitionData(
                partition_index=row.partition_index,
                error_code=self.codes.pop(0) if self.codes else 0,
                leader_id=1,
                leader_epoch=row.leader_epoch,
                isr=[member.broker_id for member in row.new_isr_with_epochs],
                partition_epoch=row.partition_epoch + 1,
            )
            for topic in request.topics
            for row in topic.partitions
        ]
        topics = (
            [] if top else [AlterPartitionResponseTopicData(topic_id=TOPIC_ID, partitions=rows)]
        )
        return AlterPartitionResponse(throttle_time_ms=0, error_code=top, topics=topics)


class Running:
    def __init__(self) -> None:
        self.controller = Controller()
        self.now_ms = 0
        self.changes: list[tuple[TopicPartition, list[int], list[int]]] = []
        self.counters = Counters()
        self.reporter = IsrReporter(
            ReporterPorts(
                broker_id=1,
                broker_epoch=lambda: 77,
                send=self.controller.send,
                isr_changed=self._changed,
                now_ms=lambda: self.now_ms,
                lag_time_max_ms=lambda: 1_000,
                refused_count=self.counters.failed_isr_updates,
            )
        )

    def _changed(self, tp: TopicPartition, old: list[int], new: list[int]) -> None:
        self.changes.append((tp, old, new))


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    made = Running()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.reporter.run())
        yield made
        task.cancel()


async def test_a_granted_change_is_taken_over_and_told(running: Running) -> None:
    led = Led()
    led.propose()
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert led.partition.isr.isr == (1, 2)
    assert led.partition.isr.partition_epoch == 1
    assert running.changes == [(led.tp, [1], [1, 2])]
    assert led.looked == 1, "who waits for a deletion may wait no longer"
    (request,) = running.controller.requests
    assert (request.broker_id, request.broker_epoch) == (1, 77)
    (row,) = request.topics[0].partitions
    assert [(one.broker_id, one.broker_epoch) for one in row.new_isr_with_epochs] == [
        (1, 77),
        (2, 78),
    ]


async def test_proposals_that_come_together_go_together(running: Running) -> None:
    several = [Led(index) for index in range(4)]
    for led in several:
        led.propose()
        running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert len(running.controller.requests) == 1
    assert all(led.partition.isr.isr == (1, 2) for led in several)


@pytest.mark.parametrize(
    "trouble",
    [
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.STALE_BROKER_EPOCH,
        ConnectionError("gone"),
        MalformedAnswer("no answer"),
        TimeoutError(),
    ],
)
async def test_a_request_that_fails_as_a_whole_is_repeated_after_50_ms(
    running: Running, trouble: int | Exception
) -> None:
    led = Led()
    led.propose()
    running.controller.top = [trouble, trouble]
    running.reporter.propose(led)
    await asyncio.sleep(0.2)
    first, second, third = running.controller.asked_at_s
    answer_s = running.controller.delay_s
    assert second - first - answer_s == pytest.approx(50 / 1000)
    assert third - second - answer_s == pytest.approx(50 / 1000)
    assert led.partition.isr.isr == (1, 2)


async def test_a_fenced_change_waits_for_leader_and_isr(running: Running) -> None:
    led = Led()
    led.propose()
    running.controller.codes = [ErrorCode.FENCED_LEADER_EPOCH]
    running.reporter.propose(led)
    await asyncio.sleep(1)
    assert len(running.controller.requests) == 1
    assert led.partition.isr.proposed == (1, 2)


async def test_an_ineligible_replica_may_be_proposed_again_later(running: Running) -> None:
    led = Led()
    led.propose()
    running.controller.codes = [ErrorCode.INELIGIBLE_REPLICA]
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert (led.partition.isr.isr, led.partition.isr.proposed) == ((1,), None)
    led.propose()
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert led.partition.isr.isr == (1, 2)


async def test_an_unexpected_error_is_asked_again(running: Running) -> None:
    led = Led()
    led.propose()
    running.controller.codes = [ErrorCode.UNKNOWN_SERVER_ERROR]
    running.reporter.propose(led)
    await asyncio.sleep(0.2)
    assert len(running.controller.requests) == 2
    assert led.partition.isr.isr == (1, 2)


async def test_an_answer_for_an_older_leader_epoch_changes_nothing(running: Running) -> None:
    led = Led()
    led.propose()
    running.controller.before_answer = lambda: led.lead(1)
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert (led.partition.isr.isr, running.changes) == ((1,), [])


async def test_a_partition_led_no_more_is_not_reported(running: Running) -> None:
    led = Led()
    led.propose()
    running.reporter.propose(led)
    led.partition.is_leader = False
    await asyncio.sleep(0.1)
    assert running.controller.requests == []


async def test_each_refusal_of_a_change_is_counted_and_a_request_that_fails_whole_is_not(
    running: Running,
) -> None:
    led = Led()
    led.propose()
    running.controller.top = [ErrorCode.NOT_CONTROLLER]
    refusals = [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_UPDATE_VERSION]
    running.controller.codes = [ErrorCode.NONE, *refusals]  # The first one goes with the failure.
    running.reporter.propose(led)
    await asyncio.sleep(0.3)
    assert len(running.controller.requests) == 3
    assert running.counters.failed_isr_updates.value == 2


@pytest.mark.parametrize(
    ("trouble", "words"),
    [(ConnectionError("cut off"), "cut off"), (ErrorCode.NOT_CONTROLLER, "NOT_CONTROLLER")],
)
async def test_a_controller_that_answers_no_request_is_said_once_each_time_it_begins(
    running: Running,
    caplog: pytest.LogCaptureFixture,
    trouble: int | Exception,
    words: str,
) -> None:
    led = Led()
    running.controller.top = [trouble, trouble, 0, trouble, 0]
    with caplog.at_level("INFO", "broker.engine.serve.isr_reporter"):
        led.propose()
        running.reporter.propose(led)
        await asyncio.sleep(10)
        assert len(running.controller.requests) == 3
        (said,) = caplog.messages
        assert said.startswith("AlterPartition is repeated every 50 ms: ")
        assert said.endswith(words)
        led.lead(1)
        led.propose()
        running.reporter.propose(led)
        await asyncio.sleep(10)
    assert len(running.controller.requests) == 5
    assert caplog.messages == [said, said]


async def test_where_there_is_nothing_to_send_nobody_waits_to_send_it_again(
    running: Running,
) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    led = Led()
    led.propose()
    running.reporter.propose(led)
    led.partition.isr = replace(led.partition.isr, proposed=None)  # A LeaderAndIsr came.
    await asyncio.sleep(0.01)
    assert loop.timers_count == 0
    assert running.controller.requests == []


async def test_a_change_that_is_proposed_after_another_was_granted_is_sent_at_once(
    running: Running,
) -> None:
    granted, next_one = Led(0), Led(1)
    granted.propose()
    running.reporter.propose(granted)
    await asyncio.sleep(0.0101)
    assert granted.partition.isr.isr == (1, 2)
    next_one.propose()
    running.reporter.propose(next_one)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(running.controller.requests) == 2


async def test_a_leader_that_was_elected_cleanly_says_that_it_has_recovered(
    running: Running,
) -> None:
    led = Led()
    led.propose()
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    (row,) = running.controller.requests[0].topics[0].partitions
    assert row.leader_recovery_state == 0


async def test_readers_are_woken_where_an_isr_without_the_slowest_raises_the_high_watermark(
    running: Running,
) -> None:
    led = Led()
    led.propose()
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    led.partition.assign_offsets(3)
    led.partition.leader_appended(3, now_ms=0, lag_time_max_ms=1_000)
    assert (led.partition.high_watermark, led.raised) == (0, 0)
    running.now_ms = 5_000
    assert led.partition.propose_shrink(now_ms=5_000, lag_time_max_ms=1_000)
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert (led.partition.high_watermark, led.raised) == (3, 1)


async def test_an_answer_that_is_older_than_what_the_leader_knows_is_told_nobody(
    running: Running,
) -> None:
    led = Led()
    led.propose()

    def learn_more() -> None:
        led.partition.isr = replace(led.partition.isr, partition_epoch=9)

    running.controller.before_answer = learn_more
    running.reporter.propose(led)
    await asyncio.sleep(0.1)
    assert (running.changes, led.looked) == ([], 0)
