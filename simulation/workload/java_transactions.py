"""A workload of transactions of the second version (KIP-890).

Some are aborted on purpose, others since a record was refused; a producer that is fenced begins
anew.
"""

from __future__ import annotations

import asyncio

from protocol.errors import ErrorCode
from protocol.ports import WallClock
from simulation.core.history import Function, History, Txn
from simulation.workload.clients import ClusterClient
from simulation.workload.java_producer import JavaProducer
from simulation.workload.pause import pause
from simulation.workload.producer import Pace, ProducerSettings, sends_in_turn
from simulation.workload.progress import Progress


class JavaTransactionsWorkload:
    """One producer; it ends with the transaction that is under way."""

    def __init__(
        self,
        number: int,
        client: ClusterClient,
        history: History,
        settings: ProducerSettings,
        clock: WallClock,
        *,
        aborts_every: int,
    ) -> None:
        """Prepare.

        Args:
            number: the workload's own in the run, from which its records' numbers come.
            client: of its own, whose name is the transactional id.
            history: where it writes down what it does.
            settings: of each transaction.
            clock: stamps the records.
            aborts_every: of so many transactions the last is aborted; 0: none is.
        """
        self.progress = Progress()
        self._number = number
        self._client = client
        self._history = history
        self._settings = settings
        self._aborts_every = aborts_every
        self._producer = JavaProducer(client, settings, clock, self.progress)
        self._stopping = asyncio.Event()
        self._made = 0
        self._begun = 0

    def stop(self) -> None:
        """Begin no more transactions."""
        self._stopping.set()

    async def run(self) -> None:
        """Write until stopped, under a new epoch after each error that ends the old one."""
        pace = Pace(self._settings)
        while not self._is_over():
            has_id = await self._producer.initialize()
            while has_id and not self._is_over():
                has_id = await self._transaction()
                await pause(self._stopping, pace.interval_ms())
            await pause(self._stopping, self._settings.retry_backoff_ms)

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._settings.are_enough(self._made)

    async def _transaction(self) -> bool:
        """Write one transaction; tell whether the producer may begin another one."""
        topic = self._settings.topic
        partitions = await self._producer.partitions()
        if not partitions:
            return True
        made = range(self._made, self._made + self._settings.batch_records)
        self._made, self._begun = made.stop, self._begun + 1
        sends = sends_in_turn(self._number, made, topic, partitions)
        is_aborted = bool(self._aborts_every) and self._begun % self._aborts_every == 0
        txn = Txn(self._client.client_id, sends, is_alone=self._producer.is_alone)
        with self._history.begin(self._client.client_id, Function.TXN, txn) as ending:
            sent = await self._producer.send(sends)
            if isinstance(sent, ErrorCode):
                may_go_on = await self._producer.give_up(sent)
                ending.fail(sent.name)
                return may_go_on
            error = await self._producer.end(is_committed=not is_aborted)
            if is_aborted:
                ending.fail("aborted")
            elif error is None:
                self.progress.acknowledged += len(sends)
                ending.ok(txn._replace(sends=sent))
            else:
                ending.unknown(error.name)
        return error is None
