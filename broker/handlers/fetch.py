"""Serves: Fetch (1), records for consumers and followers, with incremental sessions (KIP-227).

Differs from Kafka: in versions 0 to 2 the first batch comes even if it is larger than asked for.
Versions: 0-18; the high watermark that v18 may carry (KIP-1166) is for KRaft's log and not looked
at. Versions 0 and 1 get records in format 0, versions 2 and 3 in format 1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from broker.client_accounts import ClientAccount
from broker.context import Context
from broker.core.fetch_session import (
    FINAL_EPOCH,
    FULL_EPOCH,
    SESSION_PARTITIONS_MAX,
    FetchRequestHead,
    SessionKey,
    session_key,
)
from broker.core.isolation_level import check_isolation_level
from broker.core.old_clients import fetch_error
from broker.engine.fetch_room import FetchRoom
from broker.engine.serve.fetch import PARTS_OF_A_STEP
from broker.engine.types import FetchParams, FetchPart, FetchResult
from broker.fetch_access import read_allowed
from broker.fetch_topics import FetchTopics
from broker.handlers import Client, handles_client
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.ids import NO_EPOCH, ZERO_UUID, TopicPartition
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    NodeEndpoint,
    PartitionData,
)
from protocol.records.down_convert import down_convert_in_steps
from protocol.releases import shows
from protocol.transport.large_requests import drop

_FORMAT_1_SINCE: Final = 2
_FORMAT_2_SINCE: Final = 4
_ZSTD_SINCE: Final = 10
_AS_IT_IS_SINCE: Final = "4.0"
"""From that release on nobody looks into what is sent, and Fetch begins with version 4."""
_TOPIC_IDS_SINCE: Final = 13
_REPLICA_STATE_SINCE: Final = 15
_ANY_REPLICA_SINCE: Final = 11
_ERRORS_WITH_A_LOG: Final = (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
"""The partition is here, so that its topic's config counts."""
_SESSION_ERRORS: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


def refuse(request: FetchRequest, version: int, error: KafkaError) -> FetchResponse:
    """Put the code at the top, and into the partitions of versions that name topics.

    Who may not fetch as a follower is told so at each partition alone: one that goes on in a
    session, and need not name any, is to begin anew with all of them. The session is named again,
    unless what is wrong is the session.

    Source: FetchRequest.getErrorResponse, SessionErrorContext, KafkaApis.handleFetchRequest.
    """
    is_of_each = error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if error.code in _SESSION_ERRORS:
        return FetchResponse(error_code=error.code)
    if is_of_each and request.session_epoch > FULL_EPOCH:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    session_id = 0 if is_of_each else request.session_id
    if not is_of_each and version >= _TOPIC_IDS_SINCE:
        return FetchResponse(error_code=error.code, session_id=session_id)
    return FetchResponse(
        error_code=ErrorCode.NONE if is_of_each else error.code,
        session_id=session_id,
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    PartitionData(
                        partition_index=asked.partition,
                        error_code=fetch_error(error.code, version),
                        high_watermark=-1,
                        aborted_transactions=(),
                        records=b"" if is_of_each else None,
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


@handles_client(FetchRequest, "0-18", refuse=refuse)
async def handle(
    context: Context, request: FetchRequest, version: int, client: Client
) -> FetchResponse:
    """Find the session, read its partitions, answer those that have news."""
    check_isolation_level(request.isolation_level)
    has_state = version >= _REPLICA_STATE_SINCE
    replica_id = request.replica_state.replica_id if has_state else request.replica_id
    if takes_steps := _names_more(request, PARTS_OF_A_STEP):
        _leave_out_session(request)
    forgotten = _forgotten(request)
    if takes_steps:
        wanted = await _many_parts(context, request, version)
    else:
        parts: dict[SessionKey, FetchPart] = {}
        for topic in request.topics:
            _add_parts(parts, context, topic, topic.partitions, version)
        wanted = list(parts.values())
    session = context.fetch_sessions.open(
        FetchRequestHead(
            request.session_id,
            request.session_epoch,
            uses_topic_ids=version >= _TOPIC_IDS_SINCE,
            is_follower=replica_id >= 0,
        ),
        wanted,
        forgotten=forgotten,
        now_ms=context.loop_ms(),
    )
    account = _consumer_account(client, replica_id)
    max_bytes = _max_bytes(context, request, account)
    params = FetchParams(
        replica_id,
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        request.isolation_level,
        request.rack_id,
        leader_only=replica_id >= 0 or version < _ANY_REPLICA_SINCE,
        replica_epoch=request.replica_state.replica_epoch,
    )
    results = await read_allowed(_read, context, params, session.parts, version, client.access)
    if account is not None and account.is_fetch_throttled(results):
        return FetchResponse(session_id=session.session_id)
    session_id, news = session.answer(results)
    answer = FetchTopics(version)
    if len(results) <= PARTS_OF_A_STEP:
        answer.add(news)
    else:
        left = iter(news)
        while some := list(islice(left, PARTS_OF_A_STEP)):
            answer.add(some)
            await context.turns.next()
        del news, left
        await context.turns.drop(results)
        await context.turns.drop(session.parts)
    _count(context, answer.sent_bytes, replica_id)
    response = FetchResponse(session_id=session_id, responses=answer.topics)
    if leaders := answer.whose_endpoints(replica_id, context.release):
        response.node_endpoints = _node_endpoints(context, client, leaders)
    return response


def _node_endpoints(
    context: Context, client: Client, node_ids: Collection[int]
) -> list[NodeEndpoint]:
    return [
        NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
        for node in context.metadata.live_brokers(client.listener)
        if node.id in node_ids
    ]


def _consumer_account(client: Client, replica_id: int) -> ClientAccount | None:
    """Return what a consumer's fetch is counted by; followers have no quotas of clients."""
    if client.account is not None and replica_id >= 0:
        client.account.exempt()
        return None
    return client.account


def _max_bytes(context: Context, request: FetchRequest, account: ClientAccount | None) -> int:
    max_bytes = min(request.max_bytes, context.config.fetch_max_bytes)
    return max_bytes if account is None else account.fetch_bytes_max(max_bytes)


def _leave_out_session(request: FetchRequest) -> None:
    """Have a fetch of very many partitions answered without a session (KIP-227 allows it).

    Raises:
        KafkaError: FETCH_SESSION_ID_NOT_FOUND, the client begins anew without one.
    """
    if not _names_more(request, SESSION_PARTITIONS_MAX):
        return
    if request.session_epoch > FULL_EPOCH:
        raise KafkaError(
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            f"no fetch session of more than {SESSION_PARTITIONS_MAX} partitions",
        )
    request.session_epoch = FINAL_EPOCH


def _names_more(request: FetchRequest, limit: int) -> bool:
    """Tell, at a short look, if more partitions are named; a topic of none counts as one."""
    for topic in chain(request.topics, request.forgotten_topics_data):
        limit -= max(1, len(topic.partitions))
        if limit < 0:
            return True
    return False


def _count(context: Context, size_bytes: int, replica_id: int) -> None:
    counters = context.metrics.counters  # Source: KafkaApis.handleFetchRequest updateBytesOut.
    (counters.replication_bytes_out if replica_id >= 0 else counters.bytes_out).value += size_bytes


async def _many_parts(context: Context, request: FetchRequest, version: int) -> list[FetchPart]:
    parts: dict[SessionKey, FetchPart] = {}
    left = PARTS_OF_A_STEP
    for topic in request.topics:
        asked_partitions = topic.partitions
        for first in range(0, max(1, len(asked_partitions)), PARTS_OF_A_STEP):
            some = asked_partitions[first : first + PARTS_OF_A_STEP]
            _add_parts(parts, context, topic, some, version)
            left -= max(1, len(some))  # A topic without partitions takes its time, too.
            if left < 0:
                left = PARTS_OF_A_STEP
                await context.turns.next()
    await drop(request, context.turns, is_shared=False)
    wanted: list[FetchPart] = []
    while parts:  # To free a large dict takes long, too.
        wanted += [parts.popitem()[1] for _ in range(min(len(parts), PARTS_OF_A_STEP))]
        await context.turns.next()
    wanted.reverse()
    return wanted


def _add_parts(
    parts: dict[SessionKey, FetchPart],
    context: Context,
    topic: FetchTopic,
    partitions: Sequence[FetchPartition],
    version: int,
) -> None:
    """Add these partitions of ``topic``; of one that comes twice the last counts (fetchData)."""
    name, topic_id = topic.topic, ZERO_UUID
    if version >= _TOPIC_IDS_SINCE:
        topic_id = bytes(topic.topic_id)
        name = context.metadata.topic_name(topic_id) or ""
    topic_key = topic_id if version >= _TOPIC_IDS_SINCE else name
    for asked in partitions:
        index, current_epoch = asked.partition, asked.current_leader_epoch
        parts[topic_key, index] = FetchPart(
            TopicPartition(name, index),
            topic_id,
            asked.fetch_offset,
            asked.log_start_offset,
            current_epoch if current_epoch >= 0 else NO_EPOCH,
            asked.last_fetched_epoch,
            asked.partition_max_bytes,
        )


def _forgotten(request: FetchRequest) -> list[SessionKey]:
    if request.session_epoch <= FULL_EPOCH:
        return []
    return [
        session_key(TopicPartition(topic.topic, index), topic.topic_id)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]


async def _read(
    context: Context, params: FetchParams, parts: Sequence[FetchPart], version: int
) -> list[FetchResult]:
    """Return one result per part of the session; a topic id without a name is not read."""
    if version >= _TOPIC_IDS_SINCE and not await _are_known(context, parts):
        return await _read_known(context, params, parts)
    results = await context.fetches.fetch(params, parts)
    if version >= _ZSTD_SINCE or shows(context.release, _AS_IT_IS_SINCE):
        return results
    is_follower = params.replica_id >= 0
    with FetchRoom(context.answers) as room:
        room.hold(sum(result.records_size_bytes for result in results))
        for index, (part, result) in enumerate(zip(parts, results, strict=True)):
            if index % PARTS_OF_A_STEP == PARTS_OF_A_STEP - 1:
                await context.turns.next()
            results[index] = await _readable(
                context, part, result, version, is_follower=is_follower
            )
        return results


async def _are_known(context: Context, parts: Sequence[FetchPart]) -> bool:
    """Tell whether all parts have a name beside their topic id."""
    for index, part in enumerate(parts):
        if index % SESSION_PARTITIONS_MAX == SESSION_PARTITIONS_MAX - 1:
            await context.turns.next()
        if not part.tp.topic:
            return False
    return True


async def _read_known(
    context: Context, params: FetchParams, parts: Sequence[FetchPart]
) -> list[FetchResult]:
    """Look unknown ids up again: sessions outlive the metadata of the moment they began."""
    known: list[FetchPart] = []
    known_at: list[int] = []
    answers: list[FetchResult] = []
    for index, part in enumerate(parts):
        if index % PARTS_OF_A_STEP == PARTS_OF_A_STEP - 1:
            await context.turns.next()
        named = part if part.tp.topic else _named(context, part)
        if named.tp.topic:
            known.append(named)
            known_at.append(index)
        answers.append(FetchResult(error_code=ErrorCode.UNKNOWN_TOPIC_ID))
    if len(known) < len(parts):
        params = params._replace(max_wait_ms=0)
    results = await context.fetches.fetch(params, known)
    for index, result in zip(known_at, results, strict=True):
        answers[index] = result
    return answers


def _named(context: Context, part: FetchPart) -> FetchPart:
    name = context.metadata.topic_name(part.topic_id) or ""
    return part._replace(tp=TopicPartition(name, part.tp.partition))


async def _readable(
    context: Context, part: FetchPart, result: FetchResult, version: int, *, is_follower: bool
) -> FetchResult:
    """Give ``result`` as a client of an old version can read it, or say that it cannot.

    Source: KafkaApis.handleFetchRequest maybeConvertFetchedData.
    """
    if result.error_code not in _ERRORS_WITH_A_LOG:
        return result
    config = context.topic_configs.config_of(part.tp.topic)
    if config.compression_type == "zstd":
        return FetchResult(error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    if version >= _FORMAT_2_SINCE:
        return result
    if not is_follower and not config.message_downconversion_enable:
        return FetchResult(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return await _converted(context, result, int(version >= _FORMAT_1_SINCE), part.fetch_offset)


async def _converted(
    context: Context, result: FetchResult, magic: int, fetch_offset: int
) -> FetchResult:
    """Rewrite the records in format ``magic``; other requests are served meanwhile."""
    steps = down_convert_in_steps(result.records, magic, fetch_offset=fetch_offset)
    try:
        records = await context.record_turns.run(steps, is_large=True)
    except KafkaError as error:
        return FetchResult(error_code=error.code)
    except Malformed:
        return FetchResult(error_code=ErrorCode.CORRUPT_MESSAGE)
    return replace(
        result, records=tuple(records), records_size_bytes=sum(len(piece) for piece in records)
    )
