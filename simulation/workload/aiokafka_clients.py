"""aiokafka's producer and consumer as workloads: the library as people use it, unmodified.

But for the pace at which it asks for metadata (``metadata_pace``), and fetches again after an error
(``fetch_pace``). It retries by itself and tells only what became of it in the end. In a simulated
world somebody has to give it that world's time and chance; nothing here does.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as _Partition
from aiokafka.errors import KafkaError as AiokafkaError
from aiokafka.errors import NoOffsetForPartitionError

from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER, TopicPartition
from protocol.records.batch import Compression
from simulation.core.history import (
    NO_GENERATION,
    Assignment,
    Function,
    History,
    Invocation,
    Poll,
    ProducerRange,
    Read,
    Send,
)
from simulation.core.payload import (
    is_tombstone,
    key_of,
    number_of,
    payload,
    record_number,
    tombstone_headers,
)
from simulation.workload.aiokafka_start import ended, error_name, started
from simulation.workload.consumer import ConsumerSettings
from simulation.workload.fetch_pace import pace_fetches
from simulation.workload.group_errors import hear_group_errors
from simulation.workload.metadata_pace import pace_metadata
from simulation.workload.pause import pause
from simulation.workload.position_reset import PositionReset
from simulation.workload.producer import Pace, ProducerSettings
from simulation.workload.progress import Progress
from simulation.workload.reading_place import ReadingPlace, go_back, reading_place

UNTOLD: Final = ProducerRange(-1, -1, -1)
"""The library does not say how it numbers batches."""
POLL_MS: Final = 500
GONE_AFTER_MS: Final = 100
"""How long what a producer has made when it ends waits for a partition that does not exist."""
GIVES_UP_S: Final = 300
"""How long a producer that ends waits for a cluster that refuses its records for now."""
STUCK_S: Final = 60
"""How long one without answers waits for a connection that takes nothing more.

Who is at its other end has gone without a word. A request that is answered has a timeout; the
library has none for one that is only written, and a kernel tries for a quarter of an hour.
"""
_ACKS: Final = {-1: "all", 0: 0, 1: 1}
_COMPRESSIONS: Final = {
    Compression.NONE: None,
    Compression.GZIP: "gzip",
    Compression.SNAPPY: "snappy",
    Compression.LZ4: "lz4",
    Compression.ZSTD: "zstd",
}
_NOT_APPENDED: Final = (ErrorCode.MESSAGE_TOO_LARGE.name, "RecordTooLargeError")


class AiokafkaWorkload:
    """A client of the library at work. ``run`` it once; ``stop`` ends it."""

    def __init__(
        self, addresses: Mapping[int, tuple[str, int]], client_id: str, history: History
    ) -> None:
        self.progress = Progress()
        self._addresses = addresses
        self._client_id = client_id
        self._history = history
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Begin nothing more; ``run`` ends when what is under way has ended."""
        self._stopping.set()


class AiokafkaWriter(AiokafkaWorkload):
    """Makes numbered records, until it is stopped or they are enough."""

    def __init__(
        self,
        number: int,
        addresses: Mapping[int, tuple[str, int]],
        client_id: str,
        history: History,
        settings: ProducerSettings,
    ) -> None:
        """``number`` is the workload's own in the run, from which its records' numbers come."""
        super().__init__(addresses, client_id, history)
        self._number = number
        self._settings = settings
        self._made = 0

    def _is_over(self) -> bool:
        return self._stopping.is_set() or self._settings.are_enough(self._made)


class AiokafkaProducerWorkload(AiokafkaWriter):
    """One producer; it ends when all that it sent has ended."""

    _under_way: dict[int, Invocation]
    """By the number of the record."""

    async def run(self) -> None:
        """Write until stopped, or until ``records_max`` are made."""
        settings, self._under_way = self._settings, {}
        producer = await started(self._producer, self.progress, self._stopping)
        if producer is None:
            return
        try:
            pace = Pace(settings)
            while not self._is_over():
                for _ in range(settings.batch_records):
                    await self._send(producer)
                await pause(self._stopping, pace.interval_ms())
        finally:
            await self._stop(producer)
            for invocation in self._under_way.values():
                invocation.unknown("the producer stopped")

    def _producer(self) -> Any:
        settings = self._settings
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap(self._addresses),
            client_id=self._client_id,
            acks=_ACKS[settings.acks],
            enable_idempotence=settings.is_idempotent,
            compression_type=_COMPRESSIONS[settings.record_format.compression],
            request_timeout_ms=settings.delivery_timeout_ms,
            retry_backoff_ms=settings.retry_backoff_ms,
        )
        pace_metadata(producer.client, settings.retry_backoff_ms)
        return producer

    async def _stop(self, producer: Any) -> None:
        """Stop the library when all that was made has ended, or its partition is gone.

        The library would wait for such a partition until each record has timed out, and where it is
        idempotent and records are refused for now, for ever.
        """
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        gives_up_s = loop.time() + (GIVES_UP_S if self._settings.acks else STUCK_S)
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(producer.stop(), name=f"stop {self._client_id}")
            ending.add_done_callback(lambda _: ended.set())
            while not ended.is_set():
                await pause(ended, GONE_AFTER_MS)
                self._let_time_out(producer)
                if loop.time() > gives_up_s:
                    producer._sender.sender_task.cancel()  # noqa: SLF001 -- nothing public ends it

    def _let_time_out(self, producer: Any) -> None:
        """Let records for partitions that do not exist wait no more."""
        known = producer.client.cluster.partitions_for_topic(self._settings.topic) or ()
        # The library has no public way to give up records.
        waiting = producer._message_accumulator._batches  # noqa: SLF001
        for tp, batches in waiting.items():
            for batch in batches if tp.partition not in known else ():
                batch._ttl = 0  # noqa: SLF001

    async def _send(self, producer: Any) -> None:
        settings = self._settings
        try:
            partitions = sorted(await producer.partitions_for(settings.topic))
        except AiokafkaError as error:  # such as a topic that is being made anew
            self.progress.count_error(error_name(error))
            return
        if self._is_over() or not partitions:
            return
        tp = TopicPartition(settings.topic, partitions[self._made % len(partitions)])
        number = record_number(self._number, self._made)
        self._made += 1
        identity = UNTOLD if settings.is_idempotent else None
        send = Send(tp, (number,), settings.acks, identity, keys=settings.keys)
        is_deletion = is_tombstone(number, settings.keys)
        invocation = self._history.begin(self._client_id, Function.SEND, send)
        self._under_way[number] = invocation
        try:
            sent = await producer.send(
                tp.topic,
                None if is_deletion else payload(number, settings.record_bytes),
                key=key_of(number, settings.keys),
                partition=tp.partition,
                headers=list(tombstone_headers(number)) if is_deletion else None,
            )
        except AiokafkaError as error:
            self._failed(number, error)
        else:
            sent.add_done_callback(partial(self._ended, number))

    def _ended(self, number: int, sent: asyncio.Future[Any]) -> None:
        if number not in self._under_way:
            return
        error = asyncio.CancelledError() if sent.cancelled() else sent.exception()
        if error is not None:
            self._failed(number, error)
            return
        invocation = self._under_way.pop(number)
        send = invocation.value
        assert isinstance(send, Send)
        self.progress.acknowledged += 1
        # With acks=0 there is no metadata.
        offset = -1 if sent.result() is None else sent.result().offset
        invocation.ok(send._replace(base_offset=offset))

    def _failed(self, number: int, error: BaseException) -> None:
        name = error_name(error)
        self.progress.count_error(name)
        invocation = self._under_way.pop(number)
        if name in _NOT_APPENDED:
            invocation.fail(name)
        else:
            invocation.unknown(name)


class ReaderSettings(Protocol):
    """What readers of all kinds are told."""

    @property
    def topic(self) -> str:
        """The topic that is read."""
        ...

    @property
    def group(self) -> str:
        """Its group; "": none."""
        ...

    @property
    def is_read_committed(self) -> bool:
        """Whether it gets no records of transactions that are open or aborted."""
        ...

    @property
    def retry_backoff_ms(self) -> int:
        """How long it waits after an error."""
        ...

    @property
    def metadata_max_age_ms(self) -> int:
        """How often it asks for metadata when nothing goes wrong."""
        ...


SettingsT = TypeVar("SettingsT", bound=ReaderSettings)


class AiokafkaReader(AiokafkaWorkload, ABC, Generic[SettingsT]):
    """Polls a consumer of the library."""

    def __init__(
        self,
        addresses: Mapping[int, tuple[str, int]],
        client_id: str,
        history: History,
        settings: SettingsT,
    ) -> None:
        super().__init__(addresses, client_id, history)
        self.positions: dict[TopicPartition, int] = {}
        """Behind what it has read, of the partitions that it is assigned."""
        self._position_reset = PositionReset(self._stopping, settings.retry_backoff_ms)
        self.topic = settings.topic
        self.group = settings.group
        self._settings = settings

    async def run(self) -> None:
        """Read until stopped, by another consumer where one fetches no more."""
        while consumer := await started(self._subscribed, self.progress, self._stopping):
            try:
                while not self._stopping.is_set() and is_fetching(consumer):
                    reads = await self._poll(consumer)
                    if reads:
                        await self._after_read(consumer, reads)
                    self.positions |= reading_place(consumer).positions
            finally:
                await ended(consumer)

    @abstractmethod
    def _subscribed(self) -> Any:
        """Return a consumer that knows what to read and is not started yet."""

    async def _after_read(self, consumer: Any, reads: Sequence[Read]) -> None:
        """Called with what a poll brought, once the history has it."""

    def _consumer(self, *topics: str, **words: Any) -> Any:
        """Return a consumer; ``words`` are added to those that are the same for all."""
        is_committed = self._settings.is_read_committed
        consumer: Any = AIOKafkaConsumer(
            *topics,
            bootstrap_servers=bootstrap(self._addresses),
            client_id=self._client_id,
            auto_offset_reset="none",
            enable_auto_commit=False,
            isolation_level="read_committed" if is_committed else "read_uncommitted",
            retry_backoff_ms=self._settings.retry_backoff_ms,
            metadata_max_age_ms=self._settings.metadata_max_age_ms,
            **words,
        )
        # The library has no public way to its client.
        client, backoff_ms = consumer._client, self._settings.retry_backoff_ms  # noqa: SLF001
        pace_metadata(client, backoff_ms)
        pace_fetches(client, backoff_ms)
        hear_group_errors(client)
        return consumer

    async def _poll(self, consumer: Any) -> list[Read]:
        asked = Poll(NO_LEADER, (), is_committed=self._settings.is_read_committed)
        with self._history.begin(self._client_id, Function.POLL, asked) as polling:
            place = reading_place(consumer)
            try:
                found = await consumer.getmany(timeout_ms=POLL_MS)
            except AiokafkaError as error:
                if not isinstance(error, NoOffsetForPartitionError):  # It begins to read.
                    self.progress.count_error(error_name(error))
                polling.fail(error_name(error))
                await self._go_back(consumer, place)
                await self._position_reset.after(consumer, error, self.positions)
                return []
            self._position_reset.polled()
            reads = [read_of(tp, records) for tp, records in sorted(found.items()) if records]
            self.progress.read += sum(len(read.records) for read in reads)
            polling.ok(asked._replace(reads=tuple(reads)))
        return reads

    async def _go_back(self, consumer: Any, place: ReadingPlace) -> None:
        while not self._stopping.is_set():
            try:
                await go_back(consumer, place, has_group=bool(self.group))
            except AiokafkaError as error:
                self.progress.count_error(error_name(error))
                await pause(self._stopping, self._settings.retry_backoff_ms)
            else:
                return


class AiokafkaConsumerWorkload(AiokafkaReader[ConsumerSettings]):
    """One consumer without a group, from the beginning."""

    def _subscribed(self) -> Any:
        anew = Assignment("", NO_GENERATION, ())
        with self._history.begin(self._client_id, Function.ASSIGN, anew) as assigning:
            assigning.ok(anew)
        return self._consumer(self._settings.topic, group_id=None)

    async def _after_read(self, consumer: Any, reads: Sequence[Read]) -> None:
        """Keep where it is: the library may have forgotten it by now."""
        self.positions |= {read.tp: read.records[-1][0] + 1 for read in reads}


def is_fetching(consumer: Any) -> bool:
    """Tell whether a started consumer fetches, or its application would have to begin it anew.

    The library's fetcher ends without a word to anybody where its lookups at two brokers tell that
    the same partition has no offset yet (``Fetcher._set_error`` asserts that only one does).
    """
    return not consumer._fetcher._fetch_task.done()  # noqa: SLF001 -- nothing public tells


def library_offsets(offsets: Mapping[TopicPartition, int]) -> dict[Any, int]:
    """Return offsets by partitions as the library takes them."""
    return {_Partition(*tp): offset for tp, offset in offsets.items()}


def bootstrap(addresses: Mapping[int, tuple[str, int]]) -> str:
    """Return all brokers as the library takes them."""
    return ",".join(f"{host}:{port}" for host, port in addresses.values())


def read_of(tp: Any, records: Any) -> Read:
    """Return what the library read of a partition."""
    return Read(
        TopicPartition(tp.topic, tp.partition),
        records[0].offset,
        records=tuple(
            (record.offset, number_of(record.value, record.headers)) for record in records
        ),
    )
