"""Builds the worst request of any API from the message tables: every array in it as long as wanted.

An API that is served tomorrow gets its attacks by itself. It sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, Final, NamedTuple

from protocol.apis import Api
from protocol.connection import ClientConnection
from protocol.records.build import NewRecord, build_batch
from protocol.wire import types as t
from protocol.wire.fast import codec
from protocol.wire.table import ArrayType, BlobType, Row, rows_of

Path = tuple[str, ...]
"""The fields that lead to an array, outermost first."""

_VALUES: Final[dict[str, Any]] = {
    "num_partitions": 1,
    "replication_factor": 1,
    "timeout_ms": 10_000,
    "acks": -1,
    "max_wait_ms": 0,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "replica_id": -1,
    "session_epoch": -1,
    "resource_type": 2,
    "timestamp": -1,
    "broker_epoch": 1,
    "client_software_name": "hostile",
    "client_software_version": "1",
    "records": bytes(build_batch([NewRecord(b"")])),
}
"""What is not a counted name, id or index; others are at their defaults."""
_COUNTED: Final = ("partition", "partition_index", "index", "partitions", "partition_indexes")


class Attack(NamedTuple):
    """One request."""

    api: Api
    version: int
    name: str
    """Which array is long."""
    frame: bytes


def arrays_of(struct: type[Any], version: int) -> Iterator[Path]:
    """Yield the way to each array of a message at a version, outer ones first."""
    for name, row, _ in rows_of(struct):
        if version not in row.versions:
            continue
        wire = row.wire
        if isinstance(wire, ArrayType):
            yield (name,)
            wire = wire.element
        if isinstance(wire, type):
            yield from ((name, *path) for path in arrays_of(wire, version))


def attacks_of(api: Api, version: int, entries: int) -> Iterator[Attack]:
    """Yield one request per array of ``api``, with ``entries`` in that one and one in others."""
    for path in arrays_of(api.request, version):
        request = fill(api.request, version, path, entries)
        yield Attack(api, version, ".".join(path), frame_of(api, version, request))


def frame_of(api: Api, version: int, request: Any) -> bytes:
    """Return a request as it goes over the wire."""
    body = codec(api.request, version).encode_parts(request)
    return b"".join(ClientConnection("hostile").send_request(api.key, version, body))


def fill(struct: type[Any], version: int, path: Path, entries: int) -> Any:
    """Return a message with ``entries`` in the array at ``path``, each with a name of its own."""
    numbers = count()

    def made(cls: type[Any], left: Path | None) -> Any:
        values: dict[str, Any] = {}
        for name, row, _ in rows_of(cls):
            if version in row.versions:
                on_path = left is not None and bool(left) and left[0] == name
                values[name] = value_of(name, row, left[1:] if on_path and left else None)
        return cls(**values)

    def value_of(name: str, row: Row, left: Path | None) -> Any:
        wire = row.wire
        if isinstance(wire, ArrayType):
            length = entries if left == () else 1
            return [one(name, wire.element, left or None) for _ in range(length)]
        return one(name, wire, left)

    def one(name: str, wire: Any, left: Path | None) -> Any:
        return made(wire, left) if isinstance(wire, type) else _plain(name, wire, numbers)

    return made(struct, path)


def _plain(name: str, wire: Any, numbers: Iterator[int]) -> Any:
    if name in _VALUES:
        return _VALUES[name]
    if isinstance(wire, BlobType):
        return f"t{next(numbers)}" if wire.kind == "string" else b""
    if wire is t.UUID:
        return next(numbers).to_bytes(16, "big")
    if name in _COUNTED:
        return next(numbers)
    return False if wire is t.BOOL else 0
