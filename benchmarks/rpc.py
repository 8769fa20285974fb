"""Measures the RPC server against asyncio streams: small echoes per second, MiB/s of large frames.

Beside them it tells the processor time that the server took for each, which a busy machine changes
less. Server and client are two processes on uvloop, on loopback. It measures no codec and no disk.
Run: ``python -m benchmarks.rpc [--seconds 3]``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple, TypeAlias, cast

import uvloop

from protocol.connection import ClientConnection, Peer, RequestReceived
from protocol.ports import Buffer
from protocol.transport.heap_trim import trim_when_quiet
from protocol.transport.rpc_server import RpcServer

PRODUCE: Final = 0
VERSION: Final = 9
LARGE_BYTES: Final = 1024 * 1024
SMALL_BYTES: Final = 100
ANSWER: Final = bytes(SMALL_BYTES)
LARGE_ANSWER: Final = bytes(LARGE_BYTES)
HOST: Final = "127.0.0.1"
_SIZE: Final = Struct(">i")
_RESPONSE_HEAD: Final = Struct(">iiB")

StopServer: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Load:
    """What the client keeps going."""

    name: str
    request_bytes: int
    answer: bytes
    connections: int
    in_flight: int

    @property
    def is_large(self) -> bool:
        """Whether bytes count, not requests."""
        return self.request_bytes + len(self.answer) >= LARGE_BYTES


LOADS: Final = {
    load.name: load
    for load in (
        Load("small echo", SMALL_BYTES, ANSWER, 8, 64),
        Load("receive 1 MiB", LARGE_BYTES, ANSWER, 4, 4),
        Load("send 1 MiB", SMALL_BYTES, LARGE_ANSWER, 4, 4),
    )
}


async def serve_rpc(answer: bytes) -> tuple[int, StopServer]:
    """Start the server under test."""

    async def dispatch(request: RequestReceived, peer: Peer) -> Sequence[Buffer]:
        return [answer]

    trim_when_quiet()  # As every process does that serves.
    server = RpcServer(dispatch)
    return await server.start(HOST, 0), server.stop


async def serve_streams(answer: bytes) -> tuple[int, StopServer]:
    """Start the peer: the same service on asyncio's StreamReader and StreamWriter."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size: int = _SIZE.unpack(await reader.readexactly(4))[0]
                frame = await reader.readexactly(size)
                correlation_id: int = _SIZE.unpack_from(frame, 4)[0]
                writer.write(_RESPONSE_HEAD.pack(len(answer) + 5, correlation_id, 0) + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, HOST, 0)

    async def stop() -> None:
        server.close()

    return server.sockets[0].getsockname()[1], stop


SERVERS: Final = {"streams": serve_streams, "RpcServer": serve_rpc}


class LoadLink(asyncio.BufferedProtocol):
    """Keeps ``in_flight`` requests under way and counts the answers, all of one known size."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._frame = b"".join(
            ClientConnection("bench").send_request(PRODUCE, VERSION, [bytes(load.request_bytes)])
        )
        self._answer_bytes = len(load.answer) + _RESPONSE_HEAD.size
        self._buffer = memoryview(bytearray(LARGE_BYTES))
        self._pending_bytes = 0
        self.answered = 0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Fill the pipeline."""
        self._transport = cast("asyncio.Transport", transport)  # the loop promises a base type
        self._send(self._load.in_flight)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Give the memory for answers, which nobody reads."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Count whole answers and send as many requests."""
        count, self._pending_bytes = divmod(self._pending_bytes + nbytes, self._answer_bytes)
        self.answered += count
        if count:
            self._send(count)

    def _send(self, count: int) -> None:
        if self._load.request_bytes >= LARGE_BYTES:
            self._transport.writelines([self._frame] * count)
        else:
            self._transport.write(self._frame * count)


class Driven(NamedTuple):
    """What a client saw of a server."""

    answers_per_s: float
    """After a warm-up of a fifth of the time."""
    answers_count: int
    """With those of the warm-up."""


async def drive(load: Load, port: int, seconds: float) -> Driven:
    """Load the server."""
    loop = asyncio.get_running_loop()
    links = [
        (await loop.create_connection(lambda: LoadLink(load), HOST, port))[1]
        for _ in range(load.connections)
    ]
    await asyncio.sleep(seconds / 5)
    before, begun = sum(link.answered for link in links), loop.time()
    await asyncio.sleep(seconds)
    answered = sum(link.answered for link in links)
    return Driven((answered - before) / (loop.time() - begun), answered)


class Measured(NamedTuple):
    """How a server did."""

    answers_per_s: float
    processor_us: float
    """Of the server's thread, per answer."""

    def told(self, unit: str) -> str:
        """Return both in words."""
        return f"{self.answers_per_s:9.0f} {unit} {self.processor_us:7.2f} us"


async def measure(server_name: str, load: Load, seconds: float) -> Measured:
    """Start the server here and the load in a second process."""
    port, stop = await SERVERS[server_name](load.answer)
    command = ("-m", "benchmarks.rpc", "--drive", load.name, str(port), "--seconds", str(seconds))
    client = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdout=asyncio.subprocess.PIPE
    )
    used_s = time.thread_time()
    output, _ = await client.communicate()
    used_s = time.thread_time() - used_s
    await stop()
    per_s, count = output.split()
    return Measured(float(per_s), used_s / int(count) * 1e6)


async def compare(seconds: float) -> None:
    """Print one line per load: both servers and their ratio."""
    for load in LOADS.values():
        streams = await measure("streams", load, seconds)
        ours = await measure("RpcServer", load, seconds)
        unit = "MiB/s" if load.is_large else "req/s"
        print(
            f"{load.name:14} {load.connections} connections x {load.in_flight} in flight:"
            f"  streams {streams.told(unit)}  RpcServer {ours.told(unit)}"
            f"  ratio {ours.answers_per_s / streams.answers_per_s:.2f}"
        )


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="per measurement")
    parser.add_argument("--drive", nargs=2, metavar=("LOAD", "PORT"), help="be the client")
    arguments = parser.parse_args()
    if arguments.drive:
        name, port = arguments.drive
        print(*uvloop.run(drive(LOADS[name], int(port), arguments.seconds)))
        return
    uvloop.run(compare(arguments.seconds))


if __name__ == "__main__":
    main()
