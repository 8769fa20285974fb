"""Kafka's JSON form of messages: what its ``*JsonConverter`` classes write, with real record bytes.

Also the four functions that a stranger needs: encode and decode a body, encode and decode a header,
by API name, with plain dicts.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from protocol.apis import api_of, request_header_version, response_header_version
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.ports import Buffer
from protocol.wire import types as t
from protocol.wire.fast import codec
from protocol.wire.record import differs
from protocol.wire.table import META, STRING, ArrayType, BlobType, Wire, rows_of

UUID_BYTES = 16
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
        ValueError: A field that no version has, or a value of the wrong type; says where.
    """
    return _struct_from_json(cls, version, form, cls.__name__)


def decode_body(api: str | int, kind: str, version: int, data: Buffer) -> dict[str, Any]:
    """Decode a body (no size, no header) of ``api``, a name or key; ``kind`` request or response.

    Raises:
        Malformed: ``data`` is not exactly one such message.
        KeyError: jbodlab does not have the API or the version; names it.
    """
    return to_json(codec(_message_class(api, kind), version).decode(data), version)


def encode_body(api: str | int, kind: str, version: int, form: Mapping[str, Any]) -> bytes:
    """Encode a body from its JSON form; the inverse of ``decode_body``.

    Raises:
        ValueError: The form is not one of such a message; says where.
        KeyError: jbodlab does not have the API or the version; names it.
    """
    cls = _message_class(api, kind)
    return bytes(codec(cls, version).encode(from_json(cls, version, form)))


def decode_header(
    api: str | int, kind: str, version: int, frame: Buffer
) -> tuple[dict[str, Any], int]:
    """Decode the header at the start of ``frame`` (after its size); return it and its end.

    ``version`` is that of the body: it tells which version of the header goes before it.
    """
    cls, header_version = _header(api, kind, version)
    header, end = codec(cls, header_version).decode_prefix(frame)
    return to_json(header, header_version), end


def encode_header(api: str | int, kind: str, version: int, form: Mapping[str, Any]) -> bytes:
    """Encode the header that goes before a body of ``api`` at ``version``."""
    cls, header_version = _header(api, kind, version)
    return bytes(codec(cls, header_version).encode(from_json(cls, header_version, form)))


def _message_class(api: str | int, kind: str) -> type[Any]:
    if kind not in {"request", "response"}:
        raise ValueError(f"{kind!r} is neither request nor response")
    found = api_of(api)
    return found.request if kind == "request" else found.response


def _header(api: str | int, kind: str, version: int) -> tuple[type[Any], int]:
    versions = META[_message_class(api, kind)].versions
    if version not in versions:
        low, high = versions.low, versions.high
        raise KeyError(f"{api_of(api).name} has versions {low} to {high}, not {version}")
    key = api_of(api).key
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
        if flexible and version in row.tagged and not differs(item, default):
            continue
        form[json_name(name)] = _to_json(row.wire, item, version, flexible=flexible)
    return form


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


def _struct_from_json(cls: type[Any], version: int, form: Any, path: str) -> Any:
    rows = {json_name(name): (name, row) for name, row, _ in rows_of(cls)}
    fields = _checked(form, Mapping, path)
    values: dict[str, Any] = {}
    for key, item in fields.items():
        if key not in rows:
            raise ValueError(f"{path}: no field {key}; {cls.__name__} has {', '.join(rows)}")
        name, row = rows[key]
        if item is not None or version not in row.nullable:
            values[name] = _from_json(row.wire, item, version, f"{path} -> {key}")
        else:
            values[name] = None
    return cls(**values)


def _from_json(wire: Wire, item: Any, version: int, path: str) -> Any:
    if isinstance(wire, ArrayType):
        return [
            _from_json(wire.element, one, version, f"{path}[{index}]")
            for index, one in enumerate(_checked(item, list, path))
        ]
    if isinstance(wire, type):
        return _struct_from_json(wire, version, item, path)
    if wire is t.BOOL:
        return _checked(item, bool, path)
    if wire is t.FLOAT64:
        return _checked(item, int | float, path)
    if not isinstance(wire, BlobType) and wire is not t.UUID:
        return _checked(item, int, path)
    text = _checked(item, str, path)
    return text if wire is STRING else _raw_bytes(wire, text, path)


def _raw_bytes(wire: Wire, text: str, path: str) -> bytes:
    try:
        if wire is not t.UUID:
            return base64.b64decode(text, validate=True)
        raw = base64.urlsafe_b64decode(text + "==")
    except ValueError as exc:
        raise ValueError(f"{path}: {exc}") from exc
    if len(raw) != UUID_BYTES:
        raise ValueError(f"{path}: a uuid of {len(raw)} bytes, not {UUID_BYTES}")
    return raw


def _checked(item: Any, expected: Any, path: str) -> Any:
    if not isinstance(item, expected) or (expected is int and isinstance(item, bool)):
        name = getattr(expected, "__name__", str(expected))
        raise ValueError(f"{path}: {item!r} where there should be {name}")
    return item
