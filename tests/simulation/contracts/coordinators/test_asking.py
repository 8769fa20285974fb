"""What contracts say of wrong rules where leaders ask about transactions."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.coordinators.broker_channels import ChannelPorts
from broker.coordinators.verification_channels import Codes, VerificationChannels
from broker.coordinators.verifier import Verifier, _Outcome, _Wanted
from broker.core.coordination import TransactionProducer
from broker.core.transaction_state import verifying
from broker.core.transaction_state.begin import ProducerIdAndEpoch
from broker.core.transaction_state.verifying import (
    Refused,
    ToldCode,
    VerificationAsked,
    VerificationBatch,
    Verifying,
)
from broker.core.verification import VerificationGuard
from broker.engine.types import ProducePart
from protocol.errors import ErrorCode, KafkaError
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


def asked(epoch: int) -> VerificationAsked:
    return VerificationAsked("pay", 7, epoch, (A0,), HOW)


def asked_twice(*epochs: int) -> Callable[[], object]:
    def use() -> None:
        batch = VerificationBatch()
        for epoch in epochs:
            batch.add(asked(epoch))

    return use


def keeps_the_first(batch: VerificationBatch, asked: VerificationAsked) -> Refused | None:
    before = batch._asked.setdefault(asked.transactional_id, asked)
    return None if before is asked else Refused(asked, ErrorCode.NETWORK_EXCEPTION)


def keeps_the_last(batch: VerificationBatch, asked: VerificationAsked) -> Refused | None:
    before = batch._asked.get(asked.transactional_id)
    batch._asked[asked.transactional_id] = asked
    return None if before is None else Refused(before, ErrorCode.NETWORK_EXCEPTION)


def as_it_is(code: ErrorCode, _how: Verifying) -> ErrorCode:
    return code


def told_as_it_is(code: ErrorCode, _how: Verifying) -> ToldCode:
    return ToldCode(code, "")


def is_told(rule: str, code: ErrorCode, how: Verifying) -> Callable[[], object]:
    return lambda: getattr(verifying, rule)(code, how)


def looked_at(*, is_verified: bool) -> Callable[[], object]:
    """Look at a transaction that was verified once more, in which a marker came since or not."""

    def check_verified(*_: object) -> None:
        if not is_verified:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE)

    states = SimpleNamespace(is_verified=answers(is_verified))
    produces = SimpleNamespace(_led_producers=answers(states), check_verified=check_verified)
    ports: Any = SimpleNamespace(produces=produces)

    def use() -> None:
        with suppress(KafkaError):
            Verifier(ports).check(A0, TransactionProducer(7, 0, VerificationGuard()))

    return use


OLD: Final = Verifying.FOR_OLD_CLIENT
AWAY, BUSY = ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS
WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    (ANSWER, answers(None), told(ask)),
    (ASK, confirms_all, told(ask)),
    (ASK, tells_of_one, told(ask)),
    (ASK_ONCE, asks_nobody, told(ask_once)),
    (ASK_ONCE, refuses_all, told(ask_once)),
    ("Verifier.verified", changes_places, told(plain)),
    ("Verifier.check", answers(None), looked_at(is_verified=False)),
    ("VerificationBatch.add", keeps_the_first, asked_twice(0, 1)),
    ("VerificationBatch.add", keeps_the_last, asked_twice(1, 0)),
    ("VerificationBatch.add", keeps_the_last, asked_twice(0, 1)),
    ("VerificationBatch.add", answers(None), asked_twice(0)),
    (
        "verifying.verified_code",
        as_it_is,
        is_told("verified_code", ErrorCode.PRODUCER_FENCED, OLD),
    ),
    (
        "verifying.verified_code",
        answers(ErrorCode.NONE),
        is_told("verified_code", ErrorCode.TRANSACTION_ABORTABLE, HOW),
    ),
    ("verifying.produce_refusal", told_as_it_is, is_told("produce_refusal", AWAY, HOW)),
    ("verifying.produce_refusal", told_as_it_is, is_told("produce_refusal", BUSY, HOW)),
    ("verifying.offset_commit_refusal", as_it_is, is_told("offset_commit_refusal", BUSY, HOW)),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    beside = (ANSWER, ASK)
    assert told_of(None, rule, use, beside=beside) == []
    assert told_of(wrong, rule, use, beside=beside)


async def ends_as_it_is_told(channels: VerificationChannels) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ask(channels))
        await asyncio.sleep(0)
        (question,) = channels._waiting
        channels.stop()
        channels._answer(question, dict.fromkeys(question.tps, BUSY))


def test_what_comes_after_a_broker_told_who_waits_that_it_ends_is_nobodys() -> None:
    """Seed 1150491."""
    assert told_of(None, ASK, told(ends_as_it_is_told), beside=(ANSWER, ASK)) == []
