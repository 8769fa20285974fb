import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.varint import append_varint, read_varint


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_value_survives_its_varint(value: int) -> None:
    output = bytearray(b"x")
    append_varint(output, value)
    assert read_varint(output, 1) == (value, len(output))


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (2**31 - 1, "feffffff0f"),
    ],
)
def test_values_are_zig_zag_and_the_lowest_bits_come_first(value: int, encoded: str) -> None:
    output = bytearray()
    append_varint(output, value)
    assert output.hex() == encoded


@pytest.mark.parametrize("encoded", [b"", b"\x80", b"\xff" * 9, b"\xff" * 11])
def test_a_cut_or_endless_varint_is_refused(encoded: bytes) -> None:
    with pytest.raises(Malformed):
        read_varint(encoded, 0)
