"""The codecs that ours is measured beside: how each decodes and encodes one row of the benchmark.

kafka-python and kio lack some messages; then there is no way to run them, told by None.
"""
# construct and kafka-python have no type annotations.
# pyright: basic

from __future__ import annotations

import io
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from kio.serial import entity_reader, entity_writer

from benchmarks.codec_rows import Row, plain, stock
from protocol.wire.fast import codec
from protocol.wire.table import construct_for

OURS, KAFKA_PYTHON, KIO, CONSTRUCT = "jbodlab", "kafka-python", "kio", "construct"
PEERS: Final = (KAFKA_PYTHON, KIO, CONSTRUCT)

Run = Callable[[], Any]


def decoders(row: Row) -> dict[str, Run]:
    """Return what decodes the row's bytes, by implementation."""
    message = row.make()
    cls = type(message)
    ours = codec(cls, row.version)
    data = bytes(ours.encode(message))
    reference = stock(construct_for(cls, row.version))
    found: dict[str, Run] = {OURS: lambda: ours.decode(data)}
    if row.peer is not None:
        peer = _kafka_python_class(row.peer, cls)
        found[KAFKA_PYTHON] = lambda: peer.decode(data, version=row.version)
    read_kio = _kio_reader(cls, row.version)
    if read_kio is not None:
        found[KIO] = lambda: read_kio(data, 0)
    return found | {CONSTRUCT: lambda: reference.parse(data)}


def encoders(row: Row) -> dict[str, Run]:
    """Return what encodes the row's message into one buffer, by implementation.

    Raises:
        AssertionError: They do not all give the same bytes.
    """
    message = row.make()
    cls = type(message)
    ours = codec(cls, row.version)
    data = bytes(ours.encode(message))
    layout = construct_for(cls, row.version)
    reference, content = stock(layout), plain(message, layout)
    found: dict[str, Run] = {OURS: lambda: ours.encode(message)}
    if row.peer is not None:
        theirs = _kafka_python_class(row.peer, cls).decode(data, version=row.version)
        theirs._header = None  # noqa: SLF001 - decode leaves it unset, encode asks for it
        found[KAFKA_PYTHON] = lambda: theirs.encode(version=row.version)
    write_kio = _kio_writer(cls, row.version, data)
    if write_kio is not None:
        found[KIO] = write_kio
    found[CONSTRUCT] = lambda: reference.build(content)
    outputs = {name: bytes(run()) for name, run in found.items()}
    assert len({*outputs.values()}) == 1, {name: out[:60] for name, out in outputs.items()}
    return found


def parts_encoders(row: Row) -> dict[str, Run]:
    """Return the encoders, ours as a server uses it: large records are not copied."""
    message = row.make()
    ours = codec(type(message), row.version)
    return encoders(row) | {OURS: lambda: ours.encode_parts(message)}


def _kafka_python_class(module: str, cls: type[Any]) -> Any:
    return getattr(import_module(f"kafka.protocol.{module}"), cls.__name__)


def _kio_class(cls: type[Any], version: int) -> Any:
    """Return kio's class of a message, None when it has none."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
    api, _, kind = name.rpartition("_")
    try:
        module = import_module(f"kio.schema.{api}.v{version}.{kind}")
    except ModuleNotFoundError:
        return None
    return getattr(module, cls.__name__)


def _kio_reader(cls: type[Any], version: int) -> Any:
    kio_class = _kio_class(cls, version)
    return None if kio_class is None else entity_reader(kio_class)


def _kio_writer(cls: type[Any], version: int, data: bytes) -> Run | None:
    """Return what writes the message in ``data`` to a stream, the only place kio writes to."""
    read = _kio_reader(cls, version)
    if read is None:
        return None
    message, _ = read(data, 0)
    write = entity_writer(type(message))

    def run() -> bytes:
        stream = io.BytesIO()
        write(stream, message)
        return stream.getvalue()

    return run
