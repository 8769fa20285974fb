"""What must hold for any bytes that are decoded as any message; a fuzzer calls ``check``.

The first two bytes choose a message and version, the rest is its body. Only Malformed may come out;
the compiled decoder and construct agree; what was decoded can be encoded, to bytes that stay.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from construct import ConstructError  # pyright: ignore[reportMissingTypeStubs] - it has none

from protocol.errors import Malformed
from protocol.stored_records import GROUP_RECORDS, TRANSACTION_RECORDS
from protocol.wire.fast import Codec, codec
from protocol.wire.table import META, construct_for
from tests.golden.message_vectors import messages_and_versions

REFERENCE_BYTES_MAX = 4096
"""Larger bodies are not given to construct, which would take long."""


def targets() -> list[tuple[type[Any], int]]:
    """Return every message with every version, requests, responses, headers and stored records."""
    records = [*GROUP_RECORDS.values(), *TRANSACTION_RECORDS.values()]
    stored = [cls for record in records for cls in (record.key, record.value)]
    return [
        *messages_and_versions(),
        *((cls, version) for cls in stored for version in range(META[cls].versions.high + 1)),
    ]


TARGETS = targets()
POSITIONS = {target: position for position, target in enumerate(TARGETS)}


def fuzz_input(cls: type[Any], version: int, body: bytes) -> bytes:
    """Return the input that has ``body`` decoded as a message ``cls``."""
    return POSITIONS[cls, version].to_bytes(2, "big") + body


def check(data: bytes) -> None:
    """Decode ``data`` and assert all that must hold."""
    if len(data) < 2:
        return
    cls, version = TARGETS[int.from_bytes(data[:2], "big") % len(TARGETS)]
    check_body(codec(cls, version), cls, version, data[2:])


def check_body(found: Codec, cls: type[Any], version: int, body: bytes) -> None:
    """Decode ``body`` by ``found``, the codec of ``cls`` at ``version``, and by construct."""
    try:
        message = found.decode(body)
    except Malformed:
        assert reference_length(cls, version, body) != len(body), "construct reads it"
        return
    assert reference_length(cls, version, body) in (len(body), None), "construct refuses it"
    encoded = bytes(found.encode(message))
    assert bytes(found.encode(found.decode(encoded))) == encoded


def reference_length(cls: type[Any], version: int, body: bytes) -> int | None:
    """Return how many bytes construct's message takes; -1: it refuses; None: it was not asked."""
    if len(body) > REFERENCE_BYTES_MAX:
        return None
    reference: Any = construct_for(cls, version)  # construct has no types
    stream = BytesIO(body)
    try:
        reference.parse_stream(stream)
    except ConstructError:
        return -1
    return stream.tell()
