import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.wire.varint import (
    FEW_LENGTH_MAX,
    few_integers_readers,
    integers_reader,
    integers_writer,
    read_length,
    read_varint,
    refuse_long,
    write_varint,
)


@given(st.integers(0, 2**35 - 1))
def test_what_is_written_is_read_and_no_more(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert read_varint(out + b"\xff", 0) == (value, len(out))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f")],
)
def test_varints_are_little_endian_groups_of_seven(value: int, data: str) -> None:
    assert read_varint(bytes.fromhex(data), 0) == (value, len(data) // 2)


def test_a_varint_has_at_most_five_bytes() -> None:
    with pytest.raises(Malformed, match="longer than five"):
        read_varint(b"\xff" * 5 + b"\x01", 0)


def test_a_length_of_null_is_refused() -> None:
    assert read_length(b"\x00\x05", 1) == (5, 2)
    with pytest.raises(Malformed, match="null"):
        read_length(b"\x00", 0)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=100))
def test_integers_are_written_and_read_alike(items: list[int]) -> None:
    out = bytearray(b"head")
    integers_writer("l")(out, items)
    assert integers_reader("l")(out, 4, len(items)) == (items or (), len(out))


def test_more_integers_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(Malformed, match="array of 2000000000 in 4 bytes"):
        integers_reader("q")(bytes(4), 0, 2_000_000_000)
    with pytest.raises(Malformed, match="null"):
        integers_reader("q")(bytes(4), 0, -1)


def test_an_array_that_would_take_seconds_to_read_is_refused() -> None:
    refuse_long(1_000_000, 2, 2_000_000)
    with pytest.raises(Malformed, match="array of 1000001, at most 1000000"):
        refuse_long(1_000_001, 2, 1 << 30)
    with pytest.raises(Malformed, match="array of 65 in 129 bytes"):
        refuse_long(65, 2, 129)


@pytest.mark.parametrize("added", [0, 1])
def test_few_integers_are_read_by_their_length_on_the_wire(added: int) -> None:
    readers = few_integers_readers("h", added)
    assert len(readers) == FEW_LENGTH_MAX + 1
    assert readers[2 + added](b"\0\x05\0\x06\0\x07", 0) == (5, 6)
