"""A capture to the requests and responses in it, in the order in which they were complete.

Connections that do not speak Kafka's protocol are left out, unless a port was named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jbodlab.decoding.capture import Chunk, Connection, read_capture
from jbodlab.decoding.frames import STREAM_HEAD_BYTES, Exchange, ReadFrame, looks_like_stream


class SeenFrame(NamedTuple):
    """A frame, the connection that it was seen on, and when its last byte was captured."""

    frame: ReadFrame
    connection: Connection
    at_s: float


class Transcript:
    """One capture; iterate over it once."""

    def __init__(self, content: bytes, *, port: int | None) -> None:
        """Take the bytes of a pcap or pcapng file; with ``port`` only connections to that port."""
        self._content = content
        self._port = port
        self._conversations: dict[Connection, _Conversation] = {}

    def __iter__(self) -> Iterator[SeenFrame]:
        """Return the frames.

        Raises:
            CaptureError: The content is no capture, or broken.
        """
        for chunk in read_capture(self._content, server_port=self._port):
            found = self._conversations.get(chunk.connection)
            if found is None:
                found = _Conversation(is_kafka=None if self._port is None else True)
                self._conversations[chunk.connection] = found
            yield from found.receive(chunk)
        for conversation in self._conversations.values():
            yield from conversation.end()

    @property
    def left_out(self) -> list[Connection]:
        """The connections that do not seem to be Kafka's; complete at the end of the iteration."""
        return [
            connection
            for connection, conversation in self._conversations.items()
            if not conversation.is_kafka
        ]


class _Conversation:
    """One connection. Until it is known what is spoken on it, chunks wait."""

    def __init__(self, *, is_kafka: bool | None) -> None:
        self.is_kafka = is_kafka
        self._waiting: list[Chunk] = []
        self._exchange = Exchange()
        self._last: dict[str, Chunk] = {}

    def receive(self, chunk: Chunk) -> Iterator[SeenFrame]:
        if self.is_kafka is None:
            self._waiting.append(chunk)
            self._judge()
        elif self.is_kafka:
            yield from self._read(chunk)
        if self.is_kafka:
            for waiting in self._waiting:
                yield from self._read(waiting)
            self._waiting.clear()

    def end(self) -> Iterator[SeenFrame]:
        for kind, chunk in self._last.items():
            if not chunk.lost_bytes:
                for frame in self._exchange.end(kind):
                    yield SeenFrame(frame, chunk.connection, chunk.at_s)

    def _judge(self) -> None:
        """Look at how the client begins; who may not be the client must send a good request."""
        begin = b"".join(chunk.data for chunk in self._waiting if chunk.from_client)
        if len(begin) < STREAM_HEAD_BYTES:
            return
        frames: list[ReadFrame] = []
        if looks_like_stream(begin) and not self._waiting[0].connection.has_handshake:
            frames = Exchange().receive("request", begin)
            if not frames:
                return
        self.is_kafka = looks_like_stream(begin) and all(one.error is None for one in frames)

    def _read(self, chunk: Chunk) -> Iterator[SeenFrame]:
        kind = "request" if chunk.from_client else "response"
        self._last[kind] = chunk
        if chunk.lost_bytes:
            error = f"{chunk.lost_bytes} bytes are missing in the capture; the rest is left out"
            yield SeenFrame(ReadFrame(kind=kind, error=error), chunk.connection, chunk.at_s)
            return
        for frame in self._exchange.receive(kind, chunk.data):
            yield SeenFrame(frame, chunk.connection, chunk.at_s)
