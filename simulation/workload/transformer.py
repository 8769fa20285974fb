"""Consume, transform, produce: aiokafka reads as a member of a group and writes in transactions.

Each transaction holds the records that were made of some read ones, and the group's offsets behind
those, so that every record is processed exactly once. aiokafka names no member and no generation
with the offsets of a transaction, and may be told offsets that an ending transaction is about to
replace (KIP-447). So this is safe as it was in Kafka before 2.5: one member with one transactional
id, and after each rebalance a new producer, which begins when all transactions before it are over.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiokafka.errors import KafkaError as AiokafkaError

from simulation.core.history import Function, History, Read, Txn
from simulation.workload.aiokafka_clients import is_fetching
from simulation.workload.aiokafka_start import ended, error_name, started
from simulation.workload.group_consumer import GroupConsumerSettings, GroupConsumerWorkload
from simulation.workload.pause import pause
from simulation.workload.producer import ProducerSettings
from simulation.workload.reading_place import reading_place
from simulation.workload.transactional_producer import (
    commit_transaction,
    new_sends,
    new_transactional_producer,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformSettings:
    """What is read by which group, and where it goes; ``writing.topic`` takes the results."""

    topic: str
    group: str
    writing: ProducerSettings


class TransformWorkload(GroupConsumerWorkload):
    """One transformer. ``run`` it once; ``stop`` ends it with the transaction under way."""

    def __init__(
        self,
        number: int,
        addresses: Mapping[int, tuple[str, int]],
        client_id: str,
        history: History,
        settings: TransformSettings,
    ) -> None:
        """``number`` is the workload's own in the run, from which its records' numbers come."""
        member = GroupConsumerSettings(
            topic=settings.topic, group=settings.group, is_read_committed=True
        )
        super().__init__(addresses, client_id, history, member)
        self._number = number
        self._writing = settings.writing
        self._made = 0
        self._is_revoked = False
        self._in_transaction = asyncio.Lock()

    async def run(self) -> None:
        """Transform until stopped; an error or a rebalance takes a new producer and consumer."""
        make = partial(new_transactional_producer, self._addresses, self._client_id, self._writing)
        # Once one has its id, whatever a producer before it left open has ended.
        while producer := await started(make, self.progress, self._stopping):
            self._is_revoked = False
            try:
                await self._consume(producer)
            except AiokafkaError as error:
                self.progress.count_error(error_name(error))
                await pause(self._stopping, self._writing.retry_backoff_ms)
            finally:
                await ended(producer)

    async def revoked(self) -> None:
        """Begin no more transactions, and return when none is under way."""
        self._is_revoked = True
        async with self._in_transaction:
            pass

    async def _consume(self, producer: Any) -> None:
        consumer = await started(self._subscribed, self.progress, self._stopping)
        if consumer is None:
            return
        try:
            while not self._stopping.is_set() and not self._is_revoked and is_fetching(consumer):
                reads = await self._poll(consumer)
                if reads and not self._is_revoked:
                    async with self._in_transaction:
                        await self._commit(producer, tuple(reads))
                if not self._is_revoked:
                    self.positions |= reading_place(consumer).positions
        finally:
            await ended(consumer)

    async def _commit(self, producer: Any, reads: tuple[Read, ...]) -> None:
        topic = self._writing.topic
        partitions = sorted(await producer.partitions_for(topic))
        made = range(self._made, self._made + sum(len(read.records) for read in reads))
        self._made = made.stop
        sends = new_sends(self._number, made, topic, partitions)
        txn = Txn(self._client_id, sends, reads, self.group)
        with self._history.begin(self._client_id, Function.TXN, txn) as ending:
            await producer.begin_transaction()
            await commit_transaction(producer, ending, txn, self._writing.record_bytes)
            self.progress.acknowledged += len(sends)
