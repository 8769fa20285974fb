"""Messages read and written in steps are the same as those read and written at once."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

import pytest

from benchmarks.hostile.worst_requests import fill
from protocol.errors import Malformed
from protocol.messages.fetch import FetchRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.producer_ids import DescribeProducersRequest
from protocol.wire.fast import ITEMS_MAX, codec
from protocol.wire.steps import INTEGERS_OF_A_STEP, STEP_ITEMS
from tests.golden.message_vectors import class_of, message_vectors

T = TypeVar("T")


def run(steps: Generator[None, None, T]) -> tuple[T, int]:
    """Return what the steps return, and how many there are."""
    count = 1
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, count
        count += 1


def test_every_golden_message_is_the_same_in_steps() -> None:
    for (api, kind), vectors in message_vectors().items():
        newest = max(vectors, key=lambda vector: vector["version"])
        data = memoryview(bytes.fromhex(newest["hex"]))
        found = codec(class_of(api, kind), newest["version"])
        message: Any = found.decode(data)
        assert run(found.decode_in_steps(data))[0] == message
        assert b"".join(run(found.encode_parts_in_steps(message))[0]) == found.encode(message)


@pytest.mark.parametrize("path", [("topics",), ("topics", "partitions")])
def test_a_step_has_so_many_items_of_any_array(path: tuple[str, ...]) -> None:
    request = fill(FetchRequest, 12, path, 10 * STEP_ITEMS)
    parts, encoding = run(codec(FetchRequest, 12).encode_parts_in_steps(request))
    found, decoding = run(codec(FetchRequest, 12).decode_in_steps(b"".join(parts)))
    assert found == codec(FetchRequest, 12).decode(b"".join(parts))
    assert min(encoding, decoding) >= 10


@pytest.mark.parametrize("path", [("topics",), ("topics", "partitions")])
def test_what_was_made_so_far_of_a_message_is_found(path: tuple[str, ...]) -> None:
    version, made = 12, list[FetchRequest]()
    request = fill(FetchRequest, version, path, 4 * STEP_ITEMS)
    data = bytes(codec(FetchRequest, version).encode(request))
    steps = codec(FetchRequest, version).decode_in_steps(data, made)
    next(steps)
    next(steps)
    found: Any = made
    for name in path:
        found = getattr(found[0], name)
    assert STEP_ITEMS // 2 <= len(found) <= 2 * STEP_ITEMS


def test_integers_are_read_and_written_many_at_a_time() -> None:
    path = ("topics", "partition_indexes")
    request = fill(DescribeProducersRequest, 0, path, 3 * INTEGERS_OF_A_STEP)
    found = codec(DescribeProducersRequest, 0)
    parts, encoding = run(found.encode_parts_in_steps(request))
    read, decoding = run(found.decode_in_steps(b"".join(parts)))
    assert read == request
    assert (encoding, decoding) == (4, 4)


def test_more_items_than_anybody_asks_for_are_refused() -> None:
    name = b"\x00\x01t"
    count = ITEMS_MAX + STEP_ITEMS
    body = count.to_bytes(4, "big") + name * count
    with pytest.raises(Malformed, match=f"more than {ITEMS_MAX} items"):
        run(codec(MetadataRequest, 1).decode_in_steps(body))


def test_what_announces_more_than_there_is_is_refused_at_once() -> None:
    steps = codec(MetadataRequest, 1).decode_in_steps((1 << 19).to_bytes(4, "big") + bytes(9000))
    with pytest.raises(Malformed, match="array of"):
        next(steps)
