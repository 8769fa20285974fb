"""The two ends of a Kafka connection: headers, ids, replies in order. No sockets, no bodies.

Headers are decoded by hand because every request pays for them; a test compares them with the
message table. Source: RequestHeader.java, ResponseHeader.java.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from protocol.apis import APIS, request_header_version, response_header_version
from protocol.errors import Malformed
from protocol.framing import FRAME_SIZE_BYTES_MAX, Frame, FrameReader
from protocol.ports import Buffer
from protocol.principal import ANONYMOUS, Principal

_REQUEST_HEAD: Final = Struct(">hhi")
_REQUEST_HEAD_WITH_CLIENT: Final = Struct(">hhih")
_SIZED_RESPONSE_HEAD: Final = Struct(">ii")
_SIZED_TAGGED_RESPONSE_HEAD: Final = Struct(">iiB")
_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")
_CORRELATION_ID_MAX: Final = 2**31 - 1
_KNOWN_HEADERS_MAX: Final = 64

HEADER_TAGS_MAX: Final = 100
"""Kafka knows none in requests; a header is read before anything else has a turn."""
JOINED_BYTES_MAX: Final = 4 * 1024
"""An answer up to this size is one buffer: joining it is cheaper than sending one more part."""
# Peers may send any version; the bound keeps them from filling memory.
_request_header_version: Final = lru_cache(maxsize=1024)(request_header_version)
_response_header_version: Final = lru_cache(maxsize=1024)(response_header_version)
_NO_HEADER: Final = (b"", "")


DEFAULT_LISTENER: Final = "PLAINTEXT"
"""The name of the one listener that a node has unless it is given others."""


TOKEN_KEY: Final = -1
"""In place of the API key of a token of SASL that came without a header."""


class CloseConnection(Exception):  # noqa: N818 - an instruction, not an error
    """Raised by who answers a request to have the connection closed without an answer."""


class Peer(NamedTuple):
    """The other end of a server's connection."""

    host: str
    port: int
    number: int = 0
    """The server counts its connections, in the order in which they were accepted."""
    listener: str = DEFAULT_LISTENER
    """The name of the listener that it came in by."""
    principal: Principal = ANONYMOUS
    """Who it is, as far as it has authenticated."""
    is_by_token: bool = False
    """Whether it has by a delegation token."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class RequestReceived(NamedTuple):
    """A whole request. ``body`` lies in writable memory that belongs to this request alone."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str
    """"" also for Kafka's null."""
    body: memoryview


class ResponseReceived(NamedTuple):
    """A whole response, named by the request that it answers."""

    api_key: int
    api_version: int
    correlation_id: int
    body: memoryview


class ServerConnection:
    """The server's end: frames become requests, answers leave in the order of the requests.

    Bytes that are no request do not raise, because the requests before them are still answered:
    they set ``malformed``, and nothing after them is read.
    """

    __slots__ = ("_frames", "_known_headers", "_unanswered", "malformed", "wanted_bytes")

    def __init__(
        self,
        size_bytes_max: int = FRAME_SIZE_BYTES_MAX,
        receive_buffer: bytearray | None = None,
        *,
        waits: bool = False,
    ) -> None:
        """``waits`` is that of ``FrameReader``: ``wanted`` tells what waits for ``admit``."""
        self._frames = FrameReader(size_bytes_max, receive_buffer, waits=waits)
        self._unanswered: deque[int] = deque()
        self._known_headers: dict[tuple[int, int], tuple[bytes, str]] = {}
        self.malformed: Malformed | None = None
        """Why the connection must be closed: size limit, unknown API key or broken header."""
        self.wanted_bytes = 0
        """The size of the frame that waits for ``admit``; 0 when none does."""

    def next_buffer(self) -> memoryview:
        """Return the memory that the next bytes go to; ``received`` must follow."""
        return self._frames.next_buffer()

    def received(self, size_bytes: int) -> list[RequestReceived]:
        """Take the bytes just put into ``next_buffer()``; return the requests they complete."""
        return self._requests(self._frames.received(size_bytes))

    def receive_data(self, data: Buffer) -> list[RequestReceived]:
        """Take the next bytes of the stream; return the requests they complete."""
        return self._requests(self._frames.feed(data))

    @property
    def is_filling_admitted(self) -> bool:
        """Whether bytes are missing of a frame that was admitted."""
        return self._frames.is_filling_admitted

    @property
    def missing_bytes(self) -> int:
        """How many bytes are missing of the frame under way, if it has memory."""
        return self._frames.missing_bytes

    @property
    def wanting_client_id(self) -> str:
        """Who sends the frame that waits for ``admit``; "" when its header is broken."""
        try:
            return _read_client_id(self._frames.head)[0]
        except Malformed:
            return ""

    def drop(self) -> None:
        """Let go of a frame whose end will never come."""
        self._frames.drop()
        self.wanted_bytes = 0

    def admit(self) -> None:
        """Take memory for the frame that is wanted; its bytes may come now."""
        self._frames.admit()
        self.wanted_bytes = 0

    def send_response(self, request: RequestReceived, body: Sequence[Buffer]) -> list[Buffer]:
        """Return the buffers of the answer to ``request``, the oldest that has none yet."""
        answered = self._unanswered.popleft()
        assert answered == request.correlation_id
        is_one = len(body) == 1  # As nearly all are: the first is then all of it.
        size_bytes = len(body[0]) if is_one else sum(map(len, body))
        if _response_header_version(request.api_key, request.api_version) == 0:
            head = _SIZED_RESPONSE_HEAD.pack(size_bytes + 4, answered)
        else:
            head = _SIZED_TAGGED_RESPONSE_HEAD.pack(size_bytes + 5, answered, 0)
        if size_bytes <= JOINED_BYTES_MAX:
            return [head + body[0] if is_one else b"".join((head, *body))]
        return [head, *body]

    def skip_response(self, request: RequestReceived) -> None:
        """Note that ``request``, the oldest that has no answer yet, gets none (acks=0)."""
        answered = self._unanswered.popleft()
        assert answered == request.correlation_id

    def _requests(self, frames: list[Frame]) -> list[RequestReceived]:
        requests: list[RequestReceived] = []
        if self.malformed is not None:
            return requests
        self.malformed = self._frames.malformed
        self.wanted_bytes = self._frames.wanted_bytes
        try:
            for frame in frames:
                request = self._read_request(frame)
                requests.append(request)
                self._unanswered.append(request.correlation_id)
        except Malformed as error:
            self.malformed = error
        return requests

    def _read_request(self, frame: Frame) -> RequestReceived:
        """Read a header; what follows the correlation id is nearly always as the time before."""
        if len(frame) < _REQUEST_HEAD.size:
            raise Malformed(f"request of {len(frame)} bytes, its header takes 8")
        api_key, api_version, correlation_id = _REQUEST_HEAD.unpack_from(frame)
        rest, client_id = self._known_headers.get((api_key, api_version), _NO_HEADER)
        if rest and isinstance(frame, bytearray) and frame.startswith(rest, 8):
            body = memoryview(frame)[8 + len(rest) :]
            return RequestReceived(api_key, api_version, correlation_id, client_id, body)
        request = read_request(frame)
        if len(self._known_headers) < _KNOWN_HEADERS_MAX:
            rest = bytes(frame[8 : len(frame) - len(request.body)])
            self._known_headers[api_key, api_version] = (rest, request.client_id)
        return request


class SaslServerConnection(ServerConnection):
    """The server's end at a listener of SASL.

    Small frames only until the client has authenticated; bare tokens, if it asks for that.
    """

    __slots__ = ("_size_bytes_max", "takes_tokens")

    def __init__(
        self, size_bytes_max: int, receive_buffer: bytearray, *, unknown_bytes_max: int
    ) -> None:
        """``unknown_bytes_max`` is the size of a frame of who has not authenticated."""
        super().__init__(min(unknown_bytes_max, size_bytes_max), receive_buffer, waits=True)
        self._size_bytes_max = size_bytes_max
        self.takes_tokens = False
        """Whether frames are tokens without a header: ``TOKEN_KEY`` in place of an API key."""

    def take_all(self) -> None:
        """Take frames of full size from now on."""
        self._frames.limit(self._size_bytes_max)

    def _read_request(self, frame: Frame) -> RequestReceived:
        if self.takes_tokens:
            return RequestReceived(TOKEN_KEY, 0, 0, "", memoryview(frame))
        return super()._read_request(frame)

    def send_response(self, request: RequestReceived, body: Sequence[Buffer]) -> list[Buffer]:
        """Return the buffers of the answer; that to a token has no header either."""
        if request.api_key != TOKEN_KEY:
            return super().send_response(request, body)
        self._unanswered.popleft()
        return [b"".join((_INT32.pack(sum(map(len, body))), *body))]


class ClientConnection:
    """The client's end: numbers the requests and pairs each response with its request."""

    __slots__ = ("_client_id", "_frames", "_next_correlation_id", "_waiting")

    def __init__(self, client_id: str | None, size_bytes_max: int = FRAME_SIZE_BYTES_MAX) -> None:
        self._client_id = _nullable_string(client_id)
        self._frames = FrameReader(size_bytes_max)
        self._next_correlation_id = 0
        self._waiting: deque[tuple[int, int, int]] = deque()

    def next_buffer(self) -> memoryview:
        """Return the memory that the next bytes go to; ``received`` must follow."""
        return self._frames.next_buffer()

    def received(self, size_bytes: int) -> list[ResponseReceived]:
        """Take the bytes just put into ``next_buffer()``; return the responses they complete.

        Raises:
            Malformed: a size over the limit, or a response to no request or out of order.
        """
        return self._responses(self._frames.received(size_bytes))

    def receive_data(self, data: Buffer) -> list[ResponseReceived]:
        """Take the next bytes of the stream; return the responses they complete.

        Raises:
            Malformed: as ``received``.
        """
        return self._responses(self._frames.feed(data))

    def send_request(
        self,
        api_key: int,
        api_version: int,
        body: Sequence[Buffer],
        *,
        expects_response: bool = True,
    ) -> list[Buffer]:
        """Return the buffers of one request. ``expects_response`` is False for acks=0 only."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (
            0 if correlation_id == _CORRELATION_ID_MAX else correlation_id + 1
        )
        if expects_response:
            self._waiting.append((api_key, api_version, correlation_id))
        head = _request_head(api_key, api_version, correlation_id, self._client_id)
        return [_INT32.pack(len(head) + sum(map(len, body))), head, *body]

    def _responses(self, frames: list[Frame]) -> list[ResponseReceived]:
        responses = list(map(self._response, frames))
        if self._frames.malformed is not None:
            raise self._frames.malformed
        return responses

    def _response(self, frame: Frame) -> ResponseReceived:
        if len(frame) < 4:
            raise Malformed(f"response of {len(frame)} bytes, the header takes 4")
        correlation_id: int = _INT32.unpack_from(frame)[0]
        if not self._waiting:
            raise Malformed(f"response {correlation_id} while no request waits")
        api_key, api_version, expected = self._waiting.popleft()
        if correlation_id != expected:
            raise Malformed(f"response {correlation_id} where {expected} is next")
        position = 4
        if _response_header_version(api_key, api_version) >= 1:
            position = _skip_tagged_fields(frame, position)
        return ResponseReceived(api_key, api_version, correlation_id, memoryview(frame)[position:])


def read_request(frame: Frame) -> RequestReceived:
    """Split one frame (without its size) into header and body.

    Raises:
        Malformed: the API key is unknown or the header is broken.
    """
    if len(frame) < _REQUEST_HEAD.size:
        raise Malformed(f"request of {len(frame)} bytes, the header takes {_REQUEST_HEAD.size}")
    api_key, api_version, correlation_id = _REQUEST_HEAD.unpack_from(frame)
    if api_key not in APIS:
        raise Malformed(f"unknown API key {api_key}")
    header_version = _request_header_version(api_key, api_version)
    position = _REQUEST_HEAD.size
    client_id = ""
    if header_version >= 1:
        client_id, position = _read_client_id(frame)
    if header_version >= 2:
        position = _skip_tagged_fields(frame, position)
    return RequestReceived(
        api_key, api_version, correlation_id, client_id, memoryview(frame)[position:]
    )


def _read_client_id(frame: Frame) -> tuple[str, int]:
    position = _REQUEST_HEAD_WITH_CLIENT.size
    if len(frame) < position:
        raise Malformed(f"request header is cut at {len(frame)} bytes")
    length: int = _INT16.unpack_from(frame, _REQUEST_HEAD.size)[0]
    if length <= 0:
        return "", position
    if length > len(frame) - position:
        raise Malformed(f"client id of {length} bytes in {len(frame) - position} bytes")
    try:
        return frame[position : position + length].decode(), position + length
    except UnicodeDecodeError as error:
        raise Malformed(f"client id is not UTF-8: {error}") from error


def _skip_tagged_fields(frame: Frame, position: int) -> int:
    if position < len(frame) and frame[position] == 0:
        return position + 1
    count, position = _read_unsigned_varint(frame, position)
    if count > HEADER_TAGS_MAX:
        raise Malformed(f"{count} tagged fields in the header, at most {HEADER_TAGS_MAX}")
    for _ in range(count):
        _tag, position = _read_unsigned_varint(frame, position)
        size_bytes, position = _read_unsigned_varint(frame, position)
        position += size_bytes
        if position > len(frame):
            raise Malformed(f"tagged field of {size_bytes} bytes passes the end of the frame")
    return position


def _read_unsigned_varint(frame: Frame, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 35, 7):
        if position >= len(frame):
            raise Malformed(f"header is cut at {len(frame)} bytes")
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise Malformed("varint longer than 5 bytes")


def _request_head(api_key: int, api_version: int, correlation_id: int, client_id: bytes) -> bytes:
    head = _REQUEST_HEAD.pack(api_key, api_version, correlation_id)
    match _request_header_version(api_key, api_version):
        case 0:
            return head
        case 1:
            return head + client_id
        case _:
            return head + client_id + b"\x00"


def _nullable_string(text: str | None) -> bytes:
    if text is None:
        return _INT16.pack(-1)
    data = text.encode()
    return _INT16.pack(len(data)) + data
