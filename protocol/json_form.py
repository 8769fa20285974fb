"""Kafka's JSON form of messages: what its ``*JsonConverter`` classes write, with real record bytes.

Also the four functions that a stranger needs: encode and decode a body, encode and decode a header,
by API name, with plain dicts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from protocol.apis import BY_NAME, request_header_version, response_header_version
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.ports import Buffer
from protocol.wire import types as t
from protocol.wire.fast import codec
from protocol.wire.table import META, ArrayType, BlobType, Row, Wire, rows_of

_CAPITAL = re.compile(r"_([a-z0-9])")


def json_name(name: str) -> str:
    """Return Kafka's JSON name of a field: ``replica_id`` is ``replicaId``."""
    return _CAPITAL.sub(lambda match: match[1].upper(), name.rstrip("_"))


def to_json(message: Any, version: int) -> dict[str, Any]:
    """Return the JSON form at ``version``: the fields it has, and the tagged ones that are set."""
    flexible = version in META[type(message)].flexible
    return _struct_to_json(message, version, flexible=flexible)


def from_json(cls: type[Any], version: int, form: Mapping[str, Any]) -> Any:
    """Build a message from its JSON form; absent fields take their defaults.

    Raises:
        ValueError: The form has a field that the message does not have at any version.
    """
    return _struct_from_json(cls, version, form)


def decode_body(api: str, kind: str, version: int, data: Buffer) -> dict[str, Any]:
    """Decode a body (no size, no header) of ``api``, such as "Fetch"; ``kind`` request or response.

    Raises:
        Malformed: ``data`` is not exactly one such message.
        KeyError: jbodlab does not know the API or the version; names it.
    """
    return to_json(codec(_message_class(api, kind), version).decode(data), version)


def encode_body(api: str, kind: str, version: int, form: Mapping[str, Any]) -> bytes:
    """Encode a body from its JSON form; the inverse of ``decode_body``."""
    cls = _message_class(api, kind)
    return bytes(codec(cls, version).encode(from_json(cls, version, form)))


def decode_header(api: str, kind: str, version: int, frame: Buffer) -> tuple[dict[str, Any], int]:
    """Decode the header at the start of ``frame`` (after its size); return it and its end."""
    cls, header_version = _header(api, kind, version)
    header, end = codec(cls, header_version).decode_prefix(frame)
    return to_json(header, header_version), end


def encode_header(api: str, kind: str, version: int, form: Mapping[str, Any]) -> bytes:
    """Encode the header that goes before a body of ``api`` at ``version``."""
    cls, header_version = _header(api, kind, version)
    return bytes(codec(cls, header_version).encode(from_json(cls, header_version, form)))


def _message_class(api: str, kind: str) -> type[Any]:
    if api not in BY_NAME:
        raise KeyError(f"jbodlab has no API named {api}; it has {', '.join(BY_NAME)}")
    return BY_NAME[api].request if kind == "request" else BY_NAME[api].response


def _header(api: str, kind: str, version: int) -> tuple[type[Any], int]:
    _message_class(api, kind)
    key = BY_NAME[api].key
    if kind == "request":
        return RequestHeader, request_header_version(key, version)
    return ResponseHeader, response_header_version(key, version)


def _struct_to_json(value: Any, version: int, *, flexible: bool) -> dict[str, Any]:
    form: dict[str, Any] = {}
    cls = cast("type[Any]", type(value))
    for name, row, default in rows_of(cls):
        if version not in row.versions:
            continue
        item = getattr(value, name)
        if flexible and version in row.tagged and not _is_set(row, item, default):
            continue
        form[json_name(name)] = _to_json(row.wire, item, version, flexible=flexible)
    return form


def _is_set(row: Row, item: Any, default: Any) -> bool:
    if isinstance(row.wire, ArrayType) and item is not None and default is not None:
        return len(item) > 0
    return bool(item != default)


def _to_json(wire: Wire, item: Any, version: int, *, flexible: bool) -> Any:
    if item is None:
        return None
    if isinstance(wire, ArrayType):
        return [_to_json(wire.element, one, version, flexible=flexible) for one in item]
    if isinstance(wire, type):
        return _struct_to_json(item, version, flexible=flexible)
    return _scalar_to_json(wire, item)


def _scalar_to_json(wire: Wire, item: Any) -> Any:
    if isinstance(wire, BlobType) and wire.kind != "string":
        return base64.b64encode(_joined(item)).decode()
    if wire is t.UUID:
        return base64.urlsafe_b64encode(item).decode().rstrip("=")
    return item


def _joined(item: Buffer | Sequence[Buffer]) -> bytes:
    if isinstance(item, tuple | list):
        return b"".join(cast("Sequence[Buffer]", item))
    return bytes(cast("Buffer", item))


def _struct_from_json(cls: type[Any], version: int, form: Mapping[str, Any]) -> Any:
    rows = {json_name(name): (name, row) for name, row, _ in rows_of(cls)}
    unknown = [key for key in form if key not in rows]
    if unknown:
        raise ValueError(f"{cls.__name__} has no field {unknown[0]}; it has {', '.join(rows)}")
    values = {
        name: _from_json(row.wire, form[key], version)
        for key, (name, row) in rows.items()
        if key in form
    }
    return cls(**values)


def _from_json(wire: Wire, item: Any, version: int) -> Any:
    if item is None:
        return None
    if isinstance(wire, ArrayType):
        return [_from_json(wire.element, one, version) for one in item]
    if isinstance(wire, type):
        return _struct_from_json(wire, version, item)
    if isinstance(wire, BlobType) and wire.kind != "string":
        return base64.b64decode(item)
    return base64.urlsafe_b64decode(item + "==") if wire is t.UUID else item
