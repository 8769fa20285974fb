"""A well-behaved client beside a hostile one: small requests at an even pace, how long each took.

``python -m benchmarks.hostile.bystander PORT [TOPIC]`` asks ApiVersions, and of brokers Metadata
and Produce of one record too, each on a connection of its own, and prints one line of JSON per
answer: when it was asked (CLOCK_MONOTONIC), the API, the ms it took. It does not wait for an answer
before it asks the next time: one long stall counts as often as it was met. It ends with its input.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import deque
from typing import Any, Final, cast

from jbodlab.processes.free_ports import LOOPBACK
from protocol.apis import BY_NAME
from protocol.connection import ClientConnection
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.ports import Buffer
from protocol.records.build import NewRecord, build_batch
from protocol.wire.fast import codec

PERIOD_S: Final = 0.005
TIMEOUT_MS: Final = 30_000


class Asker(asyncio.Protocol):
    """Asks the same on one connection, every time it is told to."""

    def __init__(self, api: str, version: int, request: Any) -> None:
        self._api, self._version = BY_NAME[api], version
        self._body: list[Buffer] = codec(self._api.request, version).encode_parts(request)
        self._connection = ClientConnection("bystander")
        self._asked_s: deque[float] = deque()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self._transport = cast("asyncio.Transport", transport)  # the loop promises a base type

    def connection_lost(self, exc: Exception | None) -> None:
        """Say how long those waited who get no answer any more."""
        for _ in range(len(self._asked_s)):
            self._answered()

    def ask(self) -> None:
        """Send the request once more."""
        self._asked_s.append(time.monotonic())
        frame = self._connection.send_request(self._api.key, self._version, self._body)
        self._transport.write(b"".join(frame))

    def data_received(self, data: bytes) -> None:
        """Note how long each answer took."""
        for _ in self._connection.receive_data(data):
            self._answered()

    def _answered(self) -> None:
        asked_s = self._asked_s.popleft()
        taken_ms = 1000 * (time.monotonic() - asked_s)
        print(json.dumps([asked_s, self._api.name, round(taken_ms, 3)]))


def askers(topic: str | None) -> list[Asker]:
    """Return who asks a controller, or a broker that leads partition 0 of ``topic``."""
    found = [Asker("ApiVersions", 0, ApiVersionsRequest())]
    if topic is None:
        return found
    records = memoryview(build_batch([NewRecord(b"small")]))
    partition = PartitionProduceData(index=0, records=records)
    wanted = [TopicProduceData(name=topic, partition_data=[partition])]
    return [
        *found,
        Asker("Metadata", 9, MetadataRequest(topics=[MetadataRequestTopic(name=topic)])),
        Asker("Produce", 9, ProduceRequest(acks=1, timeout_ms=TIMEOUT_MS, topic_data=wanted)),
    ]


async def ask_until_told(port: int, topic: str | None) -> None:
    """Ask at an even pace until the input ends."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    found = askers(topic)
    for asker in found:
        await loop.create_connection(lambda each=asker: each, LOOPBACK, port)
    due_s = loop.time()
    while not reader.at_eof():
        for asker in found:
            asker.ask()
        due_s += PERIOD_S
        await asyncio.sleep(due_s - loop.time())


def main() -> None:
    """Ask the node on the port given."""
    sys.stdout.reconfigure(line_buffering=False)  # pyright: ignore - TextIO lacks it
    topic = sys.argv[2] if len(sys.argv) > 2 else None
    asyncio.run(ask_until_told(int(sys.argv[1]), topic))


if __name__ == "__main__":
    main()
