"""What contracts say of wrong rules where leaders ask about transactions."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.coordinators.broker_channels import ChannelPorts
from broker.coordinators.verification_channels import Codes, VerificationChannels
from broker.coordinators.verifier import Verifier, _Outcome, _Wanted
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.verifying import VerificationAsked, Verifying
from broker.core.verification import VerificationGuard
from broker.engine.types import ProducePart
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
from tests.broker.coordinators.marked_cluster import A0, A1, Cluster
from tests.broker.engine.messages import records
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
ANSWER: Final = "VerificationChannels._answer"
ASK: Final = "VerificationChannels.ask"
ASK_ONCE: Final = "Verifier._ask_once"
HOW: Final = Verifying.FOR_NEW_CLIENT


class Coordinator:
    """Says of the first partition that it is in the transaction, and nothing of the others."""

    async def request(
        self, message: AddPartitionsToTxnRequest, version: int, *, timeout_ms: int | None = None
    ) -> AddPartitionsToTxnResponse:
        del message, version, timeout_ms
        row = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=0)
        topic = AddPartitionsToTxnTopicResult(name="a", results_by_partition=[row])
        result = AddPartitionsToTxnResult(transactional_id="pay", topic_results=[topic])
        return AddPartitionsToTxnResponse(results_by_transaction=[result])

    def close(self) -> None:
        """Nothing is open."""


def told(use: Callable[[VerificationChannels], Awaitable[object]]) -> Callable[[], object]:
    """Run what leaders do while a coordinator answers them."""

    async def run() -> None:
        cluster = Cluster()
        cluster.tell({TopicPartition(TRANSACTION_STATE, 0): 2}, topic=TRANSACTION_STATE)
        ports = ChannelPorts(
            metadata=cluster.metadata,
            connect=lambda _host, _port: Coordinator(),
            request_timeout_ms=lambda: 1_000,
        )
        channels = VerificationChannels(ports)
        async with asyncio.timeout(1), asyncio.TaskGroup() as tasks:
            channels.run(tasks)
            await use(channels)
            channels.stop()
            for task in tasks._tasks:
                task.cancel()

    return lambda: asyncio.run(run())


async def ask(channels: VerificationChannels) -> None:
    await channels.ask(VerificationAsked("pay", 7, 0, (A0, A1), HOW))


def begin_verification(*_: object, **__: object) -> VerificationGuard:
    return VerificationGuard()


def verifier(channels: VerificationChannels) -> Verifier:
    produces = SimpleNamespace(begin_verification=begin_verification)
    ports: Any = SimpleNamespace(channels=channels, produces=produces)
    return Verifier(ports)


async def ask_once(channels: VerificationChannels) -> None:
    wanted = _Wanted("pay", ProducerIdAndEpoch(7, 0), {A0: 0, A1: 0}, HOW)
    await verifier(channels)._ask_once(wanted)


async def plain(channels: VerificationChannels) -> None:
    parts = [ProducePart(A0, records("v")), ProducePart(A1, records("w"))]
    await verifier(channels).verified(parts, "pay", HOW)


async def confirms_all(_channels: object, asked: VerificationAsked) -> Codes:
    return dict.fromkeys(asked.tps, ErrorCode.NONE)


async def tells_of_one(_channels: object, asked: VerificationAsked) -> Codes:
    return {asked.tps[0]: ErrorCode.NETWORK_EXCEPTION}


async def asks_nobody(_verifier: object, wanted: _Wanted) -> _Outcome:
    return _Outcome({tp: VerificationGuard() for tp in wanted.sequences}, {})


async def refuses_all(verifier: Verifier, wanted: _Wanted) -> _Outcome:
    await verifier._ports.channels.ask(
        VerificationAsked(wanted.transactional_id, *wanted.producer, (A0, A1), HOW)
    )
    guards = {tp: VerificationGuard() for tp in wanted.sequences}
    return _Outcome(guards, dict.fromkeys(guards, ErrorCode.INVALID_TXN_STATE))


async def changes_places(_: object, parts: Sequence[ProducePart], *__: object) -> list[ProducePart]:
    return list(reversed(parts))


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    (ANSWER, answers(None), told(ask)),
    (ASK, confirms_all, told(ask)),
    (ASK, tells_of_one, told(ask)),
    (ASK_ONCE, asks_nobody, told(ask_once)),
    (ASK_ONCE, refuses_all, told(ask_once)),
    ("Verifier.verified", changes_places, told(plain)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    beside = (ANSWER, ASK)
    assert told_of(None, rule, use, beside=beside) == []
    assert told_of(wrong, rule, use, beside=beside)
