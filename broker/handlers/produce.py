"""Serves: Produce (0), records from producers to the partitions led here.

A transaction is verified with its coordinator first; from version 12 on that adds the partition to
it (KIP-890).
Versions: 0-13; v13 names topics by id (KIP-516). Message sets of formats 0 and 1, in versions 0 to
2, are rewritten as batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from broker.context import Context
from broker.core.append import is_transactional
from broker.core.message_sets import convert_in_steps, is_message_set
from broker.core.produce_version import BATCHES_ONLY_PRODUCE_VERSION, check_produce_version
from broker.core.recompression import KEEPS, needs_recompression, recompress_in_steps
from broker.core.transaction_state.verifying import Verifying, verifying_of_produce
from broker.engine.types import ProducePart, ProduceResult
from broker.engine_ports import BegunProduce
from broker.handlers import Begun, Client, handles_client
from protocol.configs.topic import TopicConfig
from protocol.connection import CloseConnection
from protocol.errors import ErrorCode, KafkaError, told_text
from protocol.ids import TopicPartition
from protocol.messages.produce import (
    ACKS_NONE,
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.ports import Buffer
from protocol.records.batch import (
    BATCH_LENGTH,
    BATCH_LENGTH_POSITION,
    LOG_OVERHEAD_BYTES,
    MAGIC,
    MAGIC_POSITION,
)
from protocol.records.steps import Steps
from protocol.topic_names import INTERNAL_TOPICS

_ADMIN_CLIENT_ID: Final = "__admin_client"
"""By which Kafka's own tools may write internal topics. Source: AdminUtils.ADMIN_CLIENT_ID."""
_VALID_ACKS: Final = (-1, 0, 1)
_LEADER_HINTS_SINCE: Final = 10
_TOPIC_IDS_SINCE: Final = 13
_ALL_CODECS_SINCE: Final = 7
"""Older versions need a look at the codec."""


def refuse(request: ProduceRequest, _version: int, error: KafkaError) -> ProduceResponse:
    """Put the code into every partition; a request without answer closes the connection."""
    if request.acks == ACKS_NONE:
        raise CloseConnection(f"Produce with acks=0 failed: {error}")
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=partition.index,
                        error_code=error.code,
                        base_offset=-1,
                        error_message=told_text(error),
                    )
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


@handles_client(ProduceRequest, "0-13", refuse=refuse)
async def handle(
    context: Context, request: ProduceRequest, version: int, client: Client
) -> ProduceResponse | Begun | None:
    """Append; answer each partition by itself, or nothing when acks=0 and all went well."""
    is_bad = request.acks not in _VALID_ACKS
    parts: list[ProducePart] = []
    results: list[ProduceResult | None] = []
    for topic in request.topic_data:
        name = _name(context, topic, version)
        if name is None:
            unknown = ProduceResult(error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            results += [unknown for _ in topic.partition_data]
            continue
        if name in INTERNAL_TOPICS and client.id != _ADMIN_CLIENT_ID and not is_bad:
            results += [_internal(name) for _ in topic.partition_data]
            continue
        config = context.topic_configs.config_of(name)
        is_old = version < BATCHES_ONLY_PRODUCE_VERSION
        is_rewritten = not is_bad and (is_old or config.compression_type != KEEPS)
        for partition in topic.partition_data:
            received_bytes = len(partition.records or b"")
            refused = _check(partition, version)
            if is_bad or refused is not None:  # What is not there is told first.
                refused = _not_there(context, name, partition.index) or refused
            if is_rewritten and refused is None:
                refused = await _convert(context, config, partition, version)
            results.append(refused)
            if refused is None:
                assert isinstance(partition.records, memoryview)
                tp = TopicPartition(name, partition.index)
                parts.append(ProducePart(tp, partition.records, None, received_bytes))
                partition.records = None  # The answer needs none; the log may let go of them.
    if request.transactional_id is None:
        _check_not_transactional(parts)
    else:
        parts = await _verified(context, request.transactional_id, version, parts, results)
    if is_bad:
        return _with_bad_acks(context, (request, version, client.listener), results)
    begun = await context.produces.begin(parts, acks=request.acks, timeout_ms=request.timeout_ms)
    finish = partial(_finish, context, (request, version, client.listener), results, begun)
    return finish() if begun.ready.done() else Begun(begun.ready, finish, begun.abandon)


def _check_not_transactional(parts: Sequence[ProducePart]) -> None:
    if any(is_transactional(part.records) for part in parts):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


async def _verified(
    context: Context,
    transactional_id: str,
    version: int,
    parts: list[ProducePart],
    results: list[ProduceResult | None],
) -> list[ProducePart]:
    """Return the parts that may be appended; the others get their results."""
    how = verifying_of_produce(version)
    is_asked = context.config.transaction_partition_verification_enable or how is Verifying.ADDING
    if not is_asked:
        return parts
    verified: list[ProducePart] = []
    places = (place for place, result in enumerate(results) if result is None)
    told = await context.verifier.verified(parts, transactional_id, how)
    for place, part in zip(list(places), told, strict=True):
        if isinstance(part, ProducePart):
            verified.append(part)
        else:
            results[place] = ProduceResult(part.code, error_message=part.message or None)
    return verified


def _not_there(context: Context, name: str, index: int) -> ProduceResult | None:
    if context.metadata.has_partition(TopicPartition(name, index)):
        return None
    return ProduceResult(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _with_bad_acks(
    context: Context,
    asked: tuple[ProduceRequest, int, str],
    results: Sequence[ProduceResult | None],
) -> ProduceResponse:
    """Refuse what would be appended now: all else is told first.

    Source: KafkaApis.handleProduceRequest, ReplicaManager.appendRecords.
    """
    bad = ProduceResult(error_code=ErrorCode.INVALID_REQUIRED_ACKS)
    return _response(context, asked, [bad if each is None else each for each in results])


def _name(context: Context, topic: TopicProduceData, version: int) -> str | None:
    """Return the topic's name, None when nobody knows its id."""
    if version < _TOPIC_IDS_SINCE:
        return topic.name
    return context.metadata.topic_name(topic.topic_id)


def _internal(name: str) -> ProduceResult:
    """Return the refusal of what only brokers write. Source: ReplicaManager.appendToLocalLog."""
    message = f"Cannot append to internal topic {name}"
    return ProduceResult(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, error_message=message)


def _finish(
    context: Context,
    asked: tuple[ProduceRequest, int, str],
    results: list[ProduceResult | None],
    begun: BegunProduce,
) -> ProduceResponse | None:
    """Put what was refused and what was appended together."""
    request, _, _ = asked
    appended = iter(begun.results())
    answers = [next(appended) if result is None else result for result in results]
    if request.acks == ACKS_NONE:
        _close_on_error(answers)
        return None
    return _response(context, asked, answers)


def _check(partition: PartitionProduceData, version: int) -> ProduceResult | None:
    """Return the refusal of what this version may not carry; None to go on."""
    records = partition.records
    assert records is None or isinstance(records, memoryview)
    if (
        version >= _ALL_CODECS_SINCE
        and records is not None
        and len(records) > MAGIC_POSITION
        and records[MAGIC_POSITION] == MAGIC
        and BATCH_LENGTH.unpack_from(records, BATCH_LENGTH_POSITION)[0]
        == len(records) - LOG_OVERHEAD_BYTES
    ):
        return None
    try:
        size_bytes = check_produce_version(records, version)
    except KafkaError as error:
        if error.code is ErrorCode.CORRUPT_MESSAGE:
            return ProduceResult(error_code=error.code, error_message=error.message)
        return _refusal(error)
    if records is not None:
        partition.records = records[:size_bytes]
    return None


async def _convert(
    context: Context, config: TopicConfig, partition: PartitionProduceData, version: int
) -> ProduceResult | None:
    """Make a message set the batch of its records, and pack it as the topic asks for.

    Returns:
        Why that cannot be.
    """
    records = partition.records
    assert isinstance(records, memoryview)
    refused: ProduceResult | None = None
    if version < BATCHES_ONLY_PRODUCE_VERSION and is_message_set(records):
        refused = await _rewrite(context, partition, convert_in_steps(records, config))
        records = partition.records
        assert isinstance(records, memoryview)
    if refused is None and needs_recompression(records, config):
        refused = await _rewrite(context, partition, recompress_in_steps(records, config))
    return refused


async def _rewrite(
    context: Context, partition: PartitionProduceData, steps: Steps[Buffer]
) -> ProduceResult | None:
    """Put what comes of ``steps`` in place of the records; other requests are served meanwhile."""
    try:
        partition.records = memoryview(await context.record_turns.run(steps))
    except KafkaError as error:
        return _refusal(error)
    return None


def _refusal(error: KafkaError) -> ProduceResult:
    """Return the answer without a text: Kafka has one for single records and whole requests only.

    Source: ReplicaManager.appendToLocalLog, hasCustomErrorMessage.
    """
    return ProduceResult(error_code=error.code)


def _close_on_error(answers: list[ProduceResult]) -> None:
    """With acks=0 a closed connection is the only sign of an error.

    Source: KafkaApis.handleProduceRequest.
    """
    for answer in answers:
        if answer.error_code:
            raise CloseConnection(f"Produce with acks=0 failed: {answer.error_code.name}")


def _response(
    context: Context, asked: tuple[ProduceRequest, int, str], results: list[ProduceResult]
) -> ProduceResponse:
    request, version, listener = asked
    left = iter(results)
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    _partition(partition.index, next(left), version)
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
            if topic.partition_data
        ]
    )
    leaders = [r.current_leader.leader_id for r in results if r.current_leader is not None]
    if leaders and version >= _LEADER_HINTS_SINCE:
        response.node_endpoints = [
            NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
            for node in context.metadata.live_brokers(listener)
            if node.id in leaders
        ]
    return response


def _partition(index: int, result: ProduceResult, version: int) -> PartitionProduceResponse:
    response = PartitionProduceResponse(
        index=index,
        error_code=result.error_code,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
        error_message=result.error_message,
    )
    if result.record_errors:
        response.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in result.record_errors
        ]
    hint = result.current_leader
    if hint is not None and version >= _LEADER_HINTS_SINCE:
        response.current_leader = LeaderIdAndEpoch(
            leader_id=hint.leader_id, leader_epoch=hint.leader_epoch
        )
    return response
