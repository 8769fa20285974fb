"""Questions on their way to coordinators; how leaders use them is in test_verifier."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from broker.coordinators.broker_channels import ChannelPorts
from broker.coordinators.verification_channels import VerificationChannels
from broker.core.transaction_state.verifying import VerificationAsked, Verifying
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from protocol.topic_names import TRANSACTION_STATE
from tests.broker.coordinators.asking import until
from tests.broker.coordinators.marked_cluster import Cluster

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class Coordinator:
    """Answers with one code at the top, when it may."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, bool]]] = []
        self.code = ErrorCode.NONE
        self.says: dict[str, dict[TopicPartition, ErrorCode]] = {}
        """By transactional id."""
        self.failure: Exception | None = None
        self.may_answer = asyncio.Event()

    async def request(
        self, message: AddPartitionsToTxnRequest, version: int, *, timeout_ms: int | None = None
    ) -> AddPartitionsToTxnResponse:
        del version, timeout_ms
        self.asked.append([(one.transactional_id, one.verify_only) for one in message.transactions])
        await self.may_answer.wait()
        if self.failure is not None:
            raise self.failure
        return AddPartitionsToTxnResponse(
            error_code=self.code,
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=name,
                    topic_results=[
                        AddPartitionsToTxnTopicResult(
                            name=tp.topic,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(
                                    partition_index=tp.partition, partition_error_code=code
                                )
                            ],
                        )
                        for tp, code in codes.items()
                    ],
                )
                for name, codes in self.says.items()
            ],
        )

    def close(self) -> None:
        return None


def asked(name: str, how: Verifying = Verifying.FOR_NEW_CLIENT) -> VerificationAsked:
    return VerificationAsked(name, 7, 0, (A0, A1), how)


def channels(cluster: Cluster, coordinator: Coordinator) -> VerificationChannels:
    ports = ChannelPorts(
        metadata=cluster.metadata,
        connect=lambda _host, _port: coordinator,
        request_timeout_ms=lambda: 1_000,
    )
    return VerificationChannels(ports)


async def test_a_request_has_all_that_waited_and_leaves_adding_to_who_asks_for_it() -> None:
    cluster, coordinator = Cluster(), Coordinator()
    cluster.tell({TopicPartition(TRANSACTION_STATE, 0): 2}, topic=TRANSACTION_STATE)
    made = channels(cluster, coordinator)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(made))
        first = tasks.create_task(made.ask(asked("one")))
        await until(lambda: len(coordinator.asked) == 1)
        others = [
            tasks.create_task(made.ask(asked("two"))),
            tasks.create_task(made.ask(asked("three", Verifying.ADDING))),
        ]
        coordinator.code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        coordinator.may_answer.set()
        codes = [await each for each in (first, *others)]
        running.cancel()
    assert coordinator.asked == [[("one", True)], [("two", True), ("three", False)]]
    assert codes == [dict.fromkeys((A0, A1), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)] * 3


async def _run(made: VerificationChannels) -> None:
    async with asyncio.TaskGroup() as tasks:
        made.run(tasks)
        await asyncio.Event().wait()


async def test_nobody_is_asked_where_there_is_no_coordinator() -> None:
    cluster, coordinator = Cluster(), Coordinator()
    made = channels(cluster, coordinator)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(made))
        await asyncio.sleep(0)
        assert set((await made.ask(asked("one"))).values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        running.cancel()
    assert coordinator.asked == []


@pytest.fixture
async def cluster() -> Cluster:
    cluster = Cluster()
    cluster.tell({TopicPartition(TRANSACTION_STATE, 0): 2}, topic=TRANSACTION_STATE)
    return cluster


async def told(
    cluster: Cluster, coordinator: Coordinator, *questions: VerificationAsked
) -> list[dict[TopicPartition, ErrorCode]]:
    made = channels(cluster, coordinator)
    coordinator.may_answer.set()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(made))
        await asyncio.sleep(0)
        codes = await asyncio.gather(*(made.ask(each) for each in questions))
        running.cancel()
    return list(codes)


async def test_each_partition_has_the_code_that_came_for_it(cluster: Cluster) -> None:
    coordinator = Coordinator()
    abortable = ErrorCode.TRANSACTION_ABORTABLE
    coordinator.says = {
        "one": {A0: ErrorCode.NONE, A1: abortable},
        "two": {A0: abortable, A1: ErrorCode.PRODUCER_FENCED},
    }
    codes = await told(
        cluster, coordinator, asked("one"), asked("two", Verifying.FOR_OLD_CLIENT), asked("three")
    )
    network = ErrorCode.NETWORK_EXCEPTION
    assert codes == [
        {A0: ErrorCode.NONE, A1: abortable},
        {A0: ErrorCode.INVALID_TXN_STATE, A1: ErrorCode.INVALID_PRODUCER_EPOCH},
        {A0: network, A1: network},
    ]


async def test_a_partition_of_which_an_answer_says_nothing_is_not_confirmed(
    cluster: Cluster,
) -> None:
    coordinator = Coordinator()
    coordinator.says = {"one": {A0: ErrorCode.NONE}}
    (codes,) = await told(cluster, coordinator, asked("one"))
    assert codes == {A0: ErrorCode.NONE, A1: ErrorCode.NETWORK_EXCEPTION}


@pytest.mark.parametrize("failure", [ConnectionError("gone"), TimeoutError("late")])
async def test_who_gets_no_answer_knows_nothing_and_the_next_one_is_asked(
    cluster: Cluster, failure: Exception
) -> None:
    coordinator = Coordinator()
    coordinator.failure = failure
    (codes,) = await told(cluster, coordinator, asked("one"))
    assert codes == dict.fromkeys((A0, A1), ErrorCode.NETWORK_EXCEPTION)


async def test_of_a_transaction_the_newest_question_is_asked_and_the_others_are_answered(
    cluster: Cluster,
) -> None:
    coordinator = Coordinator()
    coordinator.says = {"one": dict.fromkeys((A0, A1), ErrorCode.NONE)}
    newest = replace(asked("one"), producer_epoch=1)
    codes = await told(cluster, coordinator, asked("one"), newest, asked("one"))
    fenced = dict.fromkeys((A0, A1), ErrorCode.INVALID_PRODUCER_EPOCH)
    assert codes == [fenced, dict.fromkeys((A0, A1), ErrorCode.NONE), fenced]
    assert coordinator.asked == [[("one", True)]]


async def test_who_waits_when_the_broker_ends_is_told_and_nobody_is_asked_after_that(
    cluster: Cluster,
) -> None:
    coordinator = Coordinator()
    made = channels(cluster, coordinator)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(made))
        await asyncio.sleep(0)
        waiting = tasks.create_task(made.ask(asked("one")))
        await until(lambda: len(coordinator.asked) == 1)
        made.stop()
        assert set((await waiting).values()) == {ErrorCode.NETWORK_EXCEPTION}
        late = await made.ask(asked("two"))
        assert set(late.values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        running.cancel()
    assert len(coordinator.asked) == 1


async def test_who_was_answered_right_before_the_broker_ends_keeps_its_answer(
    cluster: Cluster,
) -> None:
    coordinator = Coordinator()
    made = channels(cluster, coordinator)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_run(made))
        await asyncio.sleep(0)
        older = tasks.create_task(made.ask(asked("one")))
        newer = tasks.create_task(made.ask(replace(asked("one"), producer_epoch=1)))
        # In the turn in which it asks, the newer one has the older one answered.
        asyncio.get_running_loop().call_soon(made.stop)
        fenced = dict.fromkeys((A0, A1), ErrorCode.INVALID_PRODUCER_EPOCH)
        assert await older == fenced
        assert set((await newer).values()) == {ErrorCode.NETWORK_EXCEPTION}
        running.cancel()


async def test_a_coordinator_whose_broker_is_not_there_is_not_asked(cluster: Cluster) -> None:
    coordinator = Coordinator()
    cluster.live = (1,)
    cluster.tell({TopicPartition(TRANSACTION_STATE, 0): 2}, topic=TRANSACTION_STATE)
    (codes,) = await told(cluster, coordinator, asked("one"))
    assert set(codes.values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert coordinator.asked == []
