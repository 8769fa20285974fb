"""Questions on their way to coordinators; how leaders use them is in test_verifier."""

from __future__ import annotations

import asyncio

from broker.coordinators.broker_channels import ChannelPorts
from broker.coordinators.verification_channels import VerificationChannels
from broker.core.transaction_state.verifying import VerificationAsked, Verifying
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from protocol.topic_names import TRANSACTION_STATE
from tests.broker.coordinators.asking import until
from tests.broker.coordinators.marked_cluster import Cluster

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class Coordinator:
    """Answers with one code at the top, when it may."""

    def __init__(self) -> None:
        self.asked: list[list[tuple[str, bool]]] = []
        self.code = ErrorCode.NONE
        self.may_answer = asyncio.Event()

    async def request(
        self, message: AddPartitionsToTxnRequest, version: int, *, timeout_ms: int | None = None
    ) -> AddPartitionsToTxnResponse:
        del version, timeout_ms
        self.asked.append([(one.transactional_id, one.verify_only) for one in message.transactions])
        await self.may_answer.wait()
        return AddPartitionsToTxnResponse(error_code=self.code)

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
