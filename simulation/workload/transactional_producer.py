"""aiokafka's transactional producer: records of several partitions in one transaction each.

Some transactions are aborted on purpose. After an error that ends the producer for good a new one
of the same transactional id goes on, as Kafka tells people to do.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.errors import KafkaTimeoutError, UnknownTopicOrPartitionError

from simulation.core.history import Function, History, Invocation, Send, Txn
from simulation.core.payload import payload
from simulation.workload.aiokafka_clients import (
    UNTOLD,
    AiokafkaWriter,
    bootstrap,
    library_offsets,
)
from simulation.workload.aiokafka_start import ended, error_name, started
from simulation.workload.metadata_pace import pace_metadata
from simulation.workload.pause import pause
from simulation.workload.producer import Pace, ProducerSettings, sends_in_turn

TRANSACTION_TIMEOUT_MS: Final = 3_000
"""A coordinator aborts what is open for longer."""
_WAIT_S_MAX: Final = 60.0
"""For each step of a transaction; the library waits for ever, as for a coordinator whose only log
was lost. Source: ProducerConfig.java max.block.ms."""
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """How transactions end."""

    aborts_every: int = 0
    """Of so many transactions the last is aborted; 0: none is."""


class TransactionalProducerWorkload(AiokafkaWriter):
    """One producer; it ends with the transaction that is under way."""

    def __init__(
        self,
        number: int,
        addresses: Mapping[int, tuple[str, int]],
        client_id: str,
        history: History,
        settings: ProducerSettings,
        transactions: TransactionSettings,
    ) -> None:
        """``number`` is the workload's own in the run; ``settings`` are of a transaction each."""
        super().__init__(number, addresses, client_id, history, settings)
        self._transactions = transactions
        self._begun = 0

    async def run(self) -> None:
        """Write until stopped, with another producer after each error that ends one."""
        pace = Pace(self._settings)
        make = partial(new_transactional_producer, self._addresses, self._client_id, self._settings)
        while not self._is_over():
            producer = await started(make, self.progress, self._stopping)
            if producer is None:
                return
            try:
                while not self._is_over():
                    await self._transaction(producer)
                    await pause(self._stopping, pace.interval_ms())
            except AiokafkaError as error:
                self.progress.count_error(error_name(error))
                await pause(self._stopping, self._settings.retry_backoff_ms)
            finally:
                await ended(producer)

    async def _transaction(self, producer: Any) -> None:
        settings = self._settings
        partitions = sorted(await producer.partitions_for(settings.topic))
        if not partitions:
            return
        made = range(self._made, self._made + settings.batch_records)
        sends = new_sends(self._number, made, settings.topic, partitions)
        self._made, self._begun = made.stop, self._begun + 1
        every = self._transactions.aborts_every
        is_aborted = bool(every) and self._begun % every == 0
        txn = Txn(self._client_id, sends)
        with self._history.begin(self._client_id, Function.TXN, txn) as ending:
            await producer.begin_transaction()
            if is_aborted:
                await abort_transaction(producer, ending, sends, settings.record_bytes)
            else:
                await commit_transaction(producer, ending, txn, settings.record_bytes)
                self.progress.acknowledged += len(sends)


def new_transactional_producer(
    addresses: Mapping[int, tuple[str, int]], transactional_id: str, settings: ProducerSettings
) -> Any:
    """Make a producer that is not started yet."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap(addresses),
        client_id=transactional_id,
        transactional_id=transactional_id,
        transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        request_timeout_ms=settings.delivery_timeout_ms,
        retry_backoff_ms=settings.retry_backoff_ms,
    )
    pace_metadata(producer.client, settings.retry_backoff_ms)
    return producer


def new_sends(number: int, made: range, topic: str, partitions: Sequence[int]) -> tuple[Send, ...]:
    """Return records to be sent to the partitions of a topic in turn, one in a batch.

    Args:
        number: the workload's own in the run.
        made: which of its records they are.
        topic: where they go.
        partitions: those that are known.

    Raises:
        UnknownTopicOrPartitionError: none is known, as of a topic that is being made anew.
    """
    if not partitions:
        raise UnknownTopicOrPartitionError(topic)
    return sends_in_turn(number, made, topic, partitions, UNTOLD)


async def commit_transaction(
    producer: Any, ending: Invocation, txn: Txn, record_bytes: int
) -> None:
    """Send what belongs to a transaction that has begun, and commit it.

    Raises:
        AiokafkaError: it is not known to be committed; the producer is of no more use.
    """
    try:
        sent = await _in_time(_sent(producer, txn.sends, record_bytes))
        if txn.group:
            offsets = {read.tp: read.records[-1][0] + 1 for read in txn.reads}
            told = producer.send_offsets_to_transaction(library_offsets(offsets), txn.group)
            await _in_time(told)
    except AiokafkaError as error:
        ending.fail(error_name(error))
        raise
    try:
        await _in_time(producer.commit_transaction())
    except AiokafkaError as error:
        ending.unknown(error_name(error))
        raise
    ending.ok(txn._replace(sends=sent))


async def abort_transaction(
    producer: Any, ending: Invocation, sends: Sequence[Send], record_bytes: int
) -> None:
    """Send what belongs to a transaction that has begun, and abort it.

    Raises:
        AiokafkaError: the producer is of no more use.
    """
    try:
        await _in_time(_sent(producer, sends, record_bytes))
        await _in_time(producer.abort_transaction())
    except AiokafkaError as error:
        ending.fail(error_name(error))
        raise
    ending.fail("aborted")


async def _in_time(step: Awaitable[AnswerT]) -> AnswerT:
    """Wait for a step of a transaction, but not for ever.

    Raises:
        AiokafkaError: it failed, or takes too long; what becomes of it is not known then.
    """
    try:
        async with asyncio.timeout(_WAIT_S_MAX):
            return await step
    except TimeoutError as error:
        raise KafkaTimeoutError(f"no end after {_WAIT_S_MAX:.0f} s") from error


async def _sent(producer: Any, sends: Sequence[Send], record_bytes: int) -> tuple[Send, ...]:
    """Send records and wait until each is acknowledged.

    Raises:
        AiokafkaError: the first of what went wrong; all have ended.
    """
    under_way = [
        await producer.send(
            send.tp.topic, payload(send.records[0], record_bytes), partition=send.tp.partition
        )
        for send in sends
    ]
    answers: list[Any] = await asyncio.gather(*under_way, return_exceptions=True)
    for one in answers:
        if isinstance(one, BaseException):
            raise one
    return tuple(
        send._replace(base_offset=one.offset) for send, one in zip(sends, answers, strict=True)
    )
