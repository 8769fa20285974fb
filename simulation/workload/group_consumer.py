"""aiokafka's consumer as a member of a group: it reads what it is assigned, and commits.

What it is assigned, reads and commits is written into the history, so that a checker can say
whether two members had one partition, or a commit that was answered was forgotten.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka import TopicPartition as _Partition
from aiokafka.errors import IllegalStateError
from aiokafka.errors import KafkaError as AiokafkaError

from protocol.ids import NO_LEADER, TopicPartition
from simulation.core.history import Assignment, Commit, Function, History, Poll, Read
from simulation.workload.aiokafka_clients import (
    POLL_MS,
    bootstrap,
    error_name,
    read_of,
    started,
)
from simulation.workload.progress import Progress

SESSION_TIMEOUT_MS: Final = 10_000
HEARTBEAT_INTERVAL_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConsumerSettings:
    """What is read, by which group."""

    topic: str
    group: str
    retry_backoff_ms: int = 100
    metadata_max_age_ms: int = 1_000


class GroupConsumerWorkload:
    """One member. ``run`` it once; ``stop`` has it leave its group and end."""

    def __init__(
        self,
        addresses: Mapping[int, tuple[str, int]],
        client_id: str,
        history: History,
        settings: GroupConsumerSettings,
    ) -> None:
        self.progress = Progress()
        self._addresses = addresses
        self._client_id = client_id
        self._history = history
        self._settings = settings
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Ask for no more records."""
        self._stopping.set()

    async def run(self) -> None:
        """Read and commit until stopped."""
        settings = self._settings
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap(self._addresses),
            client_id=self._client_id,
            group_id=settings.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            retry_backoff_ms=settings.retry_backoff_ms,
            metadata_max_age_ms=settings.metadata_max_age_ms,
        )
        consumer.subscribe([settings.topic], listener=_Listener(self, consumer))
        if not await started(consumer, self.progress, self._stopping):
            return
        try:
            while not self._stopping.is_set():
                await self._poll(consumer)
        finally:
            await consumer.stop()

    def assigned(self, consumer: Any, partitions: Iterable[Any]) -> None:
        """Write down what it was assigned, and in which generation."""
        # The library has no public way to ask for it.
        generation = consumer._coordinator.generation  # noqa: SLF001
        tps = sorted(TopicPartition(tp.topic, tp.partition) for tp in partitions)
        told = Assignment(self._settings.group, generation, tuple(tps))
        with self._history.begin(self._client_id, Function.ASSIGN, told) as assigning:
            assigning.ok(told)

    async def _poll(self, consumer: Any) -> None:
        asked = Poll(NO_LEADER, ())
        with self._history.begin(self._client_id, Function.POLL, asked) as polling:
            try:
                found = await consumer.getmany(timeout_ms=POLL_MS)
            except AiokafkaError as error:
                self.progress.count_error(error_name(error))
                polling.fail(error_name(error))
                return
            reads = [read_of(tp, records) for tp, records in sorted(found.items()) if records]
            self.progress.read += sum(len(read.records) for read in reads)
            polling.ok(Poll(NO_LEADER, tuple(reads)))
        if reads:
            await self._commit(consumer, reads)

    async def _commit(self, consumer: Any, reads: list[Read]) -> None:
        """Commit what was read; somebody else may have the partitions by now."""
        offsets = tuple((read.tp, read.records[-1][0] + 1) for read in reads)
        commit = Commit(self._settings.group, offsets)
        with self._history.begin(self._client_id, Function.COMMIT, commit) as committing:
            try:
                await consumer.commit({_Partition(*tp): offset for tp, offset in offsets})
            except IllegalStateError as error:
                committing.fail(error_name(error))
            except AiokafkaError as error:
                self.progress.count_error(error_name(error))
                committing.unknown(error_name(error))
            else:
                committing.ok(commit)


class _Listener(ConsumerRebalanceListener):
    """What the library calls in a rebalance."""

    def __init__(self, workload: GroupConsumerWorkload, consumer: Any) -> None:
        self._workload = workload
        self._consumer = consumer

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Nothing is told: the next assignment says it."""
        del revoked

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Write it down."""
        self._workload.assigned(self._consumer, assigned)
