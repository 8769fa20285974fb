from itertools import pairwise
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.framing import DIRECT_BYTES_MIN, HELD_BYTES_MIN, MAPPED_BYTES_MIN, FrameReader


def framed(*bodies: bytes) -> bytes:
    return b"".join(pack(">i", len(body)) + body for body in bodies)


def receive_all(reader: FrameReader, data: bytes, step: int) -> list[bytes]:
    """Bring ``data`` as a socket would: ``step`` bytes at a time."""
    frames: list[bytes] = []
    position = 0
    while position < len(data):
        buffer = reader.next_buffer()
        count = min(step, len(buffer), len(data) - position)
        buffer[:count] = data[position : position + count]
        position += count
        frames += map(bytes, reader.received(count))
    return frames


@given(st.lists(st.binary(max_size=50), max_size=8), st.data())
def test_frames_come_out_whole_however_the_stream_is_cut(
    bodies: list[bytes], data: st.DataObject
) -> None:
    stream = framed(*bodies)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reader = FrameReader()
    frames: list[bytes] = []
    for start, end in pairwise([0, *cuts, len(stream)]):
        frames += map(bytes, reader.feed(stream[start:end]))
    assert frames == bodies
    assert not reader.is_inside_frame


@pytest.mark.parametrize("step", [1, 3, 1000, DIRECT_BYTES_MIN, 1 << 20])
def test_small_and_large_frames_mix(step: int) -> None:
    large = bytes(range(256)) * 300
    bodies = [b"a", large, b"", b"bc", large, large, b"d"]
    if step < 10:
        bodies = [b"a", b"", b"bc", bytes(100)]
    assert receive_all(FrameReader(), framed(*bodies), step) == bodies


def test_a_large_frame_is_received_into_its_own_memory() -> None:
    reader = FrameReader()
    body = bytes(DIRECT_BYTES_MIN * 2)
    reader.feed(framed(body)[:100])
    buffer = reader.next_buffer()
    assert len(buffer) == len(body) - 96
    [frame] = reader.received(len(buffer))
    assert buffer.obj is frame


def test_readers_share_one_receive_buffer() -> None:
    shared = bytearray(DIRECT_BYTES_MIN)
    one, two = FrameReader(receive_buffer=shared), FrameReader(receive_buffer=shared)
    first = receive_all(one, framed(b"first", b"cut")[:-1], 100)
    second = receive_all(two, framed(b"second"), 100)
    assert (first, second) == ([b"first"], [b"second"])
    assert receive_all(one, b"t", 100) == [b"cut"]


def test_frames_do_not_share_memory() -> None:
    first, second = FrameReader().feed(framed(b"aaaa", b"bbbb"))
    first[:] = b"cccc"
    assert second == b"bbbb"


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_a_size_out_of_bounds_ends_the_stream_but_not_the_frames_before(size: int) -> None:
    reader = FrameReader(100)
    stream = framed(b"good") + pack(">i", size) + framed(b"never")
    assert reader.feed(stream) == [b"good"]
    assert reader.malformed is not None
    assert reader.feed(framed(b"never")) == []


def test_a_size_out_of_bounds_is_seen_when_it_arrives_byte_by_byte() -> None:
    reader = FrameReader(100)
    assert receive_all(reader, pack(">i", 101), 1) == []
    assert str(reader.malformed) == "frame of 101 bytes, the limit is 100"


def test_a_frame_of_exactly_the_limit_passes() -> None:
    reader = FrameReader(100)
    assert reader.feed(framed(bytes(100))) == [bytes(100)]
    assert reader.malformed is None


@pytest.mark.parametrize("size", [HELD_BYTES_MIN + 1, MAPPED_BYTES_MIN, MAPPED_BYTES_MIN + 1])
def test_a_large_frame_waits_for_its_memory_and_then_comes_without_a_copy(size: int) -> None:
    reader = FrameReader(waits=True)
    body = bytes(range(256)) * (size // 256 + 1)
    stream = framed(body[:size], b"next")
    assert reader.feed(stream[:1000]) == []
    assert reader.wanted_bytes == 0, "its first bytes are not there yet"
    assert reader.feed(stream[1000 : DIRECT_BYTES_MIN + 4]) == []
    assert reader.wanted_bytes == size
    assert bytes(reader.head) == body[:DIRECT_BYTES_MIN]
    reader.admit()
    assert reader.is_filling_admitted
    assert reader.wanted_bytes == 0
    buffer = reader.next_buffer()
    assert len(buffer) == size - DIRECT_BYTES_MIN
    buffer[:] = stream[DIRECT_BYTES_MIN + 4 : size + 4]
    [frame] = reader.received(len(buffer))
    assert buffer.obj is frame
    assert bytes(memoryview(frame)) == body[:size]
    assert reader.feed(stream[size + 4 :]) == [b"next"]
    assert not reader.is_inside_frame


def test_a_frame_that_came_before_it_could_wait_is_whole() -> None:
    reader = FrameReader(waits=True)
    body = bytes(HELD_BYTES_MIN + 5)
    reader.feed(framed(body)[:-1])
    assert reader.wanted_bytes == len(body)
    assert reader.feed(framed(body)[-1:]) == [body]
    assert reader.wanted_bytes == 0


def test_an_announced_frame_takes_no_memory_before_it_comes() -> None:
    reader = FrameReader(waits=True)
    reader.feed(pack(">i", 100 << 20) + bytes(100))
    assert len(reader.head) == 100
    assert not reader.is_filling_admitted


def test_a_frame_whose_end_will_never_come_is_let_go() -> None:
    reader = FrameReader(waits=True)
    reader.feed(pack(">i", 100 << 20) + bytes(DIRECT_BYTES_MIN))
    reader.admit()
    assert reader.is_filling_admitted
    reader.drop()
    assert not reader.is_filling_admitted
    assert not reader.is_inside_frame
