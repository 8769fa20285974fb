"""Single requests about one partition to one broker, in a version of one's choice, for their code.

What is written is in the history as any client's record; what else the answers say is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from protocol.admin.cluster import metadata_request
from protocol.admin.offsets import (
    WantedEpoch,
    delete_records_request,
    epoch_ends_request,
    list_offsets_request,
)
from protocol.errors import ErrorCode, Malformed
from protocol.ids import TopicPartition
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.offsets import LATEST
from protocol.messages.produce import (
    ACKS_ALL,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.messages.producer_ids import DescribeProducersRequest, TopicRequest
from protocol.ports import WallClock
from protocol.records.build import NewRecord, build_batch
from simulation.core.history import Function, History, Send
from simulation.core.payload import payload, record_number
from simulation.workload.clients import ClusterClient

WORKLOAD: Final = 0
"""The number that its records bear; workloads count from 1."""
_RECORD_BYTES: Final = 100
_MAX_BYTES: Final = 1 << 20
_VERSIONS: Final = {
    "Produce": 9,
    "Fetch": 12,
    "ListOffsets": 6,
    "OffsetForLeaderEpoch": 4,
    "DeleteRecords": 2,
    "DescribeProducers": 0,
    "Metadata": 9,
}
"""Those that name topics, not ids."""


class Asker:
    """Asks, and remembers how many records it wrote."""

    def __init__(self, client: ClusterClient, history: History, clock: WallClock) -> None:
        """``clock`` stamps what it writes."""
        self._clock = clock
        self._client = client
        self._history = history
        self._written = 0

    async def ask(
        self,
        api: str,
        broker: int,
        tp: TopicPartition,
        version: int | None = None,
        offset: int = 0,
        time_ms: int | None = None,
    ) -> ErrorCode:
        """Return the code that ``broker`` answers for ``tp``.

        ``offset`` and ``time_ms``, since 1970, are where those matter; None: the end.

        Raises:
            OSError, Malformed: it does not answer.
        """
        chosen = _VERSIONS[api] if version is None else version
        if api == "Produce":
            return await self._produce(broker, tp, chosen)
        if api == "ListOffsets":
            request = list_offsets_request({tp: LATEST if time_ms is None else time_ms})
        else:
            request = _REQUESTS[api](tp, offset)
        answer = await self._client.ask(broker, request, chosen)
        return _code(api, answer)

    async def _produce(self, broker: int, tp: TopicPartition, version: int) -> ErrorCode:
        record = record_number(WORKLOAD, self._written)
        self._written += 1
        now_ms = self._clock.now_ms()
        batch = build_batch([NewRecord(payload(record, _RECORD_BYTES), timestamp_ms=now_ms)])
        request = ProduceRequest(
            acks=ACKS_ALL,
            timeout_ms=self._client.request_timeout_ms,
            topic_data=[
                TopicProduceData(
                    name=tp.topic,
                    partition_data=[PartitionProduceData(index=tp.partition, records=batch)],
                )
            ],
        )
        send = Send(tp, (record,), -1)
        with self._history.begin(self._client.client_id, Function.SEND, send) as invocation:
            answer = await self._client.ask(broker, request, version)
            result = answer.responses[0].partition_responses[0]
            code = ErrorCode(result.error_code)
            if code is ErrorCode.NONE:
                invocation.ok(send._replace(base_offset=result.base_offset, broker=broker))
            else:
                invocation.unknown(code.name)
            return code


def _code(api: str, answer: Any) -> ErrorCode:
    topics = answer.responses if api == "Fetch" else answer.topics
    for topic in topics:
        if getattr(topic, "error_code", 0):
            return ErrorCode(topic.error_code)
        for part in topic.partitions:
            return ErrorCode(part.error_code)
    if getattr(answer, "error_code", 0):
        return ErrorCode(answer.error_code)
    raise Malformed(f"{api} is answered without a partition")


def _fetch(tp: TopicPartition, offset: int) -> FetchRequest:
    part = FetchPartition(
        partition=tp.partition, fetch_offset=offset, partition_max_bytes=_MAX_BYTES
    )
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        isolation_level=0,
        session_id=0,
        topics=[FetchTopic(topic=tp.topic, topic_id=bytes(16), partitions=[part])],
        forgotten_topics_data=[],
    )


def _producers(tp: TopicPartition, _: int) -> DescribeProducersRequest:
    topic = TopicRequest(name=tp.topic, partition_indexes=[tp.partition])
    return DescribeProducersRequest(topics=[topic])


_REQUESTS: Final[dict[str, Callable[[TopicPartition, int], Any]]] = {
    "Fetch": _fetch,
    "OffsetForLeaderEpoch": lambda tp, _: epoch_ends_request({tp: WantedEpoch(0)}),
    "DeleteRecords": lambda tp, offset: delete_records_request({tp: offset}, timeout_ms=1000),
    "DescribeProducers": _producers,
    "Metadata": lambda tp, _: metadata_request([tp.topic]),
}
