"""Serves: WriteTxnMarkers (27), the ends of transactions from their coordinator.

Differs from Kafka: a partition on a failed log dir is answered KAFKA_STORAGE_ERROR, which
coordinators retry as they do Kafka's answer.
Versions: 0-2. Version 2, of Kafka 4.3, tells that every transaction has an epoch of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

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

_NEVER_MS: Final = 2**31 - 1
"""What ends offsets is waited for as long as this broker leads their partition."""


class _MarkerCode(NamedTuple):
    producer_id: int
    tp: TopicPartition
    code: ErrorCode


def refuse(
    request: WriteTxnMarkersRequest, _version: int, error: KafkaError
) -> WriteTxnMarkersResponse:
    """Put the code into every partition."""
    return _response(
        _MarkerCode(marker.producer_id, tp, error.code)
        for marker, tp in _partitions(request.markers)
    )


@handles(WriteTxnMarkersRequest, "0-2", refuse=refuse)
async def handle(
    context: Context, request: WriteTxnMarkersRequest, _version: int
) -> WriteTxnMarkersResponse | Begun:
    """Append every marker to each of its partitions; answered when all replicas have them.

    Offsets are ended as soon as those of their own partition do, though the answer tells of a
    timeout before: who hears of that may never ask again (seed 1061165).

    Raises:
        KafkaError: UNKNOWN_SERVER_ERROR, for a marker that cannot be: Kafka fails to build its
            batch, or to find its transaction's version.
    """
    if not all(map(_can_be, request.markers)):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    every = list(_partitions(request.markers))
    answer = _Answer(len(every))
    now_ms, timeout_ms = context.wall_ms(), context.config.request_timeout_ms
    for asked in _shares(every):
        ends_offsets = asked[0][1].topic == CONSUMER_OFFSETS
        begun = await context.produces.begin(
            [_part(marker, tp, now_ms) for marker, tp in asked],
            acks=ACKS_ALL,
            timeout_ms=_NEVER_MS if ends_offsets else timeout_ms,
        )
        answer.add_when_known(context, asked, begun, timeout_ms)
    if answer.is_whole:
        return answer.response()
    return Begun(answer.ready, answer.response, lambda: None)


def _shares(
    asked: Sequence[tuple[WritableTxnMarker, TopicPartition]],
) -> Iterator[list[tuple[WritableTxnMarker, TopicPartition]]]:
    """Give what is waited for together: offsets that are ended wait for no other partition.

    Source: KafkaApis.handleWriteTxnMarkersRequest, GroupCoordinatorService.completeTransaction.
    """
    if others := [each for each in asked if each[1].topic != CONSUMER_OFFSETS]:
        yield others
    yield from ([each] for each in asked if each[1].topic == CONSUMER_OFFSETS)


class _Answer:
    """What became of the markers of a request, as they are replicated, refused or late.

    They are ended so, too, when who asked has hung up.
    """

    def __init__(self, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._count = count
        self._shares = 0
        self._told: dict[int, list[_MarkerCode]] = {}
        """By share of the request: what is answered, the first that was known."""

    @property
    def is_whole(self) -> bool:
        """Whether all is known."""
        return sum(map(len, self._told.values())) == self._count

    def response(self) -> WriteTxnMarkersResponse:
        """Return it, when it is whole."""
        return _response(code for _, codes in sorted(self._told.items()) for code in codes)

    def add_when_known(
        self,
        context: Context,
        asked: Sequence[tuple[WritableTxnMarker, TopicPartition]],
        begun: BegunProduce,
        timeout_ms: int,
    ) -> None:
        """Add what becomes of some markers, as soon as that is known, or that they are late."""
        share = self._shares = self._shares + 1
        if begun.ready.done():
            self._tell(share, _finish(context, asked, begun))
            return
        late = [_MarkerCode(m.producer_id, tp, ErrorCode.REQUEST_TIMED_OUT) for m, tp in asked]
        timer = self._loop.call_later(timeout_ms / 1000, self._tell, share, late)

        def finish(_: object) -> None:
            timer.cancel()
            self._tell(share, _finish(context, asked, begun))

        begun.ready.add_done_callback(finish)

    def _tell(self, share: int, codes: list[_MarkerCode]) -> None:
        self._told.setdefault(share, codes)
        if self.is_whole and not self.ready.done():
            self.ready.set_result(None)


def _finish(
    context: Context,
    asked: Sequence[tuple[WritableTxnMarker, TopicPartition]],
    begun: BegunProduce,
) -> list[_MarkerCode]:
    codes: list[_MarkerCode] = []
    for (marker, tp), result in zip(asked, begun.results(), strict=True):
        codes.append(_MarkerCode(marker.producer_id, tp, result.error_code))
        if tp.topic == CONSUMER_OFFSETS and result.error_code is ErrorCode.NONE:
            is_commit = marker.transaction_result
            context.groups.transaction_ended(tp, marker.producer_id, is_commit=is_commit)
    return codes


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


def _response(codes: Iterable[_MarkerCode]) -> WriteTxnMarkersResponse:
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
