"""A producer of numbered records at a given rate, to the partitions of one topic in turn.

Acks 0, 1 and all; idempotent or not. How a partition's batches get there is in `sender`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import TopicPartition
from protocol.messages.produce import ACKS_ALL
from protocol.messages.producer_ids import InitProducerIdRequest
from protocol.ports import WallClock
from protocol.records.build import NewRecord
from simulation.core.history import Function, History, ProducerRange, Send
from simulation.core.payload import (
    is_tombstone,
    key_of,
    payload,
    record_number,
    tombstone_headers,
)
from simulation.workload.clients import ClusterClient
from simulation.workload.partition_sender import (
    Batch,
    PartitionSender,
    ProducerIdAndEpoch,
    SenderContext,
    SenderSettings,
)
from simulation.workload.pause import pause
from simulation.workload.progress import Progress, code_of
from simulation.workload.record_formats import NEWEST_FORMAT, RecordFormat

IDEMPOTENT_IN_FLIGHT_MAX: Final = 5
"""As many batches of a producer as a leader remembers. Source: ProducerStateEntry.java."""
SLOWER: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """What is written, how often and how."""

    topic: str
    acks: int = ACKS_ALL
    """-1 all, 1 the leader, 0 nobody answers."""
    is_idempotent: bool = False
    interval_ms: int = 50
    """Between two batches, whatever their partitions."""
    record_bytes: int = 100
    batch_records: int = 1
    keys: int = 0
    """Records have one of so many keys, in turn; 0: none."""
    record_format: RecordFormat = NEWEST_FORMAT
    records_max: int | None = None
    """It ends after so many; None: when it is stopped."""
    slower_after_ms: int | None = None
    """From then on the interval is ``SLOWER`` times as long; None: it stays."""
    in_flight_max: int = IDEMPOTENT_IN_FLIGHT_MAX
    """Batches of one partition that are not answered yet."""
    delivery_timeout_ms: int = 30_000
    retry_backoff_ms: int = 100

    def are_enough(self, records_count: int) -> bool:
        """Tell whether a producer that has made so many records makes no more."""
        return self.records_max is not None and records_count >= self.records_max


class Pace:
    """How long a producer waits between two batches, from when it was made."""

    __slots__ = ("_interval_ms", "_slower_at_s")

    def __init__(self, settings: ProducerSettings) -> None:
        after_ms = settings.slower_after_ms
        begun_s = asyncio.get_running_loop().time()
        self._interval_ms = settings.interval_ms
        self._slower_at_s = math.inf if after_ms is None else begun_s + after_ms / 1000

    def interval_ms(self) -> int:
        """Return the wait before the next batch."""
        is_slower = asyncio.get_running_loop().time() >= self._slower_at_s
        return self._interval_ms * (SLOWER if is_slower else 1)


class ProducerWorkload:
    """One producer. ``run`` it once; ``stop`` ends it when all that it made has ended."""

    def __init__(
        self,
        number: int,
        client: ClusterClient,
        history: History,
        settings: ProducerSettings,
        clock: WallClock,
    ) -> None:
        """Prepare.

        Args:
            number: the workload's own in the run, from which its records' numbers come.
            client: of its own.
            history: where it writes down what it does.
            settings: what is written, how often and how.
            clock: stamps the records; brokers forget producers and delete records by it.
        """
        assert not settings.is_idempotent or settings.acks == ACKS_ALL
        self.progress = Progress()
        self._number = number
        self._client = client
        self._history = history
        self._settings = settings
        self._clock = clock
        self._identity: ProducerIdAndEpoch | None = None
        self._identifying = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._senders: dict[TopicPartition, PartitionSender] = {}
        self._made = 0

    def stop(self) -> None:
        """Make no more records; ``run`` ends when those that were made have ended."""
        self._stopping.set()

    async def run(self) -> None:
        """Write until stopped, or until ``records_max`` are made."""
        context = SenderContext(
            self._client,
            SenderSettings(
                acks=self._settings.acks,
                in_flight_max=self._settings.in_flight_max,
                delivery_timeout_ms=self._settings.delivery_timeout_ms,
                retry_backoff_ms=self._settings.retry_backoff_ms,
                request_timeout_ms=self._client.request_timeout_ms,
                record_format=self._settings.record_format,
            ),
            self.progress,
            self._identify if self._settings.is_idempotent else None,
        )
        try:
            async with asyncio.TaskGroup() as group:
                await self._make_all(group, context)
                for sender in self._senders.values():
                    sender.finish()
        finally:
            for sender in self._senders.values():
                sender.abandon()

    async def _make_all(self, group: asyncio.TaskGroup, context: SenderContext) -> None:
        pace = Pace(self._settings)
        for turn in count():
            if self._is_over():
                return
            senders = await self._senders_now(group, context)
            sender = senders[turn % len(senders)] if senders else None
            if sender is not None and not sender.is_full:
                sender.add(self._batch(sender.tp))
            await pause(self._stopping, pace.interval_ms())

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._settings.are_enough(self._made)

    async def _senders_now(
        self, group: asyncio.TaskGroup, context: SenderContext
    ) -> list[PartitionSender]:
        """Begin a sender for each partition that became known."""
        topic = self._settings.topic
        if not self._senders:
            try:
                await self._client.refresh(topic)
            except (OSError, KafkaError) as error:
                self.progress.count_error(code_of(error).name)
        for tp in self._client.partitions(topic):
            if tp not in self._senders:
                sender = self._senders[tp] = PartitionSender(tp, context)
                group.create_task(sender.run(), name=f"lane {tp}")
        return list(self._senders.values())

    def _batch(self, tp: TopicPartition) -> Batch:
        settings = self._settings
        limit = settings.records_max
        size = settings.batch_records if limit is None else limit - self._made
        numbers = tuple(
            record_number(self._number, self._made + each)
            for each in range(min(size, settings.batch_records))
        )
        self._made += len(numbers)
        send = Send(
            tp,
            numbers,
            settings.acks,
            keys=settings.keys,
            has_timestamps=settings.record_format.has_timestamps,
        )
        now_ms, now_s = self._clock.now_ms(), asyncio.get_running_loop().time()
        return Batch(
            invocation=self._history.begin(self._client.client_id, Function.SEND, send),
            records=tuple(_record(each, settings, now_ms) for each in numbers),
            deadline_s=now_s + settings.delivery_timeout_ms / 1000,
        )

    async def _identify(self, is_fresh: bool) -> ProducerIdAndEpoch:  # noqa: FBT001 -- a port
        async with self._identifying:
            if not is_fresh and self._identity is not None:
                return self._identity
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
            try:
                answer = await self._client.ask_any(request, 4)
            except Malformed as error:
                raise ConnectionError(str(error)) from error
            if answer.error_code != ErrorCode.NONE:
                raise KafkaError(ErrorCode(answer.error_code))
            identity = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
            self._identity = self._identity or identity
            return identity


def sends_in_turn(
    number: int,
    made: range,
    topic: str,
    partitions: Sequence[int],
    producer: ProducerRange | None = None,
) -> tuple[Send, ...]:
    """Return records to be sent to the partitions of a topic in turn, one in a batch.

    Args:
        number: the workload's own in the run.
        made: which of its records they are.
        topic: where they go.
        partitions: those that are known, at least one.
        producer: how batches are numbered, as far as the history is told.
    """
    return tuple(
        Send(
            TopicPartition(topic, partitions[count % len(partitions)]),
            (record_number(number, count),),
            ACKS_ALL,
            producer,
        )
        for count in made
    )


def _record(number: int, settings: ProducerSettings, now_ms: int) -> NewRecord:
    """Return a record; one that deletes its key where headers can name it."""
    key = key_of(number, settings.keys)
    if settings.record_format.has_headers and is_tombstone(number, settings.keys):
        return NewRecord(None, key, now_ms, tombstone_headers(number))
    return NewRecord(payload(number, settings.record_bytes), key, now_ms)
