"""What a broker goes on with when a client left, and what it gives up."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest

from broker.dispatcher import Dispatcher
from broker.ends_with_peer import ends_with_peer
from broker.record_turns import RecordTurns
from broker.storage.worker import InlineDiskWorker, run_jobs
from protocol.apis import APIS, BY_NAME
from protocol.connection import ClientConnection, Peer, RequestReceived
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.steps import OUTPUT_BYTES_SHORT
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.transport.rpc_server import RpcServer
from protocol.wire.fast import codec
from tests.broker.fakes import FakeBroker
from tests.deadlines import DEADLINE_S

HOST = "127.0.0.1"
PRODUCE = BY_NAME["Produce"]
BOMB = bytes(
    build_batch(
        [NewRecord(bytes(4 * OUTPUT_BYTES_SHORT))], BatchOptions(compression=Compression.ZSTD)
    )
)


def produce(acks: int, partitions: int = 1, records: bytes = b"") -> ProduceRequest:
    data = [PartitionProduceData(index=n, records=records) for n in range(partitions)]
    topics = [TopicProduceData(name="orders", partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=500, topic_data=topics)


def received(api: str, version: int, body: bytes) -> RequestReceived:
    return RequestReceived(BY_NAME[api].key, version, 1, "test", memoryview(bytearray(body)))


@pytest.mark.parametrize("partitions", [1, 1000])
@pytest.mark.parametrize("version", range(13))
def test_a_produce_that_nobody_waits_for_any_more_ends_unless_it_was_sent_with_acks_0(
    version: int, partitions: int
) -> None:
    ending = [
        acks
        for acks in (-1, 0, 1)
        if ends_with_peer(
            received(
                "Produce",
                version,
                bytes(codec(ProduceRequest, version).encode(produce(acks, partitions))),
            )
        )
    ]
    assert ending == [-1, 1]


@pytest.mark.parametrize("body", [b"", b"\x01", b"\x01\xff", b"\xff\xff\xff\xff\xff\xff"])
def test_a_produce_that_cannot_be_read_is_left_to_who_refuses_it(body: bytes) -> None:
    assert not ends_with_peer(received("Produce", 9, body))


@pytest.mark.parametrize("version", [-1, 14, 2**15 - 1])
def test_a_produce_of_a_version_that_nobody_knows_is_left_to_who_refuses_it(version: int) -> None:
    assert not ends_with_peer(received("Produce", version, b""))


def test_of_all_others_only_a_fetch_ends() -> None:
    others = [api.name for api in APIS.values() if api is not PRODUCE]
    assert [name for name in others if ends_with_peer(received(name, 0, b""))] == ["Fetch"]


class HeldWorker(InlineDiskWorker):
    """Unpacks and packs when it is told to, and remembers what it is asked for."""

    def __init__(self) -> None:
        super().__init__(asyncio.get_running_loop())
        self.asked = 0
        self.unpacked: list[weakref.ref[Any]] = []
        self.release: Callable[[], None] = lambda: None

    def run(self, jobs: Sequence[Callable[[], Any]], done: Callable[[list[Any]], None]) -> None:
        def release() -> None:
            results = run_jobs(jobs)
            self.unpacked += [weakref.ref(each) for each in results if not isinstance(each, bytes)]
            done(results)

        self.asked += 1
        self.release = release


@pytest.mark.parametrize("done", [0, 1], ids=["while the first is unpacked", "or packed anew"])
@pytest.mark.usefixtures("no_collections")
async def test_bombs_of_clients_that_left_are_not_unpacked_and_nothing_of_them_stays(
    broker: FakeBroker, done: int
) -> None:
    worker = HeldWorker()
    turns = RecordTurns(worker)
    broker.topic_configs.known["orders"] = {"compression.type": "gzip"}
    dispatcher = Dispatcher(replace(broker.context, record_turns=turns))
    begun: list[RequestReceived] = []

    async def dispatch(request: RequestReceived, peer: Peer) -> LaterAnswer | HeldRequest | Body:
        begun.append(request)
        return await dispatcher.dispatch(request, peer)

    server = RpcServer(dispatch, ends_with_peer=ends_with_peer)
    port = await server.start(HOST, 0)
    parts = codec(ProduceRequest, 9).encode_parts(produce(-1, records=BOMB))
    frame = b"".join(ClientConnection("test").send_request(PRODUCE.key, 9, parts))
    async with asyncio.timeout(DEADLINE_S):
        async with AsyncExitStack() as clients:
            for _ in range(8):
                _, writer = await asyncio.open_connection(HOST, port)
                clients.callback(writer.close)
                writer.write(frame * 3)
            await until(lambda: worker.asked == 1 and len(begun) == 8)
            if done:
                worker.release()
                await until(lambda: worker.asked == 2)
        await until(lambda: server.connection_count == 0)
        assert turns.medium.locked(), "the codec is still at work"
        worker.release()
        worker.release = lambda: None
        await until(lambda: not turns.medium.locked())
        await server.stop()
    assert (worker.asked, len(begun)) == (1 + done, 8)
    assert broker.engine.produced == []
    assert server.memory.received.held_bytes == 0
    assert len(worker.unpacked) == 1
    assert worker.unpacked[0]() is None


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Have nothing freed that refers to itself."""
    gc.disable()
    yield
    gc.enable()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 -- only the broker's inside shows it
        await asyncio.sleep(0)
