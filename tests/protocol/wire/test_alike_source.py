# construct has no type annotations.
# pyright: basic

import struct
import tracemalloc
from typing import Any

import pytest

from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.fetch import FetchResponse
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.wire.alike_source import alike_reader, may_be_alike
from protocol.wire.fast import codec
from protocol.wire.record import Record
from protocol.wire.table import construct_for

Partition = MetadataResponsePartition


def child(con: Any, *names: str) -> Any:
    """Return what is under a path of fields, the elements of arrays rather than arrays."""
    for name in names:
        con = dict(con.fields)[name]
        con = getattr(con, "element", con)
    return con


def partitions_of(version: int) -> Record:
    return child(construct_for(MetadataResponse, version), "topics", "partitions")


def partition(index: int, replicas: int = 3, isr: int = 3, **others: Any) -> Partition:
    return Partition(
        partition_index=index,
        leader_id=1,
        replica_nodes=list(range(replicas)) or (),
        isr_nodes=list(range(isr)) or (),
        **others,
    )


def built(con: Record, items: list[Partition]) -> bytes:
    return b"".join(con.build(item) for item in items)


def test_structs_of_fixed_fields_and_arrays_of_them_may_be_alike() -> None:
    versions = construct_for(ApiVersionsResponse, 3)
    assert may_be_alike(child(versions, "api_keys"))
    assert may_be_alike(partitions_of(9))
    assert not may_be_alike(versions)
    assert not may_be_alike(child(construct_for(FetchResponse, 12), "responses", "partitions"))


@pytest.mark.parametrize("version", [5, 9, 12])
@pytest.mark.parametrize(("replicas", "isr"), [(3, 3), (1, 1), (3, 2), (4, 0), (0, 0), (7, 7)])
def test_structs_that_are_alike_are_read_together(version: int, replicas: int, isr: int) -> None:
    con = partitions_of(version)
    items = [partition(index, replicas, isr) for index in range(9)]
    data = b"head" + built(con, items) + b"tail"
    read = alike_reader(con)
    assert read(data, 4, 9) == (items, len(data) - 4)
    assert read(memoryview(data), 4, 9) == (items, len(data) - 4)


@pytest.mark.parametrize("version", [5, 9])
@pytest.mark.parametrize("odd", [0, 1, 4, 8])
def test_reading_stops_at_the_first_that_is_not_alike(version: int, odd: int) -> None:
    con = partitions_of(version)
    items = [partition(index) for index in range(9)]
    items[odd] = partition(odd, isr=2)
    data = built(con, items)
    found, end = alike_reader(con)(data, 0, 9)
    alike = odd or 1  # the first one makes the shape
    assert (found, end) == (items[:alike], len(built(con, items[:alike])))


def test_reading_stops_at_tagged_fields() -> None:
    con = partitions_of(9)
    items = [partition(index) for index in range(9)]
    items[6].unknown_tags = ((3, b"three"),)  # pyright: ignore[reportAttributeAccessIssue] - every struct has it
    found, end = alike_reader(con)(built(con, items), 0, 9)
    assert (found, end) == (items[:6], len(built(con, items[:6])))


@pytest.mark.parametrize("version", [5, 9])
def test_long_arrays_are_left_to_the_caller(version: int) -> None:
    con = partitions_of(version)
    items = [partition(index, replicas=9, isr=9) for index in range(9)]
    assert alike_reader(con)(built(con, items), 0, 9) == ([], 0)


@pytest.mark.parametrize(("version", "null"), [(5, b"\xff\xff\xff\xff"), (9, b"\0")])
def test_null_arrays_are_left_to_the_caller(version: int, null: bytes) -> None:
    con = partitions_of(version)
    head = struct.pack(">hll", 0, 1, 2) + bytes(4) * (version >= 7)
    assert alike_reader(con)(head + null + bytes(400), 0, 9) == ([], 0)


def test_a_struct_that_is_cut_off_is_not_read() -> None:
    con = partitions_of(9)
    items = [partition(index) for index in range(9)]
    data = built(con, items)
    found, end = alike_reader(con)(data[:-1], 0, 9)
    assert (found, end) == (items[:8], len(built(con, items[:8])))


def test_a_count_that_is_a_lie_takes_no_memory() -> None:
    con = partitions_of(9)
    data = built(con, [partition(index) for index in range(9)])
    read = alike_reader(con)
    read(data, 0, 9)  # compiles
    tracemalloc.start()
    found, _ = read(data, 0, 2**32)
    assert len(found) == 9
    assert tracemalloc.get_traced_memory()[1] < 20_000
    tracemalloc.stop()


def test_nobody_can_make_us_compile_readers_without_end() -> None:
    con = partitions_of(9)
    read = alike_reader(con)
    read_together: list[bool] = []
    for replicas, isr in [(replicas, isr) for replicas in range(7) for isr in range(7)] * 2:
        items = [partition(index, replicas, isr) for index in range(6)]
        found, _ = read(built(con, items), 0, 6)
        assert found in (items, [])
        read_together.append(found == items)
    assert read_together == ([True] * 16 + [False] * 33) * 2


def test_a_message_of_mixed_shapes_is_read_as_construct_reads_it() -> None:
    topics = [
        MetadataResponseTopic(
            name=f"topic-{number}",
            partitions=[partition(index, 3, 3 - (index % 9 == number)) for index in range(20)],
        )
        for number in range(9)
    ]
    message = MetadataResponse(topics=topics)
    for version in (0, 5, 9, 12):
        con = construct_for(MetadataResponse, version)
        data = con.build(message)
        assert codec(MetadataResponse, version).decode(data) == con.parse(data)
