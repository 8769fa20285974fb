from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from protocol.errors import KafkaError
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.transport.large_requests import (
    CUT_OF_A_STEP,
    Begun,
    answer_in_pieces,
    drop,
    is_cut,
    piece_refusal,
    whole_refusal,
)
from protocol.transport.turns import Turns
from tests.deadlines import DEADLINE_S


def wanted(count: int) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=f"t{n}") for n in range(count)])


async def answer(piece: MetadataRequest) -> MetadataResponse:
    return MetadataResponse(
        topics=[MetadataResponseTopic(name=topic.name) for topic in piece.topics or ()]
    )


def refuse(_piece: MetadataRequest, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(topics=[MetadataResponseTopic(error_code=error.code)])


async def test_pieces_under_way_together_are_answered_in_the_order_of_the_request() -> None:
    for at_once in (1, 3, CUT_OF_A_STEP, 64):
        whole: Any = await answer_in_pieces(wanted(950), answer, refuse, Turns(), at_once=at_once)
        assert [topic.name for topic in whole.topics] == [f"t{n}" for n in range(950)]


async def test_pieces_that_are_under_way_together_are_cut_in_steps() -> None:
    request = wanted(100 * 64)
    topics = request.topics or []
    left: list[int] = []

    async def look() -> None:
        while topics:
            left.append(len(topics))
            await asyncio.sleep(0)

    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        group.create_task(look())
        await answer_in_pieces(request, answer, refuse, Turns(), at_once=64)
    assert max(a - b for a, b in pairwise(left)) <= 100 * (CUT_OF_A_STEP + 1)


async def test_pieces_that_take_a_while_are_all_begun_before_the_first_is_waited_for() -> None:
    begun: list[asyncio.Future[None]] = []

    async def begin(_piece: ProduceRequest) -> Begun:
        begun.append(asyncio.get_running_loop().create_future())
        if len(begun) == 3:
            for each in begun:
                each.set_result(None)
        return Begun(begun[-1], lambda: None, lambda: None)

    partitions = [PartitionProduceData(index=n) for n in range(250)]
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=partitions)])
    async with asyncio.timeout(10):
        assert await answer_in_pieces(request, begin, refuse, Turns(), at_once=1) is None
    assert len(begun) == 3


async def test_what_was_begun_is_abandoned_when_the_pieces_behind_it_are_given_up() -> None:
    abandoned: list[int] = []
    second = asyncio.Event()

    async def begin(piece: ProduceRequest) -> Begun:
        (first,) = piece.topic_data[0].partition_data[:1]
        if first.index:
            second.set()
            await asyncio.Event().wait()
        ready = asyncio.get_running_loop().create_future()
        return Begun(ready, lambda: None, lambda: abandoned.append(first.index))

    partitions = [PartitionProduceData(index=n) for n in range(250)]
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=partitions)])
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        asked = group.create_task(answer_in_pieces(request, begin, refuse, Turns(), at_once=1))
        await second.wait()
        asked.cancel()
    assert abandoned == [0]


def test_only_what_is_more_than_a_piece_is_cut() -> None:
    assert not is_cut(wanted(100))
    assert is_cut(wanted(101))


async def test_refusals_are_for_what_no_piece_may_hold() -> None:
    assert whole_refusal(wanted(10)) is None
    request = wanted(3000)
    too_long: list[list[Any]] = []
    topics = request.topics
    assert await piece_refusal(wanted(10), Turns(), too_long) is None
    assert await piece_refusal(request, Turns(), too_long) is not None
    assert len(request.topics or ()) == 2000
    assert too_long == [topics]


async def test_a_refusal_holds_nothing_of_the_request() -> None:
    """Else a collection frees all of it at once, which takes 40 ms of 200,000 endpoints."""
    request = wanted(2500)
    refusals = [whole_refusal(request), await piece_refusal(request, Turns(), [])]
    assert [error and error.__traceback__ for error in refusals] == [None, None]
    assert any(refusals)


async def test_an_answer_that_was_sent_is_let_go_of() -> None:
    response = await answer(wanted(3000))
    await drop(response, Turns(), is_shared=False)
    assert response.topics == []
