"""TCP streams are put together from packets, whatever happened to them on the way."""

from __future__ import annotations

from typing import Literal

import pytest

from jbodlab.decoding.capture import CaptureError, Chunk, read_capture
from tests.jbodlab.captured import CLIENT, SERVER, Capture, capture_file


def streams(content: bytes, *, server_port: int | None = None) -> tuple[bytes, bytes]:
    """Return what the client and what the server sent."""
    chunks = list(read_capture(content, server_port=server_port))
    assert not any(chunk.lost_bytes for chunk in chunks)
    return joined(chunks, from_client=True), joined(chunks, from_client=False)


def joined(chunks: list[Chunk], *, from_client: bool) -> bytes:
    return b"".join(chunk.data for chunk in chunks if chunk.from_client == from_client)


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_both_directions_are_read_from_both_formats(kind: str) -> None:
    capture = Capture().handshake().sends("client", b"ab").sends("server", b"xy")
    assert streams(capture.sends("client", b"cd").file(kind)) == (b"abcd", b"xy")


def test_chunks_tell_when_and_between_whom() -> None:
    (chunk,) = read_capture(Capture().handshake().sends("client", b"ab").file())
    assert chunk.at_s == pytest.approx(1_700_000_000.002)
    assert (chunk.connection.client, chunk.connection.server) == (CLIENT, SERVER)
    assert str(chunk.connection) == "127.0.0.1:50000 -> 127.0.0.1:9092"


def test_ip_packets_without_ethernet_and_of_ip_6_are_read() -> None:
    capture = Capture(("::1", 50_000), ("::1", 9092)).handshake().sends("client", b"six")
    assert streams(capture.file()) == (b"six", b"")
    assert streams(capture.file(raw_ip=True)) == (b"six", b"")
    (chunk,) = read_capture(capture.file())
    assert str(chunk.connection) == "[::1]:50000 -> [::1]:9092"


def test_segments_that_overtake_each_other_are_put_in_order() -> None:
    capture = Capture().handshake()
    for data in (b"ab", b"cd", b"ef", b"gh"):
        capture.sends("client", data)
    packets = [capture.packets[index] for index in (0, 1, 3, 5, 2, 4)]
    assert streams(capture_file(packets)) == (b"abcdefgh", b"")


def test_repeated_bytes_count_once() -> None:
    capture = Capture().handshake().sends("client", b"abcd").repeats("client", b"abcd", back=4)
    capture.repeats("client", b"cdef", back=2).skips("client", 2).sends("client", b"gh")
    assert streams(capture.file()) == (b"abcdefgh", b"")


def test_the_longest_of_segments_with_one_beginning_counts() -> None:
    capture = Capture().handshake().sends("client", b"ab")
    capture.repeats("client", b"ef", back=-2).repeats("client", b"efgh", back=-2)
    assert streams(capture.sends("client", b"cd").file()) == (b"abcdefgh", b"")


def test_sequence_numbers_begin_again_at_zero() -> None:
    capture = Capture(first_sequence=(1 << 32) - 3).handshake()
    for data in (b"ab", b"cd", b"ef"):
        capture.sends("client", data)
    packets = [capture.packets[index] for index in (0, 1, 4, 3, 2)]
    assert streams(capture_file(packets)) == (b"abcdef", b"")


def test_without_a_handshake_the_lower_port_is_the_server() -> None:
    capture = Capture().sends("server", b"xy").sends("client", b"ab")
    assert streams(capture.file()) == (b"ab", b"xy")


def test_a_port_names_the_server_and_leaves_other_connections_out() -> None:
    unusual = Capture(("127.0.0.1", 100), ("127.0.0.1", 60_000)).sends("client", b"ab")
    packets = unusual.packets + Capture().handshake().sends("client", b"other").packets
    assert streams(capture_file(packets), server_port=60_000) == (b"ab", b"")


def test_a_gap_is_told_with_its_size() -> None:
    capture = Capture().handshake().sends("client", b"ab").skips("client", 7)
    chunks = list(read_capture(capture.sends("client", b"cd").sends("client", b"ef").file()))
    assert [(chunk.data, chunk.lost_bytes) for chunk in chunks] == [(b"ab", 0), (b"cd", 7)]


def test_few_segments_wait_for_one_that_never_comes() -> None:
    capture = Capture().handshake().sends("client", b"ab").skips("client", 7)
    for _ in range(5000):
        capture.sends("client", b"x")
    capture.sends("server", b"y")
    chunks = list(read_capture(capture.file()))
    assert [(chunk.data, chunk.lost_bytes) for chunk in chunks] == [
        (b"ab", 0), (b"x", 7), (b"y", 0)
    ]  # fmt: skip


def test_ports_that_are_used_again_are_another_connection() -> None:
    first = Capture().handshake().sends("client", b"ab")
    second = Capture(first_sequence=99).handshake().sends("client", b"cd")
    chunks = list(read_capture(capture_file(first.packets + second.packets)))
    assert [chunk.data for chunk in chunks] == [b"ab", b"cd"]
    assert len({chunk.connection for chunk in chunks}) == 2


@pytest.mark.parametrize("content", [b"", b"no capture at all, but long enough to be one"])
def test_what_is_no_capture_is_an_error(content: bytes) -> None:
    with pytest.raises(CaptureError, match="the capture cannot be read"):
        list(read_capture(content))


def test_a_link_type_that_is_not_known_is_named() -> None:
    content = Capture().handshake().file()
    order: Literal["big", "little"] = "big" if content.startswith(b"\xa1\xb2") else "little"
    with pytest.raises(CaptureError, match="link type 147"):
        list(read_capture(content[:20] + (147).to_bytes(4, order) + content[24:]))


def test_packets_of_other_kinds_are_left_out() -> None:
    packets = Capture().handshake().sends("client", b"ab").packets
    arp = (1.0, b"\x45" + bytes(9) + b"\x11" + bytes(9))
    assert streams(capture_file([arp, (2.0, b"\x45"), *packets])) == (b"ab", b"")
