"""Kafka's JSON form of messages: what its ``*JsonConverter`` classes write, with real record bytes.

Also the four functions that a stranger needs: encode and decode a body, encode and decode a header,
by API name or key, with plain dicts (docs/wire.md).
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from protocol.apis import api_of, request_header_version, response_header_version
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.ports import Buffer
from protocol.stored_records import stored_message
from protocol.wire import types as t
from protocol.wire.fast import codec
from protocol.wire.record import differs
from protocol.wire.table import META, STRING, ArrayType, BlobType, Row, Wire, rows_of

UUID_BYTES = 16
UNKNOWN_TAGS = "unknownTags"
"""Holds the unknown tagged fields of a struct: ``[{"tag": 9, "hex": "00"}]``."""
_STORED_KINDS = ("coordinator-key", "coordinator-value", "data", "header", "metadata")
_CAPITAL = re.compile(r"_([a-z0-9])")


def json_name(name: str) -> str:
    """Return Kafka's JSON name of a field: ``replica_id`` is ``replicaId``."""
    return _CAPITAL.sub(lambda match: match[1].upper(), name.rstrip("_"))


def to_json(message: Any, version: int, *, keep_unknown_tags: bool = False) -> dict[str, Any]:
    """Return the JSON form at ``version``: the fields it has, and the tagged ones that are set."""
    flexible = version in META[type(message)].flexible
    return _Writer(version, flexible=flexible, keep_unknown_tags=keep_unknown_tags).struct(message)


def from_json(cls: type[Any], version: int, form: Mapping[str, Any]) -> Any:
    """Build a message from its JSON form; absent fields take their defaults.

    Raises:
        ValueError: A field that no version has, or a value of the wrong type; says where.
    """
    return _struct_from_json(cls, version, form, cls.__name__)


def decode_body(
    api: str | int, kind: str, version: int, data: Buffer, *, keep_unknown_tags: bool = False
) -> dict[str, Any]:
    """Decode a body (no size, no header) of ``api``, a name or key; ``kind`` request or response.

    Records and headers go by the name and kind of their schema: see ``stored_message``. Tagged
    fields that the schema does not know are skipped, or kept as ``unknownTags``.

    Raises:
        Malformed: ``data`` is not exactly one such message.
        KeyError: jbodlab does not have the API or the version; names it.
    """
    cls, version = message_of(api, kind, version)
    message = codec(cls, version).decode(data)
    return to_json(message, version, keep_unknown_tags=keep_unknown_tags)


def encode_body(api: str | int, kind: str, version: int, form: Mapping[str, Any]) -> bytes:
    """Encode a body from its JSON form; the inverse of ``decode_body``.

    Fields that the form lacks take their defaults.

    Raises:
        ValueError: The form is not one of such a message, or has a field set that the version
            lacks and that must not be dropped; says where.
        KeyError: jbodlab does not have the API or the version; names it.
    """
    cls, version = message_of(api, kind, version)
    return bytes(codec(cls, version).encode(from_json(cls, version, form)))


def decode_header(
    api: str | int, kind: str, version: int, frame: Buffer
) -> tuple[dict[str, Any], int]:
    """Decode the header at the start of ``frame`` (after its size); return it and its end.

    ``version`` is that of the body: it tells which version of the header goes before it.

    Raises:
        Malformed: No such header starts there.
        KeyError: As ``decode_body``.
    """
    cls, header_version = _header(api, kind, version)
    header, end = codec(cls, header_version).decode_prefix(frame)
    return to_json(header, header_version), end


def encode_header(api: str | int, kind: str, version: int, form: Mapping[str, Any]) -> bytes:
    """Encode the header that goes before a body of ``api`` at ``version``.

    Raises:
        ValueError: As ``encode_body``.
        KeyError: As ``encode_body``.
    """
    cls, header_version = _header(api, kind, version)
    return bytes(codec(cls, header_version).encode(from_json(cls, header_version, form)))


def message_of(api: str | int, kind: str, version: int) -> tuple[type[Any], int]:
    """Return the class of a message and the version of it that ``version`` stands for.

    Raises:
        KeyError: jbodlab does not have the API or record; names it.
        ValueError: There is no such kind.
    """
    if kind in _STORED_KINDS and isinstance(api, str):
        return stored_message(api, kind, version)
    return _rpc_class(api, kind), version


def _rpc_class(api: str | int, kind: str) -> type[Any]:
    if kind not in {"request", "response"}:
        raise ValueError(f"{kind!r} is neither request nor response")
    found = api_of(api)
    return found.request if kind == "request" else found.response


def _header(api: str | int, kind: str, version: int) -> tuple[type[Any], int]:
    versions = META[_rpc_class(api, kind)].versions
    if version not in versions:
        low, high = versions.low, versions.high
        raise KeyError(f"{api_of(api).name} has versions {low} to {high}, not {version}")
    key = api_of(api).key
    if kind == "request":
        return RequestHeader, request_header_version(key, version)
    return ResponseHeader, response_header_version(key, version)


class _Writer:
    """Writes values of one version in JSON form."""

    def __init__(self, version: int, *, flexible: bool, keep_unknown_tags: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._keep_unknown_tags = keep_unknown_tags

    def struct(self, value: Any) -> dict[str, Any]:
        form: dict[str, Any] = {}
        for key, (name, row, default) in _fields(value.__class__).items():
            if self._version not in row.versions:
                continue
            item = getattr(value, name)
            if self._flexible and self._version in row.tagged and not differs(item, default):
                continue
            form[key] = self._value(row.wire, item)
        if self._keep_unknown_tags and value.unknown_tags:
            form[UNKNOWN_TAGS] = [
                {"tag": tag, "hex": bytes(data).hex()} for tag, data in value.unknown_tags
            ]
        return form

    def _value(self, wire: Wire, item: Any) -> Any:
        if item is None:
            return None
        if isinstance(wire, ArrayType):
            return [self._value(wire.element, one) for one in item]
        if isinstance(wire, type):
            return self.struct(item)
        return _scalar_to_json(wire, item)


@functools.cache
def _fields(cls: type[Any]) -> dict[str, tuple[str, Row, Any]]:
    """Return (name, row, default) of each field of a struct by its JSON name."""
    return {json_name(name): (name, row, default) for name, row, default in rows_of(cls)}


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
    rows = _fields(cls)
    fields = _checked(form, Mapping, path)
    values: dict[str, Any] = {}
    for key, item in fields.items():
        if key == UNKNOWN_TAGS:
            values["unknown_tags"] = _unknown_tags(item, f"{path} -> {key}")
            continue
        if key not in rows:
            raise ValueError(f"{path}: no field {key}; {cls.__name__} has {', '.join(rows)}")
        name, row, _ = rows[key]
        if item is not None or version not in row.nullable:
            values[name] = _from_json(row.wire, item, version, f"{path} -> {key}")
        else:
            values[name] = None
    return cls(**values)


def _unknown_tags(item: Any, path: str) -> tuple[tuple[int, bytes], ...]:
    found: list[tuple[int, bytes]] = []
    for index, one in enumerate(_checked(item, list, path)):
        place = f"{path}[{index}]"
        fields = _checked(one, Mapping, place)
        try:
            tag, data = _checked(fields["tag"], int, place), bytes.fromhex(fields["hex"])
        except (KeyError, TypeError, ValueError) as exc:
            raise ValueError(f"{place}: a tag and its hex, not {one!r}") from exc
        found.append((tag, data))
    return tuple(found)


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
