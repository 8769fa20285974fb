"""Frames from forms and forms from frames: what goes over a connection, in Kafka's JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from struct import Struct
from typing import Any, Final

from conformance.core.script import Form, Raw, Request
from protocol.apis import BY_NAME
from protocol.errors import Malformed
from protocol.json_form import (
    decode_body,
    decode_header,
    encode_body,
    encode_header,
    json_name,
)
from protocol.wire.table import ArrayType, Row, rows_of

_SIZE: Final = Struct(">i")


def fitted(api: str, kind: str, version: int, form: Form) -> dict[str, Any]:
    """Return ``form`` without the fields that ``version`` of a request or response lacks."""
    found = BY_NAME[api]
    return _fitted(found.request if kind == "request" else found.response, version, form)


def _fitted(cls: type[Any], version: int, form: Form) -> dict[str, Any]:
    rows = _rows(cls)
    left: dict[str, Any] = {}
    for key, value in form.items():
        row = rows.get(key)
        if row is None or version in row.versions:
            left[key] = value if row is None else _value(row, version, value)
    return left


def _value(row: Row, version: int, value: Any) -> Any:
    wire = row.wire
    if isinstance(wire, ArrayType) and isinstance(wire.element, type) and value is not None:
        return [_fitted(wire.element, version, each) for each in value]
    if isinstance(wire, type) and isinstance(value, Mapping):
        return _fitted(wire, version, value)  # pyright: ignore[reportUnknownArgumentType]
    return value


@cache
def _rows(cls: type[Any]) -> dict[str, Row]:
    return {json_name(name): row for name, row, _ in rows_of(cls)}


def frame_of(request: Request, correlation_id: int) -> bytes:
    """Return header and body of a request, without their size."""
    header = {
        "requestApiKey": BY_NAME[request.api].key,
        "requestApiVersion": request.version,
        "correlationId": correlation_id,
        "clientId": request.client_id,
    }
    form = fitted(request.api, "request", request.version, request.form)
    frame = encode_header(request.api, "request", request.version, header)
    frame += encode_body(request.api, "request", request.version, form)
    return frame if request.alter is None else request.alter(frame)


def sent_bytes(request: Request | Raw, correlation_id: int) -> bytes:
    """Return what goes into the stream for a request."""
    if isinstance(request, Raw):
        return request.data
    frame = frame_of(request, correlation_id)
    return _SIZE.pack(len(frame)) + frame


def correlation_id_of(frame: bytes) -> int:
    """Return the id at the start of an answer (without its size); 0 where it is too short."""
    return _SIZE.unpack_from(frame)[0] if len(frame) >= _SIZE.size else 0


def read_answer(api: str, version: int, frame: bytes) -> Form:
    """Decode an answer (without its size) to its form.

    An answer to ApiVersions that refuses its version is of version 0 whatever was asked (KIP-511).

    Raises:
        Malformed: it is none.
    """
    _, end = decode_header(api, "response", version, frame)
    body = frame[end:]
    try:
        return decode_body(api, "response", version, body, keep_unknown_tags=True)
    except Malformed:
        if api != "ApiVersions" or version == 0:
            raise
        return {"asVersion": 0, **decode_body(api, "response", 0, body)}
