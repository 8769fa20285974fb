"""What faults do to clients' requests and answers, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from broker.core.request_rules import RequestRule
from broker.faulty_dispatch import FaultyDispatch
from broker.request_faults import RequestFaults
from protocol.apis import APIS
from protocol.connection import Peer, RequestReceived
from protocol.errors import ErrorCode
from protocol.faults.requests import RequestFault, RequestMode, Way, When
from protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.network_faults import NetworkFaults
from protocol.transport.paced_transport import ServerLinks
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from tests.deadlines import DEADLINE_S

HOST, OWN = "127.0.0.1", "broker-2-fetcher"
PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION = 9, 12, 9
VERSIONS = {
    ProduceRequest: PRODUCE_VERSION,
    FetchRequest: FETCH_VERSION,
    MetadataRequest: METADATA_VERSION,
}
REFUSED = ErrorCode.NOT_LEADER_OR_FOLLOWER


def produce(*partitions: int) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=b"r") for index in partitions]
    return ProduceRequest(
        acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=data)]
    )


def fetch(session_epoch: int = 0) -> FetchRequest:
    partitions = [FetchPartition(partition=index) for index in (0, 1)]
    topics = [FetchTopic(topic="orders", partitions=partitions)]
    return FetchRequest(session_id=5, session_epoch=session_epoch, topics=topics, max_wait_ms=500)


def codes(answer: Any) -> dict[int, int]:
    """Return the code of each partition of an answer to Produce or Fetch."""
    if isinstance(answer, ProduceResponse):
        rows = [row for topic in answer.responses for row in topic.partition_responses]
        return {row.index: row.error_code for row in rows}
    return {row.partition_index: row.error_code for t in answer.responses for row in t.partitions}


class Served:
    """A server whose work is remembered, and a client of it."""

    def __init__(self) -> None:
        self.network = NetworkFaults("broker-1", chance=Random(1), nodes={})
        self.faults = RequestFaults(self.network)
        self.done: list[Any] = []
        self.is_later = False
        self.work: asyncio.Future[None] | None = None
        """What the work of a request takes."""
        self.is_open: Callable[[], bool]
        """Whether the client's connection is."""
        self.connection_count: Callable[[], int]
        self.unsent_bytes: Callable[[], int]
        self.client: RpcClient
        self.own: RpcClient

    async def dispatch(self, received: RequestReceived, _peer: Peer) -> LaterAnswer | Body:
        api = APIS[received.api_key]
        request = codec(api.request, received.api_version).decode(received.body)
        self.done.append(request)
        if self.work is not None:
            await self.work
        parts = codec(api.response, received.api_version).encode_parts(_answer(request))
        if not self.is_later:
            return parts
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(ready.set_result, None)
        return LaterAnswer(ready, lambda: parts, lambda: None)

    def add(self, mode: RequestMode, **keys: Any) -> RequestRule:
        return self.faults.add_rule(RequestFault(mode=mode, node="broker-1", **keys))

    async def ask(self, request: Any) -> Any:
        return await self.client.request(request, VERSIONS[type(request)])


def _answer(request: Any) -> Any:
    match request:
        case ProduceRequest():
            rows = [
                PartitionProduceResponse(index=each.index)
                for topic in request.topic_data
                for each in topic.partition_data
            ]
            topics = [TopicProduceResponse(name="orders", partition_responses=rows)]
            return ProduceResponse(responses=topics)
        case FetchRequest():
            data = [
                PartitionData(partition_index=each.partition, records=b"")
                for topic in request.topics
                for each in topic.partitions
            ]
            return FetchResponse(
                responses=[FetchableTopicResponse(topic="orders", partitions=data)]
            )
        case _:
            return MetadataResponse(topics=[MetadataResponseTopic(name="orders")])


@asynccontextmanager
async def served() -> AsyncGenerator[Served]:
    made = Served()
    faulty = FaultyDispatch(
        made.dispatch, made.faults, name_of=lambda _: None, own_client_ids=[OWN]
    )
    server = RpcServer(
        made.network.guarded(made.dispatch, faulty.dispatch), ends_with_peer=faulty.waits
    )
    links = ServerLinks(server.transport_of, server.replace_transport, lambda: 0.5)
    faulty.links = links
    made.is_open = lambda: any(map(links.is_open, server.peers))
    made.unsent_bytes = lambda: sum(
        transport.get_write_buffer_size()
        for peer in server.peers
        if (transport := server.transport_of(peer.number)) is not None
    )
    made.connection_count = lambda: server.connection_count
    port = await server.start(HOST, 0)
    made.client = RpcClient(host=HOST, port=port, client_id="mine")
    made.own = RpcClient(host=HOST, port=port, client_id=OWN)
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield made
    finally:
        made.client.close()
        made.own.close()
        await server.stop()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 -- what a socket brings has no event here
        await asyncio.sleep(0)


@pytest.mark.parametrize("is_later", [False, True])
async def test_one_partition_is_refused_and_the_others_are_worked_off(*, is_later: bool) -> None:
    async with served() as each:
        each.is_later = is_later
        each.add(RequestMode.ERROR, topic="orders", partition=1, error_code=REFUSED.name)
        assert codes(await each.ask(produce(0, 1, 2))) == {0: 0, 1: REFUSED, 2: 0}
        (done,) = each.done
        assert [data.index for data in done.topic_data[0].partition_data] == [0, 2]


async def test_a_request_that_is_refused_as_a_whole_does_no_work() -> None:
    async with served() as each:
        rule = each.add(RequestMode.ERROR, error_code=REFUSED.name, times=1)
        assert codes(await each.ask(produce(0, 1))) == {0: REFUSED, 1: REFUSED}
        assert each.done == []
        assert codes(await each.ask(produce(0))) == {0: 0}
        assert (rule.matches, rule.hits) == (2, 1)


@pytest.mark.parametrize("is_later", [False, True])
async def test_an_error_after_the_work_tells_the_client_otherwise(*, is_later: bool) -> None:
    async with served() as each:
        each.is_later = is_later
        keys: dict[str, Any] = {"topic": "orders", "partition": 1, "error_code": REFUSED.name}
        each.add(RequestMode.ERROR, when=When.AFTER, **keys)
        assert codes(await each.ask(produce(0, 1))) == {0: 0, 1: REFUSED}
        assert len(each.done[0].topic_data[0].partition_data) == 2


async def test_a_fetch_has_the_code_per_partition_and_no_session() -> None:
    async with served() as each:
        each.add(RequestMode.ERROR, topic="orders", partition=1, error_code=REFUSED.name)
        assert codes(await each.ask(fetch())) == {0: 0, 1: REFUSED}
        (done,) = each.done
        assert (done.session_id, done.session_epoch, done.max_wait_ms) == (0, -1, 0)
        answer = await each.ask(fetch(session_epoch=3))
        assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


async def test_metadata_of_all_topics_has_the_code_at_the_topic() -> None:
    async with served() as each:
        each.add(RequestMode.ERROR, topic="orders", error_code="LEADER_NOT_AVAILABLE")
        answer = await each.ask(MetadataRequest(topics=None))
        assert answer.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE


async def test_requests_of_the_clusters_own_nodes_are_not_met() -> None:
    async with served() as each:
        rule = each.add(RequestMode.ERROR, error_code=REFUSED.name)
        assert codes(await each.own.request(produce(0), PRODUCE_VERSION)) == {0: 0}
        assert rule.matches == 0


@pytest.mark.parametrize("mode", [RequestMode.CLOSE, RequestMode.RESET])
@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("delay_ms", [0, 1])
async def test_a_connection_ends_in_place_of_an_answer(
    mode: RequestMode, when: When, delay_ms: int
) -> None:
    async with served() as each:
        each.add(mode, when=when, delay_ms=delay_ms, times=1)
        with pytest.raises(ConnectionError):
            await each.ask(produce(0))
        assert len(each.done) == (when is When.AFTER)
        assert codes(await each.ask(produce(0))) == {0: 0}


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("is_later", [False, True])
async def test_a_barrier_holds_requests_until_they_are_released(
    when: When, *, is_later: bool
) -> None:
    async with served() as each, asyncio.TaskGroup() as group:
        each.is_later = is_later
        rule = each.add(RequestMode.HOLD, when=when)
        asked = group.create_task(each.ask(produce(0)))
        await until(lambda: each.faults.held(rule))
        assert len(each.done) == (when is When.AFTER)
        assert not asked.done()
        assert each.faults.release(rule) == 1
        assert codes(await asked) == {0: 0}


async def test_a_request_that_is_held_is_forgotten_with_its_connection() -> None:
    async with served() as each, asyncio.TaskGroup() as group:
        rule = each.add(RequestMode.HOLD)
        asked = group.create_task(_lost(each.ask(produce(0))))
        await until(lambda: each.faults.held(rule))
        each.client.close()
        await asked
        await until(lambda: not each.faults.held(rule))
        assert each.done == []


async def test_who_left_during_the_work_is_not_held_behind_it() -> None:
    async with served() as each, asyncio.TaskGroup() as group:
        rule = each.add(RequestMode.HOLD, when=When.AFTER)
        observer = each.add(RequestMode.OBSERVE)
        work = each.work = asyncio.get_running_loop().create_future()
        asked = group.create_task(_lost(each.ask(MetadataRequest(topics=None))))
        await until(lambda: each.done)
        each.client.close()
        await asked
        await until(lambda: not each.is_open())
        work.set_result(None)
        await until(lambda: each.connection_count() == 0)
        assert each.faults.held(rule) == []
        assert each.faults.passed(observer) == []


@pytest.mark.parametrize("when", When)
async def test_what_is_dropped_is_never_answered(when: When) -> None:
    async with served() as each, asyncio.TaskGroup() as group:
        rule = each.add(RequestMode.DROP, when=when)
        asked = group.create_task(_lost(each.ask(produce(0))))
        await until(lambda: each.faults.held(rule))
        assert not asked.done()
        assert len(each.done) == (when is When.AFTER)
        each.faults.drop_rule(rule)
        await asked


async def _lost(asking: Any) -> None:
    with pytest.raises(ConnectionError):
        await asking


@pytest.mark.parametrize("when", When)
async def test_a_delayed_request_is_answered_all_the_same(when: When) -> None:
    async with served() as each:
        rule = each.add(RequestMode.DELAY, delay_ms=1, jitter_ms=1, when=when)
        assert codes(await each.ask(produce(0))) == {0: 0}
        assert rule.hits == 1


async def test_a_throttled_client_is_told_and_waits_whether_it_wants_or_not() -> None:
    async with served() as each:
        each.add(RequestMode.THROTTLE, throttle_time_ms=20, times=1)
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        assert (await each.ask(produce(0))).throttle_time_ms == 20
        assert (await each.ask(produce(0))).throttle_time_ms == 0
        assert loop.time() - began_s >= 0.02


async def test_answers_and_requests_trickle_and_arrive_whole() -> None:
    async with served() as each:
        each.add(RequestMode.TRICKLE, slice_bytes=5)
        each.add(RequestMode.TRICKLE, way=Way.REQUESTS, bytes_per_second=100_000)
        for _ in range(2):
            assert codes(await each.ask(produce(0, 1, 2))) == {0: 0, 1: 0, 2: 0}


@pytest.mark.parametrize("mode", [RequestMode.TRICKLE, RequestMode.TRUNCATE])
async def test_no_answer_is_not_slowed_or_cut(mode: RequestMode) -> None:
    async def answer_nothing(_received: RequestReceived, _peer: Peer) -> None:
        return None

    made, replaced = Served(), list[int]()
    faulty = FaultyDispatch(
        answer_nothing, made.faults, name_of=lambda _: None, own_client_ids=[OWN]
    )
    transport = asyncio.Transport()
    faulty.links = ServerLinks(
        lambda _: transport, lambda number, _: replaced.append(number), lambda: 0.5
    )
    made.add(mode, slice_bytes=1, capacity_bytes=9)
    body = b"".join(codec(ProduceRequest, PRODUCE_VERSION).encode_parts(produce(0)))
    received = RequestReceived(0, PRODUCE_VERSION, 7, "mine", memoryview(bytearray(body)))
    assert await faulty.dispatch(received, Peer("", 0, 1)) is None
    assert replaced == []


async def test_a_slow_answer_leaves_at_once_when_its_fault_is_taken_off() -> None:
    async with served() as each, asyncio.TaskGroup() as group:
        rule = each.add(RequestMode.TRICKLE, slice_bytes=1, delay_ms=86_400_000)
        asked = group.create_task(each.ask(produce(0)))
        await until(lambda: each.unsent_bytes() > 0)
        each.faults.drop_rule(rule)
        assert codes(await asked) == {0: 0}


async def test_a_slow_answer_is_forgotten_with_its_connection() -> None:
    async with served() as each, asyncio.TaskGroup() as group:
        each.add(RequestMode.TRICKLE, slice_bytes=1, delay_ms=86_400_000)
        asked = group.create_task(_lost(each.ask(produce(0))))
        await until(lambda: each.unsent_bytes() > 0)
        each.client.close()
        await asked
        await until(lambda: each.connection_count() == 0)


async def test_a_truncated_answer_ends_its_connection() -> None:
    async with served() as each:
        each.add(RequestMode.TRUNCATE, capacity_bytes=9, times=1)
        with pytest.raises(ConnectionError):
            await each.ask(produce(0))
        assert codes(await each.ask(produce(0))) == {0: 0}


async def test_an_observer_shows_what_passed_with_its_errors() -> None:
    async with served() as each:
        rule = each.add(RequestMode.OBSERVE)
        each.add(RequestMode.ERROR, error_code=REFUSED.name, nth=2)
        await each.ask(produce(0))
        await each.ask(produce(1))
        first, second = each.faults.passed(rule)
        assert (first["api"], first["version"], first["client_id"]) == ("Produce", 9, "mine")
        assert (first["parts"], first["errors"]) == (["orders-0"], [])
        assert (second["parts"], second["errors"]) == (["orders-1"], [REFUSED.name])
        assert first["answer_bytes"] > 0
