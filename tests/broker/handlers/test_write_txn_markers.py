"""WriteTxnMarkers: one control batch per marker and partition, one code for each."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.transactions import EndMarker, read_marker
from protocol.connection import RequestReceived
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from protocol.records.batch import read_batch_header
from protocol.topic_names import CONSUMER_OFFSETS
from protocol.transport.begun_answers import LaterAnswer
from protocol.wire.fast import codec
from tests.broker.fakes import PEER, WALL_MS, FakeBroker
from tests.deadlines import DEADLINE_S


def request(*producer_ids: int) -> WriteTxnMarkersRequest:
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=producer_id,
                producer_epoch=3,
                transaction_result=True,
                coordinator_epoch=5,
                topics=[
                    WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 1]),
                    WritableTxnMarkerTopic(name="other", partition_indexes=[0]),
                ],
                transaction_version=2,
            )
            for producer_id in producer_ids
        ]
    )


def encoded(asked: WriteTxnMarkersRequest) -> bytes:
    return bytes(codec(WriteTxnMarkersRequest, 1).encode(asked))


def codes_of(response: WriteTxnMarkersResponse) -> list[tuple[int, str, int, int]]:
    return [
        (marker.producer_id, topic.name, partition.partition_index, partition.error_code)
        for marker in response.markers
        for topic in marker.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", range(3))
async def test_a_marker_goes_to_each_of_its_partitions(broker: FakeBroker, version: int) -> None:
    broker.engine.produce_codes[TopicPartition("orders", 1)] = ErrorCode.INVALID_PRODUCER_EPOCH
    response = await broker.ask(request(7), version)
    assert codes_of(response) == [(7, "orders", 0, 0), (7, "orders", 1, 47), (7, "other", 0, 0)]
    ((parts, acks, timeout_ms),) = broker.engine.produced
    assert (len(parts), acks, timeout_ms) == (3, -1, 30_000)
    header = read_batch_header(parts[0].records)
    assert read_marker(header, parts[0].records, 0) == EndMarker(7, 3, 5, is_commit=True)
    assert header.max_timestamp == WALL_MS
    asked = parts[0].marker
    assert asked is not None
    assert asked.transaction_version == (2 if version == 2 else 0)


async def test_two_markers_of_one_producer_share_their_answer(broker: FakeBroker) -> None:
    response = await broker.ask(request(7, 8, 7), 1)
    assert [marker.producer_id for marker in response.markers] == [7, 8]
    assert len(broker.engine.produced[0][0]) == 9


async def test_no_markers_no_answers(broker: FakeBroker) -> None:
    assert codes_of(await broker.ask(request(), 1)) == []


async def test_an_error_is_put_into_every_partition(broker: FakeBroker) -> None:
    broker.engine.error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    codes = codes_of(await broker.ask(request(7), 1))
    assert [code[3] for code in codes] == [19, 19, 19]


async def test_who_coordinates_a_group_is_told_of_a_marker_in_its_partition(
    broker: FakeBroker,
) -> None:
    offsets = WritableTxnMarkerTopic(name=CONSUMER_OFFSETS, partition_indexes=[3, 4])
    asked = request(7)
    asked.markers[0].topics = [*asked.markers[0].topics, offsets]
    refused = TopicPartition(CONSUMER_OFFSETS, 4)
    broker.engine.produce_codes[refused] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    await broker.ask(asked, 1)
    assert broker.groups.ended == [(TopicPartition(CONSUMER_OFFSETS, 3), 7, True)]


@pytest.mark.parametrize("field", ["producer_id", "producer_epoch", "transaction_version"])
async def test_with_one_marker_that_cannot_be_none_is_written(
    broker: FakeBroker, field: str
) -> None:
    """A batch without a producer was written to the log."""
    asked = request(7, 8)
    setattr(asked.markers[1], field, -1)
    codes = {code for *_, code in codes_of(await broker.ask(asked, 2))}
    assert codes == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert broker.engine.produced == []


def with_offsets(broker: FakeBroker) -> WriteTxnMarkersRequest:
    """Return markers for one partition of offsets and three others, which wait to be replicated."""
    asked = request(7)
    offsets = WritableTxnMarkerTopic(name=CONSUMER_OFFSETS, partition_indexes=[3])
    asked.markers[0].topics = [*asked.markers[0].topics, offsets]
    broker.engine.holds_produces = True
    return asked


async def begun_of(broker: FakeBroker, asked: WriteTxnMarkersRequest) -> LaterAnswer:
    received = RequestReceived(27, 1, 1, "test", memoryview(bytearray(encoded(asked))))
    waiting = await broker.dispatcher.dispatch(received, PEER)
    assert isinstance(waiting, LaterAnswer)
    return waiting


async def test_offsets_are_ended_though_who_sent_the_marker_hung_up(broker: FakeBroker) -> None:
    waiting = await begun_of(broker, with_offsets(broker))
    waiting.abandon()
    assert broker.groups.ended == []
    for begun in broker.engine.begun:
        begun.ready.set_result(None)
    await asyncio.sleep(0)
    assert broker.groups.ended == [(TopicPartition(CONSUMER_OFFSETS, 3), 7, True)]


async def test_offsets_are_ended_while_other_partitions_wait_for_their_replicas(
    broker: FakeBroker,
) -> None:
    """Seed 905032: they were told as unstable until all markers of the request were replicated."""
    waiting = await begun_of(broker, with_offsets(broker))
    others, offsets = broker.engine.begun
    offsets.ready.set_result(None)
    await asyncio.sleep(0)
    assert broker.groups.ended == [(TopicPartition(CONSUMER_OFFSETS, 3), 7, True)]
    assert not waiting.ready.done()
    others.ready.set_result(None)
    await asyncio.sleep(0)
    assert waiting.ready.done()


async def test_offsets_are_ended_though_their_marker_is_late() -> None:
    """Who asked is told of a timeout, and may be gone when it is replicated (seed 1061165)."""
    broker = FakeBroker(request_timeout_ms="1")
    waiting = await begun_of(broker, with_offsets(broker))
    others, offsets = broker.engine.begun
    others.ready.set_result(None)
    async with asyncio.timeout(DEADLINE_S):
        await waiting.ready
    assert broker.groups.ended == []
    offsets.ready.set_result(None)
    await asyncio.sleep(0)
    assert broker.groups.ended == [(TopicPartition(CONSUMER_OFFSETS, 3), 7, True)]
