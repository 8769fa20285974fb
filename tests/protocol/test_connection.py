from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.apis import APIS, request_header_version, response_header_version
from protocol.connection import (
    HEADER_TAGS_MAX,
    JOINED_BYTES_MAX,
    ClientConnection,
    ServerConnection,
    read_request,
)
from protocol.errors import Malformed
from protocol.messages.headers import RequestHeader, ResponseHeader
from protocol.wire.fast import codec
from tests.golden.vectors import load_vectors

PRODUCE, METADATA, API_VERSIONS = 0, 3, 18
FRAMES = [frame for frame in load_vectors("frames") if frame["key"] in APIS]


def of_kind(kind: str) -> list[Any]:
    return [
        pytest.param(frame, id=f"{frame['api']}-v{frame['version']}-{frame['source']}")
        for frame in FRAMES
        if frame["kind"] == kind
    ]


def header_size(frame: dict[str, Any]) -> int:
    client_id = (frame["header"].get("clientId") or "").encode()
    version: int = frame["headerVersion"]
    if frame["kind"] == "request":
        return (8, 10 + len(client_id), 11 + len(client_id))[version]
    return 4 + version


def request_frame(version: int, correlation_id: int, rest: bytes, key: int = METADATA) -> bytes:
    return pack(">ihhi", 8 + len(rest), key, version, correlation_id) + rest


@pytest.mark.parametrize("frame", of_kind("request"))
def test_the_server_reads_every_header_that_kafka_writes(frame: dict[str, Any]) -> None:
    [request] = ServerConnection().receive_data(bytes.fromhex(frame["hex"]))
    assert request[:3] == (frame["key"], frame["version"], frame["header"]["correlationId"])
    assert request.client_id == (frame["header"].get("clientId") or "")
    assert request.body == bytes.fromhex(frame["hex"])[4 + header_size(frame) :]
    assert not request.body.readonly


@pytest.mark.parametrize("frame", of_kind("response"))
def test_the_client_reads_every_header_that_kafka_writes(frame: dict[str, Any]) -> None:
    client = ClientConnection("c")
    client.send_request(frame["key"], frame["version"], [])
    stream = bytearray.fromhex(frame["hex"])
    stream[4:8] = pack(">i", 0)  # the client numbers from 0
    [response] = client.receive_data(stream)
    assert response.body == stream[4 + header_size(frame) :]


@given(
    api=st.sampled_from([(API_VERSIONS, 3), (METADATA, 1), (METADATA, 9), (7, 0), (PRODUCE, 8)]),
    client_id=st.none() | st.text(max_size=20),
    body=st.binary(max_size=30),
)
def test_headers_by_hand_are_those_of_the_message_table(
    api: tuple[int, int], client_id: str | None, body: bytes
) -> None:
    key, version = api
    sent = b"".join(ClientConnection(client_id).send_request(key, version, [body]))
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=0, client_id=client_id
    )
    encoded = codec(RequestHeader, request_header_version(key, version)).encode(header) + body
    assert sent == pack(">i", len(encoded)) + encoded
    server = ServerConnection()
    [request] = server.receive_data(sent)
    answer = b"".join(server.send_response(request, [body]))
    encoded = codec(ResponseHeader, response_header_version(key, version)).encode(
        ResponseHeader(correlation_id=0)
    )
    assert answer == pack(">i", len(encoded) + len(body)) + encoded + body


def test_the_second_request_of_a_client_is_read_as_the_first() -> None:
    client, server = ClientConnection("console-producer"), ServerConnection()
    requests = [
        server.receive_data(b"".join(client.send_request(METADATA, version, [b"body"])))[0]
        for version in (9, 9, 1, 9)
    ]
    assert [request.client_id for request in requests] == ["console-producer"] * 4
    assert [request.correlation_id for request in requests] == [0, 1, 2, 3]
    assert [bytes(request.body) for request in requests] == [b"body"] * 4


def test_another_client_id_on_the_same_connection_is_noticed() -> None:
    server = ServerConnection()
    one = server.receive_data(request_frame(1, 1, pack(">h", 2) + b"ab" + b"X"))
    two = server.receive_data(request_frame(1, 2, pack(">h", 3) + b"abX"))
    assert (one[0].client_id, bytes(one[0].body)) == ("ab", b"X")
    assert (two[0].client_id, bytes(two[0].body)) == ("abX", b"")


def test_unknown_tagged_fields_of_a_header_are_skipped() -> None:
    rest = pack(">h", -1) + b"\x02\x00\x01a\x05\x02bc" + b"body"
    [request] = ServerConnection().receive_data(request_frame(9, 1, rest))
    assert bytes(request.body) == b"body"


def test_a_version_that_nobody_knows_is_delivered_for_its_api_to_refuse() -> None:
    frame = request_frame(99, 5, pack(">h", -1) + b"\x00", key=API_VERSIONS)
    [request] = ServerConnection().receive_data(frame)
    assert request[:4] == (API_VERSIONS, 99, 5, "")


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pack(">i", 7) + bytes(7), "request of 7 bytes"),
        (request_frame(0, 1, b"", key=999), "unknown API key 999"),
        (request_frame(1, 1, b"\x00"), "header is cut"),
        (request_frame(1, 1, pack(">h", 3) + b"ab"), "client id of 3 bytes in 2"),
        (request_frame(1, 1, pack(">h", 1) + b"\xff"), "not UTF-8"),
        (request_frame(9, 1, pack(">h", -1)), "header is cut"),
        (request_frame(9, 1, pack(">h", -1) + b"\x01\x00\x09a"), "passes the end"),
        (request_frame(9, 1, pack(">h", -1) + b"\xff" * 6), "varint longer"),
        (pack(">i", -1), "frame of -1 bytes"),
    ],
)
def test_bytes_that_are_no_request_end_the_connection_after_the_requests_before(
    frame: bytes, reason: str
) -> None:
    server = ServerConnection()
    good = request_frame(1, 1, pack(">h", -1))
    requests = server.receive_data(good + frame + good)
    assert len(requests) == 1
    assert server.malformed is not None
    assert reason in str(server.malformed)
    assert server.receive_data(good) == []


def test_small_answers_are_one_buffer_and_large_parts_are_not_copied() -> None:
    client, server = ClientConnection(None), ServerConnection()
    stream = b"".join(client.send_request(METADATA, 9, []) + client.send_request(METADATA, 9, []))
    one, two = server.receive_data(stream)
    records = memoryview(bytearray(JOINED_BYTES_MAX + 1))
    assert len(server.send_response(one, [b"ab", b"c"])) == 1
    assert server.send_response(two, [b"ab", records])[2] is records


def test_answering_out_of_order_is_our_own_mistake() -> None:
    client, server = ClientConnection(None), ServerConnection()
    stream = b"".join(client.send_request(METADATA, 1, []) + client.send_request(METADATA, 1, []))
    _, second = server.receive_data(stream)
    with pytest.raises(AssertionError):
        server.send_response(second, [])


def test_a_request_without_answer_leaves_its_place_to_the_next() -> None:
    client, server = ClientConnection(None), ServerConnection()
    stream = b"".join(
        client.send_request(PRODUCE, 3, [b"acks=0"], expects_response=False)
        + client.send_request(METADATA, 1, [])
    )
    produce, metadata = server.receive_data(stream)
    server.skip_response(produce)
    answer = server.send_response(metadata, [b"answer"])
    [response] = client.receive_data(b"".join(answer))
    assert (response.api_key, bytes(response.body)) == (METADATA, b"answer")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (pack(">ii", 4, 1), "response 1 where 0 is next"),
        (pack(">ii", 4, 0) * 2, "no request waits"),
        (pack(">i", 2) + b"ab", "response of 2 bytes"),
        (pack(">i", -2), "frame of -2 bytes"),
    ],
)
def test_a_client_refuses_what_answers_nothing(answer: bytes, reason: str) -> None:
    client = ClientConnection("c")
    client.send_request(METADATA, 1, [])
    with pytest.raises(Malformed, match=reason):
        client.receive_data(answer)


def test_correlation_ids_start_again_after_the_last_one() -> None:
    client = ClientConnection(None)
    # Two thousand million requests would take too long.
    client._next_correlation_id = 2**31 - 1  # pyright: ignore[reportPrivateUsage]
    sent = [b"".join(client.send_request(METADATA, 1, []))[8:12] for _ in range(2)]
    assert sent == [pack(">i", 2**31 - 1), pack(">i", 0)]


def test_a_header_with_more_tagged_fields_than_anybody_sends_is_malformed() -> None:
    head = bytes.fromhex("0003000c00000001ffff")
    read_request(bytearray(head + bytes([HEADER_TAGS_MAX]) + b"\x63\x00" * HEADER_TAGS_MAX))
    with pytest.raises(Malformed, match="101 tagged fields in the header, at most 100"):
        read_request(bytearray(head + bytes([HEADER_TAGS_MAX + 1]) + b"\x63\x00" * 101))
