"""Frames are read as far as they can be, and what breaks is told with its place."""

from __future__ import annotations

from typing import Any

import pytest

from jbodlab.decoding.frames import (
    Exchange,
    ReadFrame,
    is_sized,
    looks_like_request,
    looks_like_stream,
    read_all,
    read_body,
    read_request,
    read_response,
)
from protocol.apis import APIS
from protocol.json_form import encode_body, encode_header
from protocol.messages.group_records import OffsetCommitValue
from tests.golden.vectors import load_vectors

FRAMES = [
    frame
    for frame in load_vectors("frames")
    if frame["key"] in APIS and frame["api"] == APIS[frame["key"]].name
]
"""One API was renamed: ListClientMetricsResources is ListConfigResources."""
REQUESTS = [frame for frame in FRAMES if frame["kind"] == "request"]
TOPICS: dict[str, Any] = {"topics": [{"name": "orders"}, {"name": "payments"}]}


def request(correlation_id: int, api: str = "Metadata", version: int = 5, **form: Any) -> bytes:
    header = {
        "requestApiKey": {"Metadata": 3, "ApiVersions": 18}[api],
        "requestApiVersion": version,
        "correlationId": correlation_id,
        "clientId": "test",
    }
    return encode_header(api, "request", version, header) + encode_body(
        api, "request", version, form
    )


def response(correlation_id: int, api: str = "Metadata", version: int = 5, **form: Any) -> bytes:
    header = {"correlationId": correlation_id}
    return encode_header(api, "response", version, header) + encode_body(
        api, "response", version, form
    )


def sized(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def read_requests(data: bytes) -> list[ReadFrame]:
    return list(read_all(data, "request", read_request))


@pytest.mark.parametrize("with_size", [True, False])
def test_golden_requests_back_to_back_are_read_with_and_without_sizes(with_size: bool) -> None:
    start = 0 if with_size else 4
    data = b"".join(bytes.fromhex(frame["hex"])[start:] for frame in REQUESTS)
    found = read_requests(data)
    assert [(one.api, one.version, one.header, one.body) for one in found] == [
        (frame["api"], frame["version"], frame["header"], frame["json"]) for frame in REQUESTS
    ]
    assert [one.error for one in found if one.error] == []


def test_golden_responses_are_read_when_their_api_is_told() -> None:
    for frame in FRAMES:
        if frame["kind"] == "response":
            found, _ = read_response(
                bytes.fromhex(frame["hex"])[4:], frame["api"], frame["version"]
            )
            assert (found.header, found.body, found.error) == (
                frame["header"],
                frame["json"],
                None,
            )


def test_responses_back_to_back_are_read_with_and_without_sizes() -> None:
    frames = [response(1, clusterId="a"), response(2, clusterId="b")]

    def read(data: bytes) -> tuple[ReadFrame, int]:
        return read_response(data, "Metadata", 5)

    for data in (sized(*frames), b"".join(frames)):
        bodies = [one.body or {} for one in read_all(data, "response", read)]
        assert [body["clusterId"] for body in bodies] == ["a", "b"]


def test_a_broken_frame_tells_where_and_the_next_one_is_read() -> None:
    whole = request(1, **TOPICS)
    broken, good = read_requests(sized(whole[:-4], whole))
    assert broken.error == "MetadataRequest v5: -> topics[1] -> name: 8 bytes announced, 5 left"
    assert broken.header is not None
    assert broken.body is None
    assert good.error is None


def test_the_place_is_told_in_large_frames_too() -> None:
    whole = request(1, topics=[{"name": "x" * 100} for _ in range(1000)])
    (broken,) = read_requests(sized(whole[:-4]))
    assert broken.error is not None
    assert "-> topics[999] -> name" in broken.error


def test_the_end_in_the_middle_of_a_frame_is_told_with_sizes() -> None:
    whole = sized(request(1, **TOPICS))
    (cut,) = read_requests(whole[:-4])
    assert cut.error is not None
    assert "-> topics[1] -> name" in cut.error
    assert "a frame of 37 bytes announced, 33 left" in cut.error
    _, size_cut = read_requests(whole + b"\0\0")
    assert size_cut.error == "0000 where a size should be"
    _, negative = read_requests(whole + b"\xff\xff\xff\xff")
    assert negative.error == "ffffffff where a size should be"


def test_bytes_behind_a_body_are_shown() -> None:
    (found,) = read_requests(sized(request(1, **TOPICS) + b"\1\2"))
    assert (found.error, found.left_over) == (None, b"\1\2")
    assert found.content()["leftOver"] == "0102"


@pytest.mark.parametrize(
    ("head", "error"),
    [
        ("0003", "a request of 2 bytes"),
        ("0034000000000001", "no messages for Vote"),
        ("03e7000000000001", "Kafka has no API with key 999"),
        ("0003006300000001", "Metadata has versions 0 to 13, not 99"),
    ],
)
def test_what_is_not_known_is_named(head: str, error: str) -> None:
    found, _ = read_request(bytes.fromhex(head))
    assert found.error is not None
    assert error in found.error


def test_a_lone_body_is_read() -> None:
    data = encode_body("OffsetCommitValue", "coordinator-value", 3, {"offset": 7})
    assert (read_body(data, OffsetCommitValue, 3).body or {})["offset"] == 7
    assert "-> offset" in (read_body(data[:3], OffsetCommitValue, 3).error or "")
    assert "versions 0 to 4" in (read_body(data, OffsetCommitValue, 9).error or "")


def test_responses_are_paired_with_their_requests() -> None:
    exchange = Exchange()
    asked = exchange.receive("request", sized(request(7, **TOPICS), request(8, version=1)))
    assert [one.version for one in asked] == [5, 1]
    data = sized(response(8, version=1), response(7, clusterId="a"))
    found = exchange.receive("response", data[:9]) + exchange.receive("response", data[9:])
    assert [(one.api, one.version) for one in found] == [("Metadata", 1), ("Metadata", 5)]
    assert exchange.end("request") == exchange.end("response") == []


def test_a_response_to_an_unknown_request_is_noted() -> None:
    (found,) = Exchange().receive("response", sized(response(7)))
    assert found.content() == {
        "kind": "response",
        "header": {"correlationId": 7},
        "note": "its request is not known",
    }
    (short,) = Exchange().receive("response", sized(b"\0"))
    assert short.error == "a response of 1 bytes"


def test_a_refused_version_of_api_versions_is_read_in_version_0() -> None:
    exchange = Exchange()
    software: Any = {"clientSoftwareName": "test", "clientSoftwareVersion": "1"}
    exchange.receive("request", sized(request(1, "ApiVersions", 4, **software)))
    refusal = response(1, "ApiVersions", 0, errorCode=35, apiKeys=[{"apiKey": 18}])
    (found,) = exchange.receive("response", sized(refusal))
    assert (found.version, (found.body or {})["errorCode"]) == (0, 35)
    assert found.note == "in version 0, as brokers refuse a version like 4"


def test_a_stream_that_breaks_is_told_once() -> None:
    exchange = Exchange()
    broken = exchange.receive("request", sized(request(1)) + b"\xff\xff\xff\xff")
    assert [one.error for one in broken] == [None, "frame of -1 bytes, the limit is 104857600"]
    assert exchange.receive("request", sized(request(2))) == []


def test_a_stream_that_ends_within_a_frame_is_told() -> None:
    exchange = Exchange()
    exchange.receive("request", sized(request(1))[:-1])
    assert [one.error for one in exchange.end("request")] == ["the end cuts this frame"]


def test_sizes_are_noticed() -> None:
    one, two = request(1), request(2, **TOPICS)
    assert is_sized(sized(one, two), "request")
    assert is_sized(sized(one, two)[:-1], "request")
    assert not is_sized(one + two, "request")
    assert is_sized(sized(response(1)), "response")
    assert not is_sized(response(1), "response")


def test_a_client_is_told_by_how_it_begins() -> None:
    assert looks_like_stream(sized(request(1)))
    assert looks_like_request(request(1))
    assert not looks_like_stream(b"GET / HTTP/1.1\r\n")
    assert not looks_like_stream(b"SSH-2.0-OpenSSH")
    assert not looks_like_stream(sized(request(1))[:5])
    assert not looks_like_request(b"\0\3\0\x63\0\0\0\0")
    assert not looks_like_request(b"\0")
