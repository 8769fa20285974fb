"""Frames of Kafka connections as people read them: header and body in Kafka's JSON form.

What cannot be decoded is told with the place where it breaks; no frame raises. Where frames come
from is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final, TypeAlias

from construct import ConstructError  # pyright: ignore[reportMissingTypeStubs] - it has none

from protocol.apis import APIS, NOT_SERVED, api_of
from protocol.errors import Malformed
from protocol.framing import FRAME_SIZE_BYTES_MAX, FrameReader
from protocol.json_form import decode_header, to_json
from protocol.ports import Buffer
from protocol.wire.fast import codec
from protocol.wire.table import construct_for

API_VERSIONS: Final = "ApiVersions"
_HEAD: Final = Struct(">hhi")
_SIZE: Final = Struct(">i")
STREAM_HEAD_BYTES: Final = _SIZE.size + _HEAD.size
"""As many bytes of a client tell whether it speaks Kafka's protocol."""
_CORRELATION_ID: Final = Struct(">i")


@dataclass(slots=True, kw_only=True)
class ReadFrame:
    """One request or response, as far as it could be read."""

    kind: str
    """"request" or "response"."""
    api: str | None = None
    version: int | None = None
    header: dict[str, Any] | None = None
    body: dict[str, Any] | None = None
    left_over: bytes = b""
    """Bytes behind the body; Kafka skips them."""
    error: str | None = None
    """Why it cannot be read, with the place: ``-> topics[3] -> name``."""
    note: str | None = None
    """Why there is no body although nothing is broken."""

    def content(self) -> dict[str, Any]:
        """Return what is known of it, ready for JSON."""
        known = {
            "kind": self.kind,
            "api": self.api,
            "version": self.version,
            "header": self.header,
            "body": self.body,
            "leftOver": self.left_over.hex() or None,
            "error": self.error,
            "note": self.note,
        }
        return {name: value for name, value in known.items() if value is not None}


class Exchange:
    """The two directions of one connection: responses are read as what was asked for."""

    def __init__(self) -> None:
        self._asked: dict[int, tuple[int, int]] = {}
        self._readers = {kind: FrameReader() for kind in ("request", "response")}

    def receive(self, kind: str, data: Buffer) -> list[ReadFrame]:
        """Take the next bytes of one direction; return the frames that they complete."""
        reader = self._readers[kind]
        was_broken = reader.malformed is not None
        read = self.request if kind == "request" else self.response
        frames = [read(memoryview(frame)) for frame in reader.feed(data)]
        if reader.malformed is not None and not was_broken:
            frames.append(ReadFrame(kind=kind, error=str(reader.malformed)))
        return frames

    def end(self, kind: str) -> list[ReadFrame]:
        """Return what the end of one direction breaks: a frame that is not whole, or nothing."""
        is_cut = self._readers[kind].is_inside_frame
        return [ReadFrame(kind=kind, error="the end cuts this frame")] if is_cut else []

    def request(self, frame: Buffer) -> ReadFrame:
        """Read a request without its size and remember what it asks for."""
        if len(frame) >= _HEAD.size:
            key, version, correlation_id = _HEAD.unpack_from(frame)
            self._asked[correlation_id] = (key, version)
        return read_request(frame)[0]

    def response(self, frame: Buffer) -> ReadFrame:
        """Read a response without its size as the answer to its request."""
        if len(frame) < _CORRELATION_ID.size:
            return ReadFrame(kind="response", error=f"a response of {len(frame)} bytes")
        correlation_id: int = _CORRELATION_ID.unpack_from(frame)[0]
        asked = self._asked.pop(correlation_id, None)
        if asked is None:
            return ReadFrame(
                kind="response",
                header={"correlationId": correlation_id},
                note="its request is not known",
            )
        return read_response(frame, *asked)[0]


def read_request(frame: Buffer) -> tuple[ReadFrame, int]:
    """Read a request without its size; return it and where it ends."""
    if len(frame) < _HEAD.size:
        return ReadFrame(kind="request", error=f"a request of {len(frame)} bytes"), len(frame)
    key, version, correlation_id = _HEAD.unpack_from(frame)
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": correlation_id}
    found = ReadFrame(kind="request", api=_name_of(key), version=version, header=header)
    return found, _read(found, key, frame)


def read_response(frame: Buffer, api: str | int, version: int) -> tuple[ReadFrame, int]:
    """Read a response without its size, to a request of ``api``; return it and where it ends."""
    found = ReadFrame(kind="response", api=_name_of(api), version=version)
    end = _read(found, api, frame)
    if found.error is not None and found.api == API_VERSIONS and version != 0:
        refusal, end = read_response(frame, api, 0)
        if refusal.error is None:
            refusal.note = f"in version 0, as brokers refuse a version like {version}"
            return refusal, end
    return found, end


def read_body(body: Buffer, cls: type[Any], version: int) -> ReadFrame:
    """Read a lone body of the message ``cls``."""
    found = ReadFrame(kind="body", api=cls.__name__, version=version)
    try:
        _read_body(found, cls, body, 0)
    except (KeyError, Malformed) as error:
        found.error = error_line(error)
    return found


Read: TypeAlias = Callable[[bytes], tuple[ReadFrame, int]]
"""``read_request``, or ``read_response`` of one API and version."""


def read_all(data: bytes, kind: str, read: Read) -> Iterator[ReadFrame]:
    """Read requests or responses back to back, with a size before each or without.

    Without sizes a frame begins where the one before it ends, so nothing follows a broken one.
    """
    if not is_sized(data, kind):
        while data:
            found, end = read(data)
            found.left_over = b""
            yield found
            data = data[end:]
        return
    position = 0
    while position < len(data):
        found, position = _read_sized(data, position, read)
        yield found


def _read_sized(data: bytes, position: int, read: Read) -> tuple[ReadFrame, int]:
    left = len(data) - position - _SIZE.size
    size: int = _SIZE.unpack_from(data, position)[0] if left >= 0 else left
    if size < 0:
        shown = data[position : position + _SIZE.size].hex()
        return ReadFrame(kind="frame", error=f"{shown} where a size should be"), len(data)
    end = position + _SIZE.size + size
    found, _ = read(data[position + _SIZE.size : end])
    if size > left:
        cut = f"a frame of {size} bytes announced, {left} left"
        found.error = cut if found.error is None else f"{found.error} ({cut})"
    return found, end


def is_sized(data: bytes, kind: str) -> bool:
    """Tell whether ``data`` are frames with a size before each.

    They are if the sizes lead to the end; else only if the first is not a request as it stands.
    """
    position = 0
    while position + _SIZE.size <= len(data):
        size: int = _SIZE.unpack_from(data, position)[0]
        if size < 0:
            break
        position += _SIZE.size + size
    return position == len(data) or (kind == "request" and not looks_like_request(data))


def looks_like_request(data: Buffer) -> bool:
    """Tell whether the header of a request that Kafka knows stands at the start of ``data``."""
    if len(data) < _HEAD.size:
        return False
    key, version, _ = _HEAD.unpack_from(data)
    return (key in APIS and version in APIS[key].versions) or (
        key in NOT_SERVED and 0 <= version < 8
    )


def looks_like_stream(data: Buffer) -> bool:
    """Tell whether a client's first bytes on a connection may be Kafka's protocol."""
    if len(data) < STREAM_HEAD_BYTES:
        return False
    size: int = _SIZE.unpack_from(data)[0]
    return _HEAD.size <= size <= FRAME_SIZE_BYTES_MAX and looks_like_request(
        memoryview(data)[_SIZE.size :]
    )


def error_line(error: Exception) -> str:
    """Return what is wrong in one line, construct's path first."""
    text = str(error.args[0]) if error.args else repr(error)
    return text.replace("Error in path (parsing) ", "").replace("\n", ": ")


def _read(found: ReadFrame, api: str | int, frame: Buffer) -> int:
    """Fill ``found`` from a frame; return where it ends, the end of all when that is not known."""
    assert found.version is not None
    try:
        served = api_of(api)
        found.header, start = decode_header(served.name, found.kind, found.version, frame)
        cls = served.request if found.kind == "request" else served.response
        return _read_body(found, cls, frame, start)
    except (KeyError, Malformed) as error:
        found.error = error_line(error)
        return len(frame)


def _read_body(found: ReadFrame, cls: type[Any], frame: Buffer, start: int) -> int:
    assert found.version is not None
    try:
        message, end = codec(cls, found.version).decode_prefix(frame, start)
    except Malformed as error:
        raise _with_path(cls, found.version, bytes(frame)[start:], error) from error
    found.body = to_json(message, found.version, keep_unknown_tags=True)
    found.left_over = bytes(frame)[end:]
    return end


def _with_path(cls: type[Any], version: int, body: bytes, error: Malformed) -> Malformed:
    """Have construct say where a message breaks that was too large for the codec to say so."""
    if "->" in str(error):
        return error
    reference: Any = construct_for(cls, version)  # construct has no types
    try:
        reference.parse(body)
    except ConstructError as exc:
        return Malformed(f"{cls.__name__} v{version}: {exc}")
    return error


def _name_of(api: str | int) -> str:
    if isinstance(api, str):
        return api
    return APIS[api].name if api in APIS else NOT_SERVED.get(api, f"API {api}")
