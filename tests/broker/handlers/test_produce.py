"""Produce: one result per partition, silence or a closed connection for acks=0."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.record_errors import RecordError
from broker.core.transaction_state.verifying import ToldCode, Verifying
from broker.engine.types import LeaderHint, ProduceResult
from protocol.connection import CloseConnection
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.records.records import iterate_all_records
from protocol.records.steps import OUTPUT_BYTES_MEDIUM, OUTPUT_BYTES_SHORT
from tests.broker.fakes import TOPIC_ID, FakeBroker, batch
from tests.deadlines import DEADLINE_S

ORDERS_0 = TopicPartition("orders", 0)
ORDERS_1 = TopicPartition("orders", 1)


def produce(acks: int = -1, records: bytes | None = None) -> ProduceRequest:
    data = batch() if records is None else records
    return ProduceRequest(
        acks=acks,
        timeout_ms=500,
        topic_data=[
            TopicProduceData(
                name="orders",
                partition_data=[
                    PartitionProduceData(index=0, records=data),
                    PartitionProduceData(index=1, records=data),
                ],
            )
        ],
    )


@pytest.mark.parametrize("version", range(3, 13))
async def test_each_partition_has_its_own_result(broker: FakeBroker, version: int):
    broker.engine.produce_codes[ORDERS_1] = ErrorCode.KAFKA_STORAGE_ERROR
    response = await broker.ask(produce(), version)
    (topic,) = response.responses
    assert topic.name == "orders"
    assert [(p.index, p.error_code) for p in topic.partition_responses] == [
        (0, ErrorCode.NONE),
        (1, ErrorCode.KAFKA_STORAGE_ERROR),
    ]
    ((parts, acks, timeout_ms),) = broker.engine.produced
    assert [part.tp for part in parts] == [ORDERS_0, ORDERS_1]
    assert (acks, timeout_ms) == (-1, 500)


async def test_from_version_13_on_topics_go_by_their_ids(broker: FakeBroker):
    request = produce()
    (known,) = request.topic_data
    known.topic_id = TOPIC_ID
    (unknown,) = produce().topic_data
    unknown.topic_id = b"nobody has it..."
    request.topic_data = [unknown, known]
    response = await broker.ask(request, 13)
    assert [
        (bytes(topic.topic_id), [(p.index, p.error_code) for p in topic.partition_responses])
        for topic in response.responses
    ] == [
        (b"nobody has it...", [(n, ErrorCode.UNKNOWN_TOPIC_ID) for n in (0, 1)]),
        (TOPIC_ID, [(n, ErrorCode.NONE) for n in (0, 1)]),
    ]
    ((parts, _, _),) = broker.engine.produced
    assert [part.tp for part in parts] == [ORDERS_0, ORDERS_1]


async def test_an_unknown_topic_id_with_acks_0_closes_the_connection(broker: FakeBroker):
    with pytest.raises(CloseConnection, match="UNKNOWN_TOPIC_ID"):
        await broker.ask(produce(acks=0), 13)


async def test_the_engine_gets_writable_memory_of_the_request_itself(broker: FakeBroker):
    await broker.ask(produce(), 9)
    records = broker.engine.produced[0][0][0].records
    assert not records.readonly
    assert bytes(records) == batch()


async def test_bad_acks_refuse_every_partition_and_append_nothing(broker: FakeBroker):
    response = await broker.ask(produce(acks=2), 9)
    codes = [p.error_code for p in response.responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_REQUIRED_ACKS] * 2
    assert response.responses[0].partition_responses[0].error_message is None
    assert broker.engine.produced == []


@pytest.mark.parametrize(
    ("version", "code"),
    [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (13, ErrorCode.UNKNOWN_TOPIC_ID)],
)
@pytest.mark.parametrize(("acks", "refused"), [(2, ErrorCode.INVALID_REQUIRED_ACKS), (1, 0)])
async def test_what_is_not_there_is_told_before_what_is_wrong(
    broker: FakeBroker, version: int, code: ErrorCode, acks: int, refused: int
):
    request = produce(acks=acks)
    request.topic_data[0].partition_data[1].index = 99
    request.topic_data[0].partition_data[1].records = b""
    first, other = (await broker.ask(request, version)).responses[0].partition_responses
    assert (first.error_code, other.error_code) == (refused if version < 13 else code, code)


async def test_records_that_are_no_batch_are_told_before_bad_acks(broker: FakeBroker):
    request = produce(acks=2)
    request.topic_data[0].partition_data[1].records = b""
    codes = [p.error_code for p in (await broker.ask(request, 9)).responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_REQUIRED_ACKS, ErrorCode.INVALID_RECORD]


async def test_an_empty_partition_is_refused_and_the_others_go_on(broker: FakeBroker):
    request = produce()
    request.topic_data[0].partition_data[0].records = None
    response = await broker.ask(request, 9)
    first, second = response.responses[0].partition_responses
    assert first.error_code == ErrorCode.INVALID_RECORD
    assert (second.error_code, second.base_offset) == (ErrorCode.NONE, 0)


async def test_a_topic_without_partitions_is_not_in_the_answer(broker: FakeBroker):
    request = produce()
    request.topic_data = [TopicProduceData(name="empty"), *request.topic_data]
    response = await broker.ask(request, 9)
    assert [topic.name for topic in response.responses] == ["orders"]


async def test_what_is_cut_behind_the_only_batch_is_not_appended(broker: FakeBroker):
    await broker.ask(produce(records=batch() + batch()[:-1]), 9)
    assert bytes(broker.engine.produced[0][0][0].records) == batch()


def transactional(version: int) -> ProduceRequest:
    options = BatchOptions(producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
    request = produce(records=bytes(build_batch([NewRecord(b"v")], options)))
    request.transactional_id = "pay"
    return request


@pytest.mark.parametrize(
    ("version", "how"),
    [
        (8, Verifying.FOR_OLD_CLIENT),
        (11, Verifying.FOR_NEW_CLIENT),
        (12, Verifying.ADDING),
    ],
)
async def test_transactions_are_verified_before_anything_is_appended(
    broker: FakeBroker, version: int, how: Verifying
):
    refusal = ToldCode(ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction")
    broker.verifier.refused[ORDERS_0] = refusal
    response = await broker.ask(transactional(version), version)
    first, second = response.responses[0].partition_responses
    assert first.error_code == ErrorCode.INVALID_TXN_STATE
    if version >= 8:
        assert first.error_message == refusal.message
    assert second.error_code == ErrorCode.NONE
    assert broker.verifier.asked == [("pay", how, (ORDERS_0, ORDERS_1))]
    ((parts, _, _),) = broker.engine.produced
    assert [(part.tp, part.guard) for part in parts] == [(ORDERS_1, broker.verifier.guard)]


async def test_what_a_transaction_is_refused_for_is_told_before_bad_acks(broker: FakeBroker):
    broker.verifier.refused[ORDERS_0] = ToldCode(ErrorCode.INVALID_TXN_STATE, "")
    request = transactional(12)
    request.acks = 2
    codes = [p.error_code for p in (await broker.ask(request, 12)).responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_REQUIRED_ACKS]


async def test_what_is_not_transactional_is_never_verified(broker: FakeBroker):
    await broker.ask(produce(), 12)
    assert broker.verifier.asked == []
    ((parts, _, _),) = broker.engine.produced
    assert [part.guard for part in parts] == [None, None]


@pytest.mark.parametrize(("version", "is_asked"), [(11, False), (12, True)])
async def test_the_switch_ends_verification_but_not_the_adding(
    broker: FakeBroker, version: int, is_asked: bool
):
    broker.broker_configs.set({"transaction.partition.verification.enable": "false"})
    await broker.ask(transactional(version), version)
    assert bool(broker.verifier.asked) is is_asked


@pytest.mark.parametrize(("version", "code"), [(6, 76), (7, 0)])
async def test_zstd_needs_version_7(broker: FakeBroker, version: int, code: int):
    data = bytearray(batch())
    data[22] = 4  # the codec bits; the CRC is the engine's to check
    response = await broker.ask(produce(records=bytes(data)), version)
    assert response.responses[0].partition_responses[0].error_code == code


async def test_acks_0_gets_no_answer(broker: FakeBroker):
    assert await broker.ask(produce(acks=0), 9) is None


async def test_an_error_with_acks_0_closes_the_connection(broker: FakeBroker):
    broker.engine.produce_codes[ORDERS_0] = ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(CloseConnection, match="KAFKA_STORAGE_ERROR"):
        await broker.ask(produce(acks=0), 9)
    broker.engine.error = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with pytest.raises(CloseConnection):
        await broker.ask(produce(acks=0), 9)


async def test_records_that_wait_are_answered_later_and_let_the_next_request_begin(
    broker: FakeBroker,
) -> None:
    broker.engine.holds_produces = True
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(broker.ask(produce(), 9)) for _ in range(2)]
        await asyncio.sleep(0)
        assert len(broker.engine.produced) == 2
        assert not any(each.done() for each in asked)
        for begun in broker.engine.begun:
            begun.ready.set_result(None)
    for each in asked:
        (topic,) = each.result().responses
        assert topic.partition_responses[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize(("version", "endpoints"), [(9, []), (10, [2]), (11, [2])])
async def test_a_lost_leader_is_named_with_its_address(
    version: int, endpoints: list[int], broker: FakeBroker
):
    hint = LeaderHint(2, 5)
    broker.engine.produce_results = [
        ProduceResult(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint)
        for _ in range(2)
    ]
    response = await broker.ask(produce(), version)
    assert [node.node_id for node in response.node_endpoints] == endpoints
    leader = response.responses[0].partition_responses[0].current_leader
    assert (leader.leader_id, leader.leader_epoch) == ((2, 5) if endpoints else (-1, -1))


@pytest.mark.scenario(62)
@pytest.mark.parametrize("version", [3, 4])
async def test_produce_to_an_offline_replica_is_told_so_in_old_versions_too(
    broker: FakeBroker, version: int
):
    broker.engine.produce_codes[ORDERS_0] = ErrorCode.KAFKA_STORAGE_ERROR
    response = await broker.ask(produce(), version)
    codes = [p.error_code for p in response.responses[0].partition_responses]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE]


def message_set(magic: int, codec: Compression = Compression.NONE) -> bytes:
    records = [NewRecord(b"a", b"k", 5), NewRecord(b"b", b"l", 6)]
    return bytes(build_message_set(records, MessageSetOptions(magic=magic, compression=codec)))


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP, Compression.LZ4])
@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (2, 0)])
async def test_message_sets_of_old_producers_become_batches(
    broker: FakeBroker, version: int, magic: int, codec: Compression
):
    response = await broker.ask(produce(records=message_set(magic, codec)), version)
    codes = [p.error_code for p in response.responses[0].partition_responses]
    assert codes == [ErrorCode.NONE] * 2
    for part in broker.engine.produced[0][0]:
        assert not part.records.readonly
        header = read_batch_header(part.records)
        assert (header.compression, header.base_offset) == (codec, 0)
        assert [r.value for r in iterate_all_records(part.records)] == [b"a", b"b"]


async def test_a_batch_in_an_old_version_is_passed_on_as_it_is(broker: FakeBroker):
    await broker.ask(produce(), 2)
    assert bytes(broker.engine.produced[0][0][0].records) == batch()


async def test_a_message_set_that_cannot_be_converted_is_refused_alone(broker: FakeBroker):
    broken = bytearray(message_set(1))
    broken[-1] ^= 1
    request = produce(records=message_set(1))
    request.topic_data[0].partition_data[0].records = bytes(broken)
    response = await broker.ask(request, 2)
    first, second = response.responses[0].partition_responses
    assert (first.error_code, first.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert (second.error_code, second.base_offset) == (ErrorCode.NONE, 0)
    assert [part.tp for part in broker.engine.produced[0][0]] == [ORDERS_1]


async def test_the_topics_limits_hold_for_message_sets(broker: FakeBroker):
    broker.topic_configs.known["orders"] = {"max.message.bytes": "40"}
    response = await broker.ask(produce(records=message_set(0)), 1)
    codes = [p.error_code for p in response.responses[0].partition_responses]
    assert codes == [ErrorCode.MESSAGE_TOO_LARGE] * 2


async def test_other_requests_are_served_while_a_long_message_set_is_converted(broker: FakeBroker):
    records = [NewRecord(b"v")] * 2_000
    long = bytes(build_message_set(records, MessageSetOptions(magic=0)))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(broker.ask(produce(records=long), 1))
        await asyncio.sleep(0)
        await broker.ask(produce(), 9)
    sizes = [len(parts[0].records) for parts, _, _ in broker.engine.produced]
    assert sizes[0] == len(batch()) < sizes[1]


@pytest.mark.parametrize("version", [3, 6, 7, 11])
async def test_a_message_set_is_refused_from_version_3_on(broker: FakeBroker, version: int):
    response = await broker.ask(produce(records=message_set(1)), version)
    codes = [p.error_code for p in response.responses[0].partition_responses]
    assert codes == [ErrorCode.INVALID_RECORD] * 2
    assert broker.engine.produced[0][0] == []


async def test_a_topic_with_a_codec_of_its_own_gets_batches_in_it(broker: FakeBroker):
    broker.topic_configs.known["orders"] = {"compression.type": "zstd"}
    await broker.ask(produce(), 9)
    records = broker.engine.produced[0][0][0].records
    assert not records.readonly
    assert read_batch_header(records).attributes & 7 == Compression.ZSTD


@pytest.mark.parametrize(("version", "is_named"), [(7, False), (8, True), (9, True), (12, True)])
async def test_refused_records_are_named_from_version_8_on(
    broker: FakeBroker, version: int, *, is_named: bool
) -> None:
    errors = (RecordError(1, "no key"), RecordError(4, "no key"))
    bad_result = ProduceResult(error_code=ErrorCode.INVALID_RECORD, record_errors=errors)
    broker.engine.produce_results = [ProduceResult(), bad_result]
    response = await broker.ask(produce(), version)
    good, bad = response.responses[0].partition_responses
    assert list(good.record_errors) == []
    told = [(error.batch_index, error.batch_index_error_message) for error in bad.record_errors]
    assert told == ([(1, "no key"), (4, "no key")] if is_named else [])


@pytest.mark.parametrize("version", [2, 9])
async def test_the_engine_is_told_how_much_was_sent_before_it_was_converted(
    broker: FakeBroker, version: int
):
    broker.topic_configs.known["orders"] = {"compression.type": "gzip"}
    sent = message_set(1) if version == 2 else batch()
    await broker.ask(produce(records=sent), version)
    part = broker.engine.produced[0][0][0]
    assert part.received_bytes == len(sent) != len(part.records)


async def test_one_bomb_is_unpacked_at_a_time_and_other_requests_pass(broker: FakeBroker) -> None:
    broker.topic_configs.known["orders"] = {"compression.type": "zstd"}
    answers: list[str] = []

    async def ask(name: str, records: bytes | bytearray) -> None:
        response = await broker.ask(produce(records=bytes(records)), 9)
        assert response.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        answers.append(name)

    bomb = build_batch(
        [NewRecord(bytes(OUTPUT_BYTES_MEDIUM))], BatchOptions(compression=Compression.GZIP)
    )
    medium = build_batch(
        [NewRecord(bytes(OUTPUT_BYTES_SHORT))], BatchOptions(compression=Compression.GZIP)
    )
    zstd = build_batch([NewRecord(b"x")], BatchOptions(compression=Compression.ZSTD))
    async with (
        asyncio.timeout(DEADLINE_S),
        asyncio.TaskGroup() as group,
        broker.context.record_turns.large,
    ):
        group.create_task(ask("a bomb", bomb))
        group.create_task(ask("medium", medium))
        group.create_task(ask("packed anew", batch()))
        group.create_task(ask("as it is", zstd))
        while len(answers) < 3:  # noqa: ASYNC110 -- nothing else tells
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert sorted(answers) == ["as it is", "medium", "packed anew"]
    assert answers[-1] == "a bomb"


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
async def test_only_brokers_write_to_internal_topics(broker: FakeBroker, name: str):
    request = produce()
    request.topic_data[0].name = name
    (topic,) = (await broker.ask(request, 9)).responses
    codes = [row.error_code for row in topic.partition_responses]
    assert codes == [ErrorCode.INVALID_TOPIC_EXCEPTION] * 2
    assert broker.engine.produced == [([], -1, 500)]
