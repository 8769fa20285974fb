"""One end of a connection: what asyncio promises its protocols."""

from __future__ import annotations

import asyncio

import pytest

from simulation.world.loop import SimLoop, run_world
from simulation.world.transport import WINDOW_BYTES
from tests.simulation.world.protocols import Kept, KeptBuffered, pair
from tests.simulation.world.worlds import sim_loop


async def test_bytes_arrive_in_order_and_later():
    client, server = await pair()
    before_s = sim_loop().time()
    for number in range(100):
        client.transport.write(bytes([number]))
    assert server.data == b""
    await asyncio.sleep(0.01)
    assert server.data == bytes(range(100))
    assert sim_loop().time() > before_s


async def test_what_was_written_is_copied():
    client, server = await pair()
    buffer = bytearray(b"before")
    client.transport.write(memoryview(buffer))
    client.transport.writelines([buffer, b"!"])
    buffer[:] = b"after!"
    await asyncio.sleep(0.01)
    assert server.data == b"beforebefore!"


async def test_a_buffered_protocol_is_filled_piece_by_piece_and_may_pause_in_the_middle():
    loop, made = sim_loop(), list[KeptBuffered]()

    def accept() -> KeptBuffered:
        made.append(KeptBuffered())
        made[-1].pause_at = 10
        return made[-1]

    await loop.create_server(accept, "127.0.0.1", 5000)
    _, client = await loop.create_connection(Kept, "127.0.0.1", 5000)
    client.transport.write(bytes(range(30)))
    await asyncio.sleep(0.01)
    assert made[0].data == bytes(range(14))
    made[0].transport.resume_reading()
    await asyncio.sleep(0.01)
    assert made[0].data == bytes(range(30))


async def test_a_writer_is_paused_while_the_reader_does_not_read():
    client, server = await pair()
    server.transport.pause_reading()
    client.transport.write(bytes(WINDOW_BYTES))
    assert client.transport.get_write_buffer_size() == 0
    client.transport.write(bytes(100_000))
    assert client.transport.get_write_buffer_size() == 100_000
    assert client.events == ["made", "pause"]
    await asyncio.sleep(0.01)
    server.transport.resume_reading()
    await asyncio.sleep(0.01)
    assert client.events == ["made", "pause", "resume"]
    assert len(server.data) == WINDOW_BYTES + 100_000


async def test_limits_of_the_write_buffer_follow_asyncio():
    client, _ = await pair()
    client.transport.set_write_buffer_limits(high=1000)
    assert client.transport.get_write_buffer_limits() == (250, 1000)
    client.transport.set_write_buffer_limits(low=100)
    assert client.transport.get_write_buffer_limits() == (100, 400)


async def test_closing_ends_both_ends_behind_what_was_written():
    client, server = await pair()
    client.transport.write(b"last words")
    client.transport.close()
    client.transport.write(b"too late")
    assert client.transport.is_closing()
    assert await client.lost is None
    assert await server.lost is None
    assert server.data == b"last words"
    assert server.events == ["made", "eof", "lost"]


async def test_one_direction_may_end_before_the_other():
    reader, writer = await connected_streams()
    writer.write(b"question")
    writer.write_eof()
    assert await reader.read() == b"answer to question"
    writer.close()


async def connected_streams() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"answer to " + await reader.read())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    return await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])


async def test_names_of_both_ends_are_known():
    client, server = await pair(port=5000)
    assert client.transport.get_extra_info("peername") == ("127.0.0.1", 5000)
    assert server.transport.get_extra_info("sockname") == ("127.0.0.1", 5000)
    assert server.transport.get_extra_info("peername") == client.transport.get_extra_info(
        "sockname"
    )
    assert client.transport.get_extra_info("socket") is None


async def test_a_protocol_that_fails_loses_its_connection(caplog: pytest.LogCaptureFixture):
    class Failing(Kept):
        def data_received(self, data: bytes) -> None:
            raise ValueError(data)

    loop, made = sim_loop(), list[Failing]()

    def accept() -> Failing:
        made.append(Failing())
        return made[-1]

    await loop.create_server(accept, "127.0.0.1", 5000)
    _, client = await loop.create_connection(Kept, "127.0.0.1", 5000)
    client.transport.write(b"x")
    assert isinstance(await made[0].lost, ValueError)
    assert len(loop.unhandled) == 1
    assert "a protocol failed" in caplog.text


async def test_what_comes_before_the_client_is_told_waits_for_it():
    class Greeting(Kept):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self.transport.write(b"hello")
            self.transport.close()

    loop = sim_loop()
    await loop.create_server(Greeting, "127.0.0.1", 5000)
    for _ in range(20):
        _, client = await loop.create_connection(Kept, "127.0.0.1", 5000)
        assert await client.lost is None
        assert client.data == b"hello"
        assert client.events == ["made", "eof", "lost"]


def test_what_is_open_when_a_world_ends_needs_no_close():
    async def main(_loop: SimLoop) -> asyncio.StreamWriter:
        _, writer = await connected_streams()
        writer.write(b"question")
        return writer

    assert run_world(1, main).is_closing()
