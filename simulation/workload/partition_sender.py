"""Writes the batches of one partition as a Kafka producer does: in order, some of them in flight.

After an error it waits for the answers that are under way, asks for the leader where that helps,
and sends again from the first batch that is not acknowledged, under the same sequence numbers. What
makes batches is in `producer`. Source: Sender.java, TransactionManager.java.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from protocol.errors import REFRESH_METADATA, RETRIABLE, ErrorCode, KafkaError, Malformed
from protocol.ids import NO_OFFSET, TopicPartition
from protocol.messages.produce import (
    ACKS_NONE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.records.build import NewRecord
from simulation.core.history import Invocation, ProducerRange, Send
from simulation.loop_time import loop_now_us
from simulation.workload.backoff import Backoff
from simulation.workload.clients import Begun, ClusterClient, LeaderAndEpoch
from simulation.workload.progress import Progress, code_of
from simulation.workload.record_formats import NEWEST_FORMAT, RecordFormat

QUEUED_BATCHES_MAX: Final = 32
"""As a producer's buffer memory: no more wait for one partition."""

_NOT_APPENDED: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    }
)
"""The leader refused the batch before it wrote it. Any other code may come to a batch that was
written and then waited for its followers."""
_GONE: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_IS_THERE: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


class ProducerIdAndEpoch(NamedTuple):
    """What an idempotent producer is known by."""

    producer_id: int
    producer_epoch: int


class Sent(NamedTuple):
    """What became of one attempt."""

    code: ErrorCode
    base_offset: int = NO_OFFSET


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderSettings:
    """How a producer sends."""

    acks: int
    """-1 all, 1 the leader, 0 nobody answers."""
    in_flight_max: int
    """Batches of one partition that are not answered yet; at most 5 when idempotent."""
    delivery_timeout_ms: int
    """After so long a batch is given up."""
    retry_backoff_ms: int
    """After the first error; longer after each that follows (see ``Backoff``)."""
    request_timeout_ms: int
    record_format: RecordFormat = NEWEST_FORMAT


@dataclass(slots=True, eq=False)
class Batch:
    """Some records on their way."""

    invocation: Invocation
    records: tuple[NewRecord, ...]
    deadline_s: float
    """In loop time."""
    producer: ProducerRange | None = None
    """Set when it is sent first, if at all."""
    may_be_there: bool = False
    """An attempt ended in a way that leaves it open."""
    is_again: bool = False
    """It was sent before and is not there as far as anybody told."""
    begun: Begun | None = None
    leader: LeaderAndEpoch | None = None
    """Whom it was sent to last."""
    asked_us: int = -1
    """When that was, in loop time."""

    @property
    def send(self) -> Send:
        """What the history says of it."""
        value = self.invocation.value
        assert isinstance(value, Send)
        return value


class SenderContext(NamedTuple):
    """What the lanes of one producer share."""

    client: ClusterClient
    settings: SenderSettings
    progress: Progress
    identify: Callable[[bool], Awaitable[ProducerIdAndEpoch]] | None
    """Asks for the producer's identity, or (True) for a fresh one; None: it is not idempotent.

    Raises OSError or KafkaError.
    """


class PartitionSender:
    """The batches of one partition. ``run`` once; it ends after ``finish`` when all have ended."""

    def __init__(self, tp: TopicPartition, sender: SenderContext) -> None:
        self.tp = tp
        self._client, self._settings, self._progress, self._identify = sender
        self._identity: ProducerIdAndEpoch | None = None
        self._is_fresh_needed = False
        self._next_sequence = 0
        self._waiting: deque[Batch] = deque()
        self._in_flight: deque[Batch] = deque()
        self._is_finishing = False
        self._changed = asyncio.Event()
        self._backoff = Backoff(sender.settings.retry_backoff_ms)
        self._turn = asyncio.Lock()
        """Held by whoever sends, or puts back what was sent."""

    @property
    def is_full(self) -> bool:
        """Whether it takes no further batch now."""
        return len(self._waiting) >= QUEUED_BATCHES_MAX

    @property
    def in_flight_count(self) -> int:
        """How many batches are sent and not answered."""
        return len(self._in_flight)

    def add(self, batch: Batch) -> None:
        """Have a batch written."""
        self._waiting.append(batch)
        self._notify()

    def finish(self) -> None:
        """End when all that were added have ended."""
        self._is_finishing = True
        self._notify()

    def abandon(self) -> None:
        """End all batches as they are; ``run`` was cancelled."""
        for batch in [*self._in_flight, *self._waiting]:
            batch.may_be_there = batch.may_be_there or batch.begun is not None
            _end(batch, "the run ended")

    async def run(self) -> None:
        """Send and take answers until finished."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._send_all(), name=f"send {self.tp}")
            group.create_task(self._take_answers(), name=f"answers {self.tp}")

    # Sending.

    async def _send_all(self) -> None:
        while await self._until(self._may_send):
            async with self._turn:
                if not self._may_send():
                    continue
                code = await self._send(self._waiting[0])
                if code is not ErrorCode.NONE:
                    self._progress.count_error(code.name)
                    await self._look_again(code)
            self._notify()

    def _may_send(self) -> bool:
        if not self._waiting or self.in_flight_count >= self._settings.in_flight_max:
            return False
        # A leader knows the last five sequences of a producer: what is sent again must be one of
        # them each time, so nothing new goes behind it. Source: RecordAccumulator.java.
        is_new = self._waiting[0].producer is None and self._identify is not None
        return not (is_new and any(batch.is_again for batch in self._in_flight))

    async def _send(self, batch: Batch) -> ErrorCode:
        """Send the first batch that waits; after an error it still waits."""
        batch.leader = self._client.leader(self.tp)
        if batch.leader is None or batch.leader.broker < 0:
            return ErrorCode.LEADER_NOT_AVAILABLE
        try:
            if batch.producer is None and self._identify is not None:
                batch.producer = await self._number(self._identify, len(batch.records))
            await self._put_out(batch, batch.leader.broker)
        except (OSError, KafkaError) as error:
            return code_of(error)
        return ErrorCode.NONE

    async def _number(
        self, identify: Callable[[bool], Awaitable[ProducerIdAndEpoch]], count: int
    ) -> ProducerRange:
        if self._identity is None:
            self._identity = await identify(self._is_fresh_needed)
            self._next_sequence = 0
        numbers = ProducerRange(*self._identity, self._next_sequence)
        self._next_sequence += count
        return numbers

    async def _put_out(self, batch: Batch, broker: int) -> None:
        request = self._request(batch)
        version = self._settings.record_format.produce_version
        batch.asked_us = loop_now_us()
        if self._settings.acks == ACKS_NONE:
            await self._client.notify(broker, request, version)
            self._waiting.popleft()
            self._acknowledge(batch, NO_OFFSET)
        else:
            batch.begun = await self._client.begin(broker, request, version)
            self._in_flight.append(self._waiting.popleft())

    def _request(self, batch: Batch) -> ProduceRequest:
        records = self._settings.record_format.encoded(batch.records, batch.producer)
        part = PartitionProduceData(index=self.tp.partition, records=records)
        return ProduceRequest(
            transactional_id=None,
            acks=self._settings.acks,
            timeout_ms=self._settings.request_timeout_ms,
            topic_data=[TopicProduceData(name=self.tp.topic, partition_data=[part])],
        )

    # Answers.

    async def _take_answers(self) -> None:
        while await self._until(lambda: bool(self._in_flight)):
            sent = await self._outcome(self._in_flight[0])
            if sent.code in _IS_THERE:
                self._acknowledge(self._in_flight.popleft(), sent.base_offset)
            else:
                async with self._turn:
                    await self._recover(sent)
            self._notify()

    async def _outcome(self, batch: Batch) -> Sent:
        assert batch.begun is not None
        try:
            answer = await batch.begun.answer()
        except (OSError, Malformed) as error:
            return Sent(code_of(error))
        return _sent(answer)

    async def _recover(self, first: Sent) -> None:
        """Wait for all that is in flight, then have what is not there sent again, in order."""
        again: list[Batch] = []
        sent = first
        while self._in_flight:
            batch = self._in_flight.popleft()
            if sent.code in _IS_THERE:
                self._acknowledge(batch, sent.base_offset)
            else:
                self._note(batch, sent.code)
                again.append(batch)
            if self._in_flight:
                sent = await self._outcome(self._in_flight[0])
        self._waiting.extendleft(reversed(again))
        if not _is_retried(first.code):
            self._give_up(first.code)
        await self._look_again(first.code)

    async def _look_again(self, code: ErrorCode) -> None:
        """Let time pass, give up what is too old, and see who leads now.

        Who ends gives up what waits for a topic that is gone.
        """
        await asyncio.sleep(self._backoff.next_ms() / 1000)
        now_s = asyncio.get_running_loop().time()
        while self._waiting and self._waiting[0].deadline_s <= now_s:
            self._give_up(ErrorCode.REQUEST_TIMED_OUT)
        if not self._waiting or code not in REFRESH_METADATA | {ErrorCode.REQUEST_TIMED_OUT}:
            return
        try:
            await self._client.refresh(self.tp.topic)
        except (OSError, KafkaError) as error:
            told = code_of(error)
            self._progress.count_error(told.name)
            # Who writes on may see the topic made anew.
            while self._is_finishing and self._waiting and told is _GONE:
                self._give_up(told)

    def _note(self, batch: Batch, code: ErrorCode) -> None:
        self._progress.count_error(code.name)
        batch.begun = None
        batch.is_again = True
        batch.may_be_there = batch.may_be_there or code not in _NOT_APPENDED

    def _acknowledge(self, batch: Batch, base_offset: int) -> None:
        assert batch.leader is not None
        self._backoff.reset()
        self._progress.acknowledged += len(batch.records)
        batch.invocation.ok(
            batch.send._replace(
                producer=batch.producer,
                base_offset=base_offset,
                broker=batch.leader.broker,
                leader_epoch=batch.leader.epoch,
                asked_us=batch.asked_us,
            )
        )

    def _give_up(self, code: ErrorCode) -> None:
        """End the first batch that waits without success.

        Those sent behind it cannot be there without it, and go as well: sent again under another
        identity they might be there twice.
        """
        batch = self._waiting.popleft()
        _end(batch, code.name)
        if batch.producer is None:
            return
        while self._waiting and self._waiting[0].producer is not None:
            _end(self._waiting.popleft(), f"behind one that ended with {code.name}")
        self._identity = None
        self._is_fresh_needed = True

    # Waking each other.

    async def _until(self, condition: Callable[[], bool]) -> bool:
        """Wait for ``condition``; False when all is done."""
        while not condition():
            if self._is_finishing and not self._waiting and not self._in_flight:
                return False
            await self._changed.wait()
        return True

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _end(batch: Batch, error: str) -> None:
    if batch.may_be_there:
        batch.invocation.unknown(error)
    else:
        batch.invocation.fail(error)


def _is_retried(code: ErrorCode) -> bool:
    return code in RETRIABLE or code in REFRESH_METADATA


def _sent(answer: Any) -> Sent:
    for topic in answer.responses:
        for part in topic.partition_responses:
            return Sent(ErrorCode(part.error_code), part.base_offset)
    return Sent(ErrorCode.UNKNOWN_SERVER_ERROR)
