"""The values of records in KRaft's metadata log, ``__cluster_metadata-0``, and of its snapshots.

A value is a frame version (always 1), the record's type and its version, each an unsigned varint,
then the body. Source: KIP-631, MetadataRecordSerde, AbstractApiMessageSerde.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Final

from protocol.errors import Malformed
from protocol.messages import metadata_records
from protocol.ports import Buffer
from protocol.wire.fast import codec
from protocol.wire.table import META
from protocol.wire.varint import read_varint, write_varint

FRAME_VERSION: Final = 1
_KIND: Final = "metadata"


def _record_types() -> dict[int, type[Any]]:
    found: dict[int, type[Any]] = {}
    for _, cls in inspect.getmembers(metadata_records, inspect.isclass):
        meta = META.get(cls)
        if meta is not None and meta.kind == _KIND and meta.api_key is not None:
            found[meta.api_key] = cls
    return dict(sorted(found.items()))


METADATA_RECORDS: Final[Mapping[int, type[Any]]] = _record_types()
"""The classes of ``protocol.messages.metadata_records`` by their type."""


def decode_metadata_record(value: Buffer) -> tuple[Any, int]:
    """Decode the value of one record that is no control record; return it and its version.

    Raises:
        Malformed: No frame of version 1, no such type or version, or no such body.
    """
    number, version, at = _frame(value)
    cls = METADATA_RECORDS.get(number)
    if cls is None:
        known = ", ".join(map(str, METADATA_RECORDS))
        raise Malformed(f"metadata record of type {number}; known are {known}")
    versions = META[cls].versions
    if version not in versions:
        raise Malformed(f"{cls.__name__} v{version}; known are {versions.low} to {versions.high}")
    return codec(cls, version).decode(memoryview(value)[at:]), version


def encode_metadata_record(record: Any, version: int) -> bytes:
    """Encode the value of one record, an object of ``protocol.messages.metadata_records``.

    Raises:
        KeyError: No such version.
        ValueError: A field that the version lacks is set, or does not fit its type.
    """
    number = META[record.__class__].api_key
    assert number is not None
    frame = bytearray()
    for each in (FRAME_VERSION, number, version):
        write_varint(frame, each)
    return bytes(frame + codec(record.__class__, version).encode(record))


def _frame(value: Buffer) -> tuple[int, int, int]:
    """Return type and version of the record, and where its body begins."""
    try:
        frame_version, at = read_varint(value, 0)
        if frame_version != FRAME_VERSION:
            raise Malformed(f"metadata record in a frame of version {frame_version}, not 1")
        number, at = read_varint(value, at)
        version, at = read_varint(value, at)
    except IndexError:
        raise Malformed(f"metadata record of {len(value)} bytes ends within its frame") from None
    return number, version, at
