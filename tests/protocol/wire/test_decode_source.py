# construct has no type annotations.
# pyright: basic

import struct
from typing import Any

import pytest

from protocol.errors import Malformed
from protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol.messages.fetch import FetchResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.wire.decode_source import decoder_for, has_blobs, least_bytes
from protocol.wire.table import construct_for


def decode(cls: type[Any], version: int, data: bytes) -> tuple[Any, int]:
    reference = construct_for(cls, version)
    return decoder_for(reference, blobs=has_blobs(reference))(data, 0)


def api_versions(count: int, *, tagged: int | None = None) -> ApiVersionsResponse:
    rows = [ApiVersion(api_key=key, max_version=key + 1) for key in range(count)]
    if tagged is not None:
        rows[tagged].unknown_tags = ((3, b"three"),)  # pyright: ignore[reportAttributeAccessIssue] - every struct has it
    return ApiVersionsResponse(api_keys=rows or ())


def test_messages_with_bytes_or_records_are_told_from_those_without() -> None:
    assert has_blobs(construct_for(FetchResponse, 12))
    assert not has_blobs(construct_for(MetadataResponse, 12))


@pytest.mark.parametrize("version", [0, 3])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 130])
def test_structs_of_one_size_are_read_alike_together_and_one_by_one(
    version: int, count: int
) -> None:
    message = api_versions(count)
    data = construct_for(ApiVersionsResponse, version).build(message)
    assert decode(ApiVersionsResponse, version, data) == (message, len(data))


@pytest.mark.parametrize("tagged", [0, 3, 9])
def test_a_tagged_field_among_structs_of_one_size_is_not_lost(tagged: int) -> None:
    message = api_versions(10, tagged=tagged)
    data = construct_for(ApiVersionsResponse, 3).build(message)
    assert decode(ApiVersionsResponse, 3, data) == (message, len(data))


@pytest.mark.parametrize("records", [b"few", bytes(5000)])
@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_any_buffer_is_read(buffer: Any, records: bytes) -> None:
    partition = PartitionProduceData(records=records)
    message = ProduceRequest(
        topic_data=[TopicProduceData(name="größe", partition_data=[partition])]
    )
    data = construct_for(ProduceRequest, 9).build(message)
    assert decode(ProduceRequest, 9, buffer(data)) == (message, len(data))


def test_a_position_past_the_end_tells_the_caller_that_the_message_was_cut() -> None:
    message = MetadataResponse(cluster_id="cluster")
    data = construct_for(MetadataResponse, 2).build(message)
    for size in range(len(data)):
        assert cut_is_seen(data[:size])


@pytest.mark.parametrize("version", [8, 9])
def test_more_structs_than_there_is_room_for_are_refused_before_any_is_made(version: int) -> None:
    left_bytes = 10_000_000
    count = left_bytes // 2 + 1
    length = struct.pack(">i", count) if version < 9 else b"\xc2\x96\xb1\x02"
    data = length + bytes([1, 0]) * (left_bytes // 2)
    with pytest.raises(Malformed, match=f"array of {count} in {left_bytes} bytes"):
        decode(MetadataRequest, version, data)


@pytest.mark.parametrize("count", [63, 64, 65, 66, 200])
@pytest.mark.parametrize("version", [8, 9])
def test_as_many_structs_as_there_is_room_for_are_read(version: int, count: int) -> None:
    message = MetadataRequest(topics=[MetadataRequestTopic(name="") for _ in range(count)])
    data = construct_for(MetadataRequest, version).build(message)
    assert decode(MetadataRequest, version, data) == (message, len(data))


def test_the_smallest_value_of_a_struct_is_empty_or_null_where_it_may_be() -> None:
    for version in (3, 9):
        smallest = construct_for(ProduceRequest, version).build(ProduceRequest())
        assert least_bytes(construct_for(ProduceRequest, version)) == len(smallest)


def cut_is_seen(data: bytes) -> bool:
    try:
        _, end = decode(MetadataResponse, 2, data)
    except (struct.error, IndexError):
        return True
    return end > len(data)
