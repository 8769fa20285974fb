"""What a server holds for clients that send or read too slowly, too much or nothing."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from struct import pack

import pytest

from protocol.byte_budget import Claim
from protocol.connection import ClientConnection, RequestReceived
from protocol.framing import HELD_BYTES_MIN
from protocol.ports import Buffer
from protocol.transport.connection_watch import ConnectionLimits
from protocol.transport.server_link import ServerLink
from protocol.transport.server_memory import ServerMemory
from tests.protocol.transport.raw_client import (
    DEADLINE_S,
    HOST,
    METADATA,
    RawClient,
    UntilCancelled,
    connected,
    echo,
    eventually,
    serving,
)

MIB = 1 << 20
LARGE = bytes(3 * MIB)
IMPATIENT = ConnectionLimits(stalled_ms_max=20)
NODE = "2"


async def test_announced_bytes_take_no_memory_before_they_come() -> None:
    async with serving(echo) as (server, port), attackers(port, 20) as sockets:
        for each in sockets:
            each.sendall(pack(">i", 100 * MIB) + bytes(1000))
        async with connected(port) as client:
            client.send(b"served")
            assert await client.receive() == b"served"
        assert claimed_bytes(server.memory) == 0


async def test_large_requests_are_held_one_after_the_other_and_all_are_answered() -> None:
    held: list[int] = []
    memory = ServerMemory(request_bytes_max=8 * MIB)

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        held.append(memory.large.held_bytes)
        await asyncio.sleep(0)
        return [b"%d" % len(request.body)]

    async with serving(answer, memory=memory) as (_, port), clients(port, 6) as all_of_them:
        for each in all_of_them:
            each.send(LARGE, LARGE)
        for each in all_of_them:
            assert [await each.receive(), await each.receive()] == [b"%d" % len(LARGE)] * 2
    assert max(held) <= 4 * MIB
    assert len(held) == 12


async def test_a_frame_larger_than_the_budget_is_taken_alone() -> None:
    memory = ServerMemory(request_bytes_max=4 * MIB)
    async with serving(echo, memory=memory) as (_, port), connected(port) as client:
        client.send(LARGE, b"behind", LARGE)
        assert await client.receive() == LARGE
        assert await client.receive() == b"behind"
        assert await client.receive() == LARGE
        await eventually(lambda: claimed_bytes(memory) == 0)


async def test_who_stalls_in_a_frame_that_others_wait_for_is_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = ServerMemory(request_bytes_max=4 * MIB)
    async with (
        serving(echo, memory=memory, limits=IMPATIENT) as (_, port),
        attackers(port, 3) as sockets,
        connected(port) as client,
    ):
        for each in sockets:
            each.sendall(pack(">i", 50 * MIB) + bytes(HELD_BYTES_MIN))
        await eventually(lambda: memory.large.waiting_count == 2)
        client.send(LARGE)
        assert await client.receive() == LARGE
    closed = [each for each in caplog.messages if "others wait for the memory" in each]
    assert len(closed) == 3


async def test_ordinary_requests_do_not_wait_for_large_ones() -> None:
    memory = ServerMemory(request_bytes_max=4 * MIB)
    patient = ConnectionLimits(stalled_ms_max=3_600_000)
    async with (
        serving(echo, memory=memory, limits=patient) as (_, port),
        attackers(port, 2) as sockets,
        connected(port) as client,
    ):
        for each in sockets:
            each.sendall(pack(">i", 50 * MIB) + bytes(HELD_BYTES_MIN))
        await eventually(lambda: memory.large.waiting_count == 1)
        body = bytes(500_000)
        client.send(body)
        assert await client.receive() == body


async def test_requests_of_nodes_do_not_wait_for_those_of_clients() -> None:
    memory = ServerMemory(request_bytes_max=4 * MIB, node_client_ids=(NODE,))
    patient = ConnectionLimits(stalled_ms_max=3_600_000)
    async with (
        serving(echo, memory=memory, limits=patient) as (_, port),
        attackers(port, 2) as sockets,
        connected(port) as node,
    ):
        for each in sockets:
            each.sendall(pack(">i", 50 * MIB) + bytes(HELD_BYTES_MIN))
        await eventually(lambda: memory.large.waiting_count == 1)
        node.writer.writelines(ClientConnection(NODE).send_request(METADATA, 1, [LARGE]))
        assert await node.receive() == LARGE


async def test_what_a_connection_held_goes_with_it() -> None:
    gate = asyncio.Event()

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        await gate.wait()
        return [request.body]

    async with serving(answer) as (server, port):
        memory = server.memory
        async with attackers(port, 4) as sockets:
            connection = ClientConnection(None)
            for each in sockets:
                each.sendall(
                    b"".join(connection.send_request(METADATA, 1, [bytes(HELD_BYTES_MIN)]))
                )
                each.sendall(pack(">i", 50 * MIB) + bytes(HELD_BYTES_MIN))
            await eventually(lambda: memory.large.waiting_count == 3)
        gate.set()
        await eventually(lambda: claimed_bytes(memory) + memory.received.held_bytes == 0)


async def test_an_answer_that_nobody_reads_counts_until_its_connection_goes() -> None:
    async def answer(_request: RequestReceived) -> Sequence[Buffer]:
        return [bytes(16 * MIB), b""]

    async with serving(answer, limits=IMPATIENT) as (server, port):
        answers = server.memory.answers
        async with attackers(port, 1) as (deaf,):
            deaf.sendall(b"".join(ClientConnection(None).send_request(METADATA, 1, [])))
            await eventually(lambda: answers.held_bytes > MIB)
            assert answers.waiting_count == 0
        await eventually(lambda: answers.held_bytes == 0)


async def test_who_does_not_read_an_answer_is_closed_once_others_wait_for_its_memory() -> None:
    async def answer(_request: RequestReceived) -> Sequence[Buffer]:
        return [bytes(16 * MIB), b""]

    memory = ServerMemory(response_bytes_max=MIB)
    async with (
        serving(answer, memory=memory, limits=IMPATIENT) as (server, port),
        attackers(port, 1) as (deaf,),
    ):
        deaf.sendall(b"".join(ClientConnection(None).send_request(METADATA, 1, [])))
        await eventually(lambda: memory.answers.held_bytes > MIB)
        granted = asyncio.Event()
        assert not memory.answers.claim(Claim(MIB, granted.set))
        async with asyncio.timeout(DEADLINE_S):
            await granted.wait()
        await eventually(lambda: server.connection_count == 0)


async def test_a_request_that_ends_with_its_peer_is_cancelled_when_that_leaves() -> None:
    answer = UntilCancelled()
    async with serving(answer, ends_with_peer=always) as (server, port):
        async with connected(port) as client:
            client.send(b"")
            await answer.begun.wait()
        async with asyncio.timeout(DEADLINE_S):
            await answer.cancelled.wait()
        await eventually(lambda: server.connection_count == 0)


def always(_request: RequestReceived) -> bool:
    return True


def claimed_bytes(memory: ServerMemory) -> int:
    return sum(each.held_bytes for each in (memory.ordinary, memory.large, memory.of_nodes))


@asynccontextmanager
async def attackers(port: int, count: int) -> AsyncGenerator[list[socket.socket]]:
    sockets = [socket.create_connection((HOST, port)) for _ in range(count)]
    try:
        yield sockets
    finally:
        for each in sockets:
            each.close()


@asynccontextmanager
async def clients(port: int, count: int) -> AsyncGenerator[list[RawClient]]:
    found = [RawClient(*await asyncio.open_connection(HOST, port)) for _ in range(count)]
    try:
        yield found
    finally:
        for each in found:
            each.writer.close()


async def test_many_small_requests_weigh_more_than_their_bytes() -> None:
    gate = asyncio.Event()
    first: list[RequestReceived] = []

    async def answer(request: RequestReceived) -> Sequence[Buffer]:
        first.append(request)
        await gate.wait()
        return [b""]

    memory = ServerMemory(request_bytes_max=2 * MIB)
    burst = pack(">ihhih", 10, METADATA, 1, 7, -1) * 4_000
    async with serving(answer, memory=memory) as (_, port), attackers(port, 40) as sockets:
        for each in sockets:
            each.sendall(burst)
        await eventually(lambda: len(first) == 40)
        count = sum(isinstance(each, RequestReceived) for each in gc.get_objects())
        for each in sockets:
            each.close()
        gate.set()
    assert 2_000 < count < 15_000, "of 160,000"


async def test_a_connection_that_closed_waits_for_no_collection_of_garbage() -> None:
    async def answer(_request: RequestReceived) -> Sequence[Buffer]:
        return [bytes(MIB), b""]

    gc.collect()
    before = len(links_alive())
    gc.disable()
    try:
        async with serving(answer) as (server, port):
            async with attackers(port, 2) as sockets:
                for each in sockets:
                    connection = ClientConnection(None)
                    for _ in range(20):
                        each.sendall(b"".join(connection.send_request(METADATA, 1, [])))
                await eventually(lambda: server.memory.received.held_bytes > 0)
                await eventually(lambda: len(links_alive()) >= before + 2)
            await eventually(lambda: server.connection_count == 0)
            await eventually(lambda: len(links_alive()) <= before)
    finally:
        gc.enable()


def links_alive() -> list[ServerLink]:
    return [each for each in gc.get_objects() if isinstance(each, ServerLink)]
