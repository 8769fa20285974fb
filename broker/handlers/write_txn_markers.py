"""Serves: WriteTxnMarkers (27), the ends of transactions from their coordinator.

Differs from Kafka: a partition on a failed log dir is answered KAFKA_STORAGE_ERROR, which
coordinators retry as they do Kafka's answer.
Versions: 0-2. Version 2, of Kafka 4.3, tells that every transaction has an epoch of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence

from broker.context import Context
from broker.core.transactions import EndMarker, build_marker
from broker.engine.types import ProducePart
from broker.engine_ports import BegunProduce
from broker.handlers import Begun, handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.produce import ACKS_ALL
from protocol.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.topic_names import CONSUMER_OFFSETS


def refuse(
    request: WriteTxnMarkersRequest, _version: int, error: KafkaError
) -> WriteTxnMarkersResponse:
    """Put the code into every partition."""
    return _response(
        (marker.producer_id, tp, error.code) for marker, tp in _partitions(request.markers)
    )


@handles(WriteTxnMarkersRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: WriteTxnMarkersRequest, _version: int
) -> WriteTxnMarkersResponse | Begun:
    """Append every marker to each of its partitions; answered when all replicas have them.

    Raises:
        KafkaError: UNKNOWN_SERVER_ERROR, for a marker that cannot be: Kafka fails to build its
            batch, or to find its transaction's version.
    """
    if not all(map(_can_be, request.markers)):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    asked = list(_partitions(request.markers))
    now_ms = context.wall_ms()
    begun = await context.produces.begin(
        [_part(marker, tp, now_ms) for marker, tp in asked],
        acks=ACKS_ALL,
        timeout_ms=context.config.request_timeout_ms,
    )
    if begun.ready.done():
        return _finish(context, asked, begun)
    return _finished_later(context, asked, begun)


def _finished_later(
    context: Context,
    asked: Sequence[tuple[WritableTxnMarker, TopicPartition]],
    begun: BegunProduce,
) -> Begun:
    """End the offsets when all replicas have the markers, though who asked may have hung up."""
    answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    responses: list[WriteTxnMarkersResponse] = []

    def finish(_ready: object) -> None:
        responses.append(_finish(context, asked, begun))
        if not answered.done():
            answered.set_result(None)

    begun.ready.add_done_callback(finish)
    return Begun(answered, lambda: responses[0], lambda: None)


def _finish(
    context: Context,
    asked: Sequence[tuple[WritableTxnMarker, TopicPartition]],
    begun: BegunProduce,
) -> WriteTxnMarkersResponse:
    codes: list[tuple[int, TopicPartition, ErrorCode]] = []
    for (marker, tp), result in zip(asked, begun.results(), strict=True):
        codes.append((marker.producer_id, tp, result.error_code))
        if tp.topic == CONSUMER_OFFSETS and result.error_code is ErrorCode.NONE:
            is_commit = marker.transaction_result
            context.groups.transaction_ended(tp, marker.producer_id, is_commit=is_commit)
    return _response(codes)


def _partitions(
    markers: Iterable[WritableTxnMarker],
) -> Iterator[tuple[WritableTxnMarker, TopicPartition]]:
    for marker in markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                yield marker, TopicPartition(topic.name, index)


def _can_be(marker: WritableTxnMarker) -> bool:
    return min(marker.producer_id, marker.producer_epoch, marker.transaction_version) >= 0


def _part(asked: WritableTxnMarker, tp: TopicPartition, now_ms: int) -> ProducePart:
    marker = EndMarker(
        asked.producer_id,
        asked.producer_epoch,
        asked.coordinator_epoch,
        asked.transaction_result,
        asked.transaction_version,
    )
    return ProducePart(tp, memoryview(build_marker(marker, now_ms)), marker)


def _response(
    codes: Iterable[tuple[int, TopicPartition, ErrorCode]],
) -> WriteTxnMarkersResponse:
    """Group by producer id, as Kafka does: two markers of one producer share an entry."""
    by_producer: dict[int, dict[str, dict[int, ErrorCode]]] = {}
    for producer_id, tp, code in codes:
        topics = by_producer.setdefault(producer_id, {})
        topics.setdefault(tp.topic, {})[tp.partition] = code
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[_topic(name, partitions) for name, partitions in topics.items()],
            )
            for producer_id, topics in by_producer.items()
        ]
    )


def _topic(name: str, partitions: Mapping[int, ErrorCode]) -> WritableTxnMarkerTopicResult:
    return WritableTxnMarkerTopicResult(
        name=name,
        partitions=[
            WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)
            for index, code in partitions.items()
        ],
    )
