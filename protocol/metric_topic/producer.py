"""Writes a node's metric rows to the metrics topic, as an idempotent producer with acks=all.

It waits for nobody who samples: what does not fit into its memory is dropped and told. Who may
creates the topic when it is first written to. All rows of one node go to one partition, in their
order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.metric_topic.records import BatchFate, MetricRecords
from protocol.metrics.rows import MetricRow, RowOrigin
from protocol.metrics.topic import METRICS_TOPIC, record_key, record_value
from protocol.metrics.writer import line_begins
from protocol.ports import RpcPort
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch

PRODUCE_VERSION: Final = 9
RETRY_MS: Final = 200
COMPRESSION: Final = Compression.GZIP
"""The one codec that every client reads without a library; batches are small."""
logger = logging.getLogger(__name__)


class Address(NamedTuple):
    """Where a broker is asked."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTopicPorts:
    """What the writer needs of its node."""

    partition_count: Callable[[], int]
    """Of the topic; 0 while nobody knows it."""
    leader_of: Callable[[TopicPartition], Address | None]
    """None while there is none that is alive."""
    connect: Callable[[str, int], RpcPort]
    create_topic: Callable[[], None]
    """Returns at once; called again as long as nobody knows the topic."""
    new_producer_id: Callable[[RpcPort], Awaitable[int]]
    """Given the connection to the leader. Raises KafkaError while there is none, and as that."""
    request_timeout_ms: int
    drop: Callable[[int], None]
    """Told how many rows are lost."""


class MetricTopic:
    """The rows of one node on their way to the topic. ``run`` it once."""

    def __init__(self, ports: MetricTopicPorts, *, node_id: int, origin: RowOrigin) -> None:
        self._ports = ports
        self._node_id = node_id
        self._line_begins = line_begins(origin)
        self._records = MetricRecords()
        self._has_rows = asyncio.Event()
        self._producer_id: int | None = None
        self._client: RpcPort | None = None
        self._leader: Address | None = None
        self._told: ErrorCode | None = None
        """What was logged last, so that a long failure is told once."""

    def offer(self, rows: Sequence[MetricRow]) -> None:
        """Take rows to be written; returns at once."""
        begins = self._line_begins
        records = [
            NewRecord(record_value(begins, row), record_key(row), timestamp_ms=row.at_ms)
            for row in rows
        ]
        self._drop(self._records.offer(records))
        self._has_rows.set()

    async def run(self) -> None:
        """Write what was offered until cancelled; what waits then is told and lost."""
        try:
            while True:
                await self._has_rows.wait()
                self._has_rows.clear()
                while batch := self._records.batch():
                    await self._write(batch)
        finally:
            if self._client is not None:
                self._client.close()
            if len(self._records):
                logger.info("%d metric rows did not reach %s", len(self._records), METRICS_TOPIC)

    async def _write(self, batch: Sequence[NewRecord]) -> None:
        count, code = len(batch), await self._send(batch)
        fate = self._records.answered(code)
        if fate is BatchFate.WRITTEN:
            self._told = None
            return
        if code is not self._told:
            logger.warning("metric rows for %s: %s, %s", METRICS_TOPIC, code.name, fate.name)
            self._told = code
        if fate is BatchFate.REFUSED:
            self._drop(count)
            return
        if fate is BatchFate.AGAIN_BY_ANOTHER_PRODUCER:
            self._producer_id = None
        await asyncio.sleep(RETRY_MS / 1000)

    async def _send(self, batch: Sequence[NewRecord]) -> ErrorCode:
        """Ask the leader to append; return its answer, or what a client would call the trouble."""
        partition_count = self._ports.partition_count()
        if not partition_count:
            self._ports.create_topic()
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        tp = TopicPartition(METRICS_TOPIC, self._node_id % partition_count)
        client = self._client_to(self._ports.leader_of(tp))
        if client is None:
            return ErrorCode.LEADER_NOT_AVAILABLE
        timeout_ms = self._ports.request_timeout_ms
        try:
            if self._producer_id is None:
                self._producer_id = await self._ports.new_producer_id(client)
            request = self._request(tp, batch, self._producer_id)
            response: ProduceResponse = await client.request(
                request, PRODUCE_VERSION, timeout_ms=2 * timeout_ms
            )
        except KafkaError as error:
            return error.code
        except (ConnectionError, TimeoutError):
            return ErrorCode.NETWORK_EXCEPTION
        codes = [each.error_code for one in response.responses for each in one.partition_responses]
        return ErrorCode(codes[0]) if codes else ErrorCode.UNKNOWN_SERVER_ERROR

    def _client_to(self, leader: Address | None) -> RpcPort | None:
        """Return a connection to whoever leads now; None while that one is not alive."""
        if leader != self._leader:
            if self._client is not None:
                self._client.close()
            self._leader = leader
            self._client = leader and self._ports.connect(leader.host, leader.port)
        return self._client

    def _request(
        self, tp: TopicPartition, batch: Sequence[NewRecord], producer_id: int
    ) -> ProduceRequest:
        options = BatchOptions(
            compression=COMPRESSION,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=self._records.base_sequence,
        )
        records = memoryview(build_batch(batch, options))
        part = PartitionProduceData(index=tp.partition, records=records)
        data = TopicProduceData(name=tp.topic, partition_data=[part])
        timeout_ms = self._ports.request_timeout_ms
        return ProduceRequest(acks=ACKS_ALL, timeout_ms=timeout_ms, topic_data=[data])

    def _drop(self, count: int) -> None:
        if count:
            self._ports.drop(count)
