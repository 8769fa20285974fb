"""Serves: OffsetFetch (9), what groups committed, from their coordinator.

Differs from Kafka: version 0 asks the coordinator, too, where Kafka up to 3.9 asked ZooKeeper. An
answer waits for commits under way, where Kafka tells what was before them; where they do not end
(``CommitsUnderWayError``) the code is in each partition, too.
Versions: 0-10; from 8 on several groups, and version 10 names topics by id (KIP-848).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from broker.context import Context
from broker.core.coordination import Decided, Waiter
from broker.core.groups.group_shard import FetchedOffset, GroupShard
from broker.handlers import handles
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

_GROUP_ERRORS_SINCE: Final = 2
_SEVERAL_GROUPS_SINCE: Final = 8
_TOPIC_IDS_SINCE: Final = 10


class CommitsUnderWayError(KafkaError):
    """Commits before a question were not replicated in time, or this broker's role ended.

    It is a code that every client asks again by: some know no other one in this answer, and
    aiokafka looks for it in partitions alone.
    """

    def __init__(self, code: ErrorCode) -> None:
        is_moved = code is ErrorCode.NOT_COORDINATOR
        super().__init__(code if is_moved else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def refuse(request: OffsetFetchRequest, version: int, error: KafkaError) -> OffsetFetchResponse:
    """Put the code where the version has one: into partitions, at the top, into groups."""
    if version >= _SEVERAL_GROUPS_SINCE:
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=error.code)
                for group in request.groups
            ]
        )
    failed = [FetchedOffset(tp, error_code=error.code) for tp in _asked(request) or ()]
    if version < _GROUP_ERRORS_SINCE:
        return OffsetFetchResponse(topics=_topics(failed))
    topics = _topics(failed) if isinstance(error, CommitsUnderWayError) else []
    return OffsetFetchResponse(error_code=error.code, topics=topics)


@handles(OffsetFetchRequest, "0-10", refuse=refuse)
async def handle(
    context: Context, request: OffsetFetchRequest, version: int
) -> OffsetFetchResponse:
    """Answer each group by itself."""
    if version >= _SEVERAL_GROUPS_SINCE:
        answers = [_group(context, request, group, version) for group in request.groups]
        return OffsetFetchResponse(groups=await asyncio.gather(*answers))
    found = await _fetch(context, request.group_id, _asked(request), request)
    return OffsetFetchResponse(topics=_topics(found))


def _asked(request: OffsetFetchRequest) -> list[TopicPartition] | None:
    """Return what versions below 8 ask for; None for all."""
    if request.topics is None:
        return None
    return [
        TopicPartition(topic.name, index)
        for topic in request.topics
        for index in topic.partition_indexes
    ]


async def _fetch(
    context: Context,
    group_id: str,
    tps: Sequence[TopicPartition] | None,
    request: OffsetFetchRequest,
    group: OffsetFetchRequestGroup | None = None,
) -> list[FetchedOffset]:
    member_id, member_epoch = (group.member_id, group.member_epoch) if group else (None, -1)
    is_decided = False

    def decide(shard: GroupShard, waiter: Waiter, _now_ms: int, _wall_ms: int) -> Decided:
        nonlocal is_decided
        decided = shard.fetch(
            waiter,
            group_id,
            tps,
            require_stable=request.require_stable,
            member_id=member_id,
            member_epoch=member_epoch,
        )
        is_decided = True
        return decided

    try:
        return await context.groups.ask(group_id, decide)
    except KafkaError as error:
        raise CommitsUnderWayError(error.code) if is_decided else error from None


def _topics(found: Iterable[FetchedOffset]) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=each.tp.partition,
                    committed_offset=each.offset,
                    committed_leader_epoch=each.leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]


def _by_topic(found: Iterable[FetchedOffset]) -> Iterator[tuple[str, Iterator[FetchedOffset]]]:
    """Give neighbours of one topic together."""
    return groupby(found, key=lambda each: each.tp.topic)


# Versions with several groups.


async def _group(
    context: Context, request: OffsetFetchRequest, group: OffsetFetchRequestGroup, version: int
) -> OffsetFetchResponseGroup:
    has_ids = version >= _TOPIC_IDS_SINCE
    tps, unknown = _asked_of_group(context, group, has_ids=has_ids)
    try:
        found = await _fetch(context, group.group_id, tps, request, group)
    except KafkaError as error:
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=error.code)
    rows = _rows(context, found, has_ids=has_ids)
    return OffsetFetchResponseGroup(
        group_id=group.group_id, topics=rows + unknown, error_code=ErrorCode.NONE
    )


def _asked_of_group(
    context: Context, group: OffsetFetchRequestGroup, *, has_ids: bool
) -> tuple[list[TopicPartition] | None, list[OffsetFetchResponseTopics]]:
    """Return what is asked for, None for all, and the answers for topics that nobody knows."""
    if group.topics is None:
        return None, []
    tps: list[TopicPartition] = []
    unknown: list[OffsetFetchResponseTopics] = []
    for topic in group.topics:
        name = context.metadata.topic_name(topic.topic_id) if has_ids else topic.name
        if name is not None:
            tps += [TopicPartition(name, index) for index in topic.partition_indexes]
            continue
        failed = [
            FetchedOffset(TopicPartition("", index), error_code=ErrorCode.UNKNOWN_TOPIC_ID)
            for index in topic.partition_indexes
        ]
        unknown.append(_row("", bytes(topic.topic_id), failed))
    return tps, unknown


def _rows(
    context: Context, found: Iterable[FetchedOffset], *, has_ids: bool
) -> list[OffsetFetchResponseTopics]:
    """Answer by topic; where ids name topics, those without one are left out."""
    rows: list[OffsetFetchResponseTopics] = []
    for name, each in _by_topic(found):
        topic_id = context.metadata.topic_id(name) if has_ids else ZERO_UUID
        if topic_id != ZERO_UUID or not has_ids:
            rows.append(_row(name, topic_id, each))
    return rows


def _row(name: str, topic_id: bytes, found: Iterable[FetchedOffset]) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=name,
        topic_id=topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=each.tp.partition,
                committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch,
                metadata=each.metadata,
                error_code=each.error_code,
            )
            for each in found
        ],
    )
