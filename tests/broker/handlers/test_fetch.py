"""Fetch: sessions, topic ids, byte limits passed on, errors that old clients know."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from broker.core.fetch_session import SESSION_PARTITIONS_MAX
from broker.engine.serve.fetch import PARTS_OF_A_STEP
from broker.engine.types import AbortedTransaction, EpochEndOffset, FetchResult, LeaderHint
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.message_set import iterate_message_views, iterate_messages
from protocol.wire.steps import STEP_ITEMS
from tests.broker.fakes import TOPIC_ID, FakeBroker, batch, topic_state, update_metadata

ORDERS_0 = TopicPartition("orders", 0)
OTHER_ID = bytes(range(16, 32))


def fetch(
    *partitions: int,
    version: int = 12,
    session: tuple[int, int] = (0, -1),
    topic_id: bytes = TOPIC_ID,
) -> FetchRequest:
    asked = [
        FetchPartition(partition=index, fetch_offset=5, partition_max_bytes=1_000)
        for index in partitions
    ]
    topics = [FetchTopic(partitions=asked)]
    request = FetchRequest(max_wait_ms=100, min_bytes=1, topics=topics)
    if version >= 3:
        request.max_bytes = 10_000
    if version >= 7:
        request.session_id, request.session_epoch = session
    if version >= 13:
        request.topics[0].topic_id = topic_id
    else:
        request.topics[0].topic = "orders"
    return request


def filled(size: int = 1) -> FetchResult:
    records = (batch(),) * size
    return FetchResult(
        high_watermark=9,
        last_stable_offset=9,
        log_start_offset=0,
        records=records,
        records_size_bytes=len(batch()) * size,
    )


@pytest.mark.parametrize("version", range(4, 19))
async def test_records_and_offsets_arrive_at_every_version(broker: FakeBroker, version: int):
    broker.engine.fetch_results[ORDERS_0] = filled(2)
    response = await broker.ask(fetch(0, 1, version=version), version)
    (topic,) = response.responses
    first, second = topic.partitions
    assert bytes(first.records) == batch() * 2
    assert bytes(second.records) == b""
    assert (first.high_watermark, first.last_stable_offset) == (9, 9)
    if version >= 13:
        assert bytes(topic.topic_id) == TOPIC_ID
    else:
        assert topic.topic == "orders"
    params, parts = broker.engine.fetched[0]
    assert (params.max_wait_ms, params.min_bytes, params.max_bytes) == (100, 1, 10_000)
    assert [part.tp for part in parts] == [ORDERS_0, TopicPartition("orders", 1)]
    assert parts[0].fetch_offset == 5


@pytest.mark.scenario(61)
@pytest.mark.parametrize(
    ("version", "code"),
    [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)],
)
async def test_a_storage_error_reads_as_a_lost_leader_before_version_6(
    broker: FakeBroker, version: int, code: ErrorCode
):
    broker.engine.fetch_results[ORDERS_0] = FetchResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    response = await broker.ask(fetch(0, version=version), version)
    partition = response.responses[0].partitions[0]
    assert partition.error_code == code
    assert (partition.high_watermark, bytes(partition.records)) == (-1, b"")


async def test_an_unknown_topic_id_is_told_and_the_rest_is_read(broker: FakeBroker):
    request = fetch(0, version=13)
    request.topics = [*request.topics, *fetch(0, version=13, topic_id=OTHER_ID).topics]
    response = await broker.ask(request, 13)
    known, unknown = response.responses
    assert known.partitions[0].error_code == ErrorCode.NONE
    assert bytes(unknown.topic_id) == OTHER_ID
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    params, parts = broker.engine.fetched[0]
    assert [part.tp for part in parts] == [ORDERS_0]
    assert params.max_wait_ms == 0


async def test_a_session_names_only_what_is_news(broker: FakeBroker):
    first = await broker.ask(fetch(0, 1, session=(0, 0)), 12)
    assert first.session_id > 0
    assert len(first.responses[0].partitions) == 2
    again = fetch(session=(first.session_id, 1))
    again.topics = []
    broker.engine.fetch_results[ORDERS_0] = filled()
    second = await broker.ask(again, 12)
    assert second.session_id == first.session_id
    assert [p.partition_index for p in second.responses[0].partitions] == [0]
    assert len(broker.engine.fetched[1][1]) == 2


async def test_forgotten_partitions_are_read_no_more(broker: FakeBroker):
    first = await broker.ask(fetch(0, 1, session=(0, 0), version=13), 13)
    again = fetch(session=(first.session_id, 1), version=13)
    again.topics = []
    again.forgotten_topics_data = [ForgottenTopic(topic_id=TOPIC_ID, partitions=[1])]
    await broker.ask(again, 13)
    assert [part.tp for part in broker.engine.fetched[1][1]] == [ORDERS_0]


async def test_a_session_finds_a_topic_that_becomes_known_later(broker: FakeBroker):
    first = await broker.ask(fetch(0, session=(0, 0), version=13, topic_id=OTHER_ID), 13)
    assert first.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    broker.engine.metadata.update(update_metadata(topic_state("late", topic_id=OTHER_ID)))
    again = fetch(session=(first.session_id, 1), version=13)
    again.topics = []
    second = await broker.ask(again, 13)
    assert second.responses[0].partitions[0].error_code == ErrorCode.NONE
    assert broker.engine.fetched[-1][1][0].tp == TopicPartition("late", 0)


@pytest.mark.parametrize(
    ("session", "code"),
    [
        ((77, 1), ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        ((0, 5), ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ],
)
async def test_a_lost_session_is_told_at_the_top_alone(
    broker: FakeBroker, session: tuple[int, int], code: ErrorCode
):
    response = await broker.ask(fetch(0, session=session), 12)
    assert response.error_code == code
    assert response.session_id == 0
    assert list(response.responses) == []


async def test_a_defect_marks_the_partitions_of_versions_with_names(broker: FakeBroker):
    broker.engine.error = RuntimeError("defect")
    response = await broker.ask(fetch(0, 1), 12)
    assert [p.error_code for p in response.responses[0].partitions] == [-1, -1]


@pytest.mark.parametrize("version", [14, 15])
async def test_a_follower_is_known_by_its_id_at_either_place(broker: FakeBroker, version: int):
    request = fetch(0, version=version)
    request.replica_id, state = (
        (-1, ReplicaState(replica_id=2, replica_epoch=7)) if version >= 15 else (2, ReplicaState())
    )
    request.replica_state = state
    await broker.ask(request, version)
    params = broker.engine.fetched[0][0]
    assert (params.replica_id, params.replica_epoch) == (2, state.replica_epoch)


@pytest.mark.parametrize(("asked", "given"), [(10_000, 2048), (-(2**31), -(2**31))])
async def test_the_answer_is_never_larger_than_the_broker_allows(asked: int, given: int):
    broker, request = FakeBroker(fetch_max_bytes="2048"), fetch(0)
    request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = asked
    await broker.ask(request, 12)
    params, (part,) = broker.engine.fetched[0]
    assert (params.max_bytes, part.max_bytes) == (given, asked)


@pytest.mark.parametrize("version", [4, 12, 15, 16])
async def test_a_lost_leader_is_named_where_the_version_can(broker: FakeBroker, version: int):
    broker.engine.fetch_results[ORDERS_0] = FetchResult(
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=LeaderHint(2, 6)
    )
    response = await broker.ask(fetch(0, version=version), version)
    partition = response.responses[0].partitions[0]
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.current_leader.leader_id == (2 if version >= 16 else -1)


async def test_rare_parts_of_an_answer_arrive(broker: FakeBroker):
    result = filled()
    result.aborted = (AbortedTransaction(8, 3),)
    result.diverging_epoch = EpochEndOffset(4, 40)
    result.current_leader = LeaderHint(2, 6)
    broker.engine.fetch_results[ORDERS_0] = result
    response = await broker.ask(fetch(0, version=16), 16)
    partition = response.responses[0].partitions[0]
    assert [(a.producer_id, a.first_offset) for a in partition.aborted_transactions] == [(8, 3)]
    assert (partition.diverging_epoch.epoch, partition.diverging_epoch.end_offset) == (4, 40)
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (2, 6)
    assert [(n.node_id, n.port) for n in response.node_endpoints] == [(2, 9092)]


OLD_VERSIONS = [(0, 0), (1, 0), (2, 1), (3, 1)]


def stored(codec: Compression = Compression.NONE, *, base_offset: int = 5) -> FetchResult:
    records = [NewRecord(b"a", b"k", 1, (("h", b"v"),)), NewRecord(b"b", None, 2)]
    data = bytes(build_batch(records, BatchOptions(base_offset=base_offset, compression=codec)))
    return FetchResult(
        high_watermark=9,
        last_stable_offset=9,
        log_start_offset=0,
        records=(data,),
        records_size_bytes=len(data),
    )


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP, Compression.LZ4])
@pytest.mark.parametrize(("version", "magic"), OLD_VERSIONS)
async def test_versions_before_batches_get_message_sets(
    broker: FakeBroker, version: int, magic: int, codec: Compression
):
    broker.engine.fetch_results[ORDERS_0] = stored(codec)
    response = await broker.ask(fetch(0, 1, version=version), version)
    first, second = response.responses[0].partitions
    assert (first.error_code, first.high_watermark) == (ErrorCode.NONE, 9)
    data = bytes(first.records)
    found = [v for p, h in iterate_messages(data) for v in iterate_message_views(data, p, h)]
    assert [(view.offset, view.value) for view in found] == [(5, b"a"), (6, b"b")]
    assert {header.magic for _, header in iterate_messages(data)} == {magic}
    assert (second.error_code, bytes(second.records)) == (ErrorCode.NONE, b"")


@pytest.mark.parametrize(("version", "code"), [(0, 35), (3, 35), (4, 0)])
async def test_topics_may_forbid_the_conversion(broker: FakeBroker, version: int, code: int):
    broker.topic_configs.known["orders"] = {"message.downconversion.enable": "false"}
    broker.engine.fetch_results[ORDERS_0] = stored()
    response = await broker.ask(fetch(0, 1, version=version), version)
    first, second = response.responses[0].partitions
    assert (first.error_code, second.error_code) == (code, code)
    assert (len(first.records) > 0) == (code == 0)


async def test_followers_get_what_consumers_may_not(broker: FakeBroker):
    broker.topic_configs.known["orders"] = {"message.downconversion.enable": "false"}
    broker.engine.fetch_results[ORDERS_0] = stored()
    request = fetch(0, version=3)
    request.replica_id = 2
    response = await broker.ask(request, 3)
    assert response.responses[0].partitions[0].error_code == ErrorCode.NONE


async def test_an_absent_partition_keeps_its_error_whatever_its_topic_forbids(broker: FakeBroker):
    broker.topic_configs.known["orders"] = {"message.downconversion.enable": "false"}
    for told, code in (
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNSUPPORTED_VERSION),
    ):
        broker.engine.fetch_results[ORDERS_0] = FetchResult(error_code=told)
        response = await broker.ask(fetch(0, version=3), 3)
        assert response.responses[0].partitions[0].error_code == code


@pytest.mark.parametrize("version", [0, 3])
async def test_batches_in_zstd_cannot_be_told_to_old_clients(broker: FakeBroker, version: int):
    broker.engine.fetch_results[ORDERS_0] = stored(Compression.ZSTD)
    response = await broker.ask(fetch(0, version=version), version)
    (partition,) = response.responses[0].partitions
    assert partition.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert (bytes(partition.records), partition.high_watermark) == (b"", -1)


@pytest.mark.parametrize("case", [(3, None, 76), (9, "3.9", 76), (10, None, 0), (9, "4.0", 0)])
async def test_topics_in_zstd_need_version_10_before_4_0(
    broker: FakeBroker, case: tuple[int, str | None, int]
):
    version, broker.context.release, code = case
    broker.topic_configs.known["orders"] = {"compression.type": "zstd"}
    broker.engine.fetch_results[ORDERS_0] = stored()
    response = await broker.ask(fetch(0, version=version), version)
    assert response.responses[0].partitions[0].error_code == code


async def test_what_is_damaged_on_disk_is_told_when_it_must_be_read(broker: FakeBroker):
    result = stored(Compression.GZIP)
    damaged = bytearray(result.records[0])
    damaged[62] ^= 255
    broker.engine.fetch_results[ORDERS_0] = replace(result, records=(damaged,))
    response = await broker.ask(fetch(0, version=3), 3)
    (partition,) = response.responses[0].partitions
    assert (partition.error_code, bytes(partition.records)) == (ErrorCode.CORRUPT_MESSAGE, b"")


@pytest.mark.parametrize("version", [1, 3, 12])
async def test_records_are_counted_as_large_as_they_are_sent(broker: FakeBroker, version: int):
    broker.engine.fetch_results[ORDERS_0] = stored()
    response = await broker.ask(fetch(0, version=version), version)
    sent_bytes = len(bytes(response.responses[0].partitions[0].records))
    counters = broker.metrics.counters
    assert sent_bytes > 0
    assert counters.bytes_out.value == sent_bytes
    request = fetch(0, version=12)
    request.replica_id = 2
    await broker.ask(request, 12)
    assert counters.replication_bytes_out.value == stored().records_size_bytes
    assert counters.bytes_out.value == sent_bytes


@pytest.mark.parametrize("version", [12, 13])
async def test_what_a_session_of_very_many_forgets_is_refused_and_let_go_of(
    broker: FakeBroker, version: int
) -> None:
    request = fetch(0, session=(7, 1), version=version)
    name: dict[str, Any] = {"topic": "orders"} if version < 13 else {"topic_id": OTHER_ID}
    request.forgotten_topics_data = [
        ForgottenTopic(**name, partitions=[]) for _ in range(SESSION_PARTITIONS_MAX)
    ]
    response = await broker.ask(request, version)
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert broker.engine.fetched == []


async def test_very_many_topics_without_partitions_give_others_their_turns(
    broker: FakeBroker,
) -> None:
    request = fetch(session=(0, -1))
    request.topics = [FetchTopic(topic="orders", partitions=[])] * (20 * PARTS_OF_A_STEP)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count_turns())
        response = await broker.ask(request, 12)
        counting.cancel()
    assert response.error_code == ErrorCode.NONE
    decoded_in = 20 * PARTS_OF_A_STEP // STEP_ITEMS
    assert turns >= decoded_in + 19


@pytest.mark.parametrize(
    ("code", "aborted"),
    [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ()), (ErrorCode.OFFSET_OUT_OF_RANGE, None)],
)
async def test_who_has_no_partition_has_an_empty_list_of_aborted_transactions(
    broker: FakeBroker, code: ErrorCode, aborted: tuple[()] | None
):
    """As Kafka writes it: null for errors of reads, an empty list for those found before."""
    broker.engine.fetch_results[ORDERS_0] = FetchResult(error_code=code)
    (partition,) = (await broker.ask(fetch(0), 12)).responses[0].partitions
    assert partition.error_code == code
    assert partition.aborted_transactions == aborted


async def test_of_a_partition_that_is_named_twice_the_last_counts_at_the_first_place(
    broker: FakeBroker,
):
    request = fetch(0, 1, 0)
    request.topics[0].partitions[2].fetch_offset = 7
    response = await broker.ask(request, 12)
    assert [p.partition_index for p in response.responses[0].partitions] == [0, 1]
    assert [part.fetch_offset for part in broker.engine.fetched[0][1]] == [7, 5]


@pytest.mark.parametrize("level", [2, -1])
async def test_an_unknown_isolation_level_fails_the_whole_fetch(broker: FakeBroker, level: int):
    request = fetch(0, version=4)
    request.isolation_level = level
    (partition,) = (await broker.ask(request, 4)).responses[0].partitions
    assert (partition.error_code, partition.records) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert partition.aborted_transactions == ()
    assert broker.engine.fetched == []
    for version in (12, 13):
        request = fetch(0, version=version, session=(1234, 5))
        request.isolation_level = level
        assert (await broker.ask(request, version)).session_id == 1234


async def test_any_leader_epoch_below_zero_is_none(broker: FakeBroker):
    request = fetch(0)
    request.topics[0].partitions[0].current_leader_epoch = -2
    await broker.ask(request, 12)
    assert broker.engine.fetched[0][1][0].current_leader_epoch == -1
