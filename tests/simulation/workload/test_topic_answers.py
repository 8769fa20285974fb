"""What is kept of answers about topics."""

from __future__ import annotations

import asyncio

from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.fetch import FetchResponse
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from simulation.workload.topic_answers import TopicAnswers

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def metadata(*topics: tuple[str, ErrorCode]) -> MetadataResponse:
    return MetadataResponse(
        topics=[MetadataResponseTopic(name=name, error_code=code) for name, code in topics]
    )


async def test_metadata_is_kept_with_what_was_asked_for() -> None:
    answers = TopicAnswers()
    named = [MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in ("a", "b")]
    told = metadata(("a", ErrorCode.LEADER_NOT_AVAILABLE), ("b", UNKNOWN))
    answers.take(2, 0.5, MetadataRequest(topics=named), told)
    answers.take(3, 0.5, MetadataRequest(topics=None), metadata())
    now_us = int(asyncio.get_running_loop().time() * 1_000_000)

    assert [tuple(view) for view in answers.views] == [
        (500_000, now_us, 2, ("a", "b"), {"a": 0}, {}),
        (500_000, now_us, 3, None, {}, {}),
    ]


async def test_of_produce_and_fetch_only_denials_are_kept() -> None:
    answers = TopicAnswers()
    parts = [
        PartitionProduceResponse(index=0, error_code=ErrorCode.NONE),
        PartitionProduceResponse(index=1, error_code=UNKNOWN),
    ]
    produced = ProduceResponse(
        responses=[TopicProduceResponse(name="a", partition_responses=parts)]
    )
    answers.take(2, 0.5, None, produced)
    answers.take(2, 0.5, None, FetchResponse())

    assert [(each.broker, each.tp) for each in answers.denials] == [(2, TopicPartition("a", 1))]
