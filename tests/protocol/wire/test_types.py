# construct has no type annotations.
# pyright: basic

import construct as c
import pytest

from protocol.wire import types as t

COMPACT = t.Length(compact=True, fixed=t.INT16)
PLAIN = t.Length(compact=False, fixed=t.INT16)


def string(length: t.Length, *, nullable: bool = False) -> t.Blob:
    return t.Blob(length, nullable=nullable, kind="string")


@pytest.mark.parametrize(
    ("con", "value", "data"),
    [
        (t.INT8, -2, "fe"),
        (t.INT16, -2, "fffe"),
        (t.INT32, 258, "00000102"),
        (t.INT64, -1, "ffffffffffffffff"),
        (t.UINT16, 65535, "ffff"),
        (t.UINT32, 2**32 - 1, "ffffffff"),
        (t.FLOAT64, 1.5, "3ff8000000000000"),
        (t.BOOL, True, "01"),
        (t.UUID, bytes(range(16)), bytes(range(16)).hex()),
        (t.VARINT, 300, "ac02"),
        (string(PLAIN), "é", "0002c3a9"),
        (string(COMPACT), "é", "03c3a9"),
        (string(PLAIN, nullable=True), None, "ffff"),
        (string(COMPACT, nullable=True), None, "00"),
        (t.Blob(COMPACT, nullable=False, kind="bytes"), b"\x01", "0201"),
        (t.Array(PLAIN, nullable=False, element=t.INT8), [1, 2], "00020102"),
        (t.Array(COMPACT, nullable=False, element=t.INT8), (), "01"),
        (t.Array(COMPACT, nullable=True, element=t.INT8), None, "00"),
        (t.Nullable(t.INT8, tagged=False), None, "ff"),
        (t.Nullable(t.INT8, tagged=False), 7, "0107"),
        (t.Nullable(t.INT8, tagged=True), None, "00"),
        (t.Nullable(t.INT8, tagged=True), 7, "0107"),
    ],
)
def test_a_value_has_these_bytes(con: c.Construct, value: object, data: str) -> None:
    assert con.build(value) == bytes.fromhex(data)
    assert con.parse(bytes.fromhex(data)) == value


def test_any_byte_but_zero_is_true() -> None:
    assert t.BOOL.parse(b"\x07") is True


def test_records_may_be_built_from_buffers_in_a_row() -> None:
    records = t.Blob(PLAIN, nullable=False, kind="records")
    assert records.build((b"ab", memoryview(b"c"))) == b"\0\x03abc"


@pytest.mark.parametrize(
    ("con", "data", "message"),
    [
        (string(PLAIN), "ffff", "null"),
        (string(COMPACT), "00", "null"),
        (string(PLAIN), "0005616263", "5 bytes announced, 3 left"),
        (string(PLAIN), "0001ff", "not UTF-8"),
        (t.Array(PLAIN, nullable=False, element=t.INT8), "ffff", "null"),
        (t.Array(PLAIN, nullable=False, element=t.INT8), "7fff00", "array of 32767 in 1 bytes"),
        (t.VARINT, "ffffffffff01", "longer than five"),
        (t.INT32, "0000", "stream"),
    ],
)
def test_bytes_that_are_no_value_are_refused(con: c.Construct, data: str, message: str) -> None:
    with pytest.raises(c.ConstructError, match=message):
        con.parse(bytes.fromhex(data))


@pytest.mark.parametrize(
    ("con", "value", "message"),
    [
        (string(PLAIN), None, "null"),
        (t.Array(PLAIN, nullable=False, element=t.INT8), None, "null"),
        (string(PLAIN), "x" * 32768, "32768 bytes, at most 32767"),
        (t.INT8, 200, "given value 200"),
    ],
)
def test_values_that_have_no_bytes_are_refused(
    con: c.Construct, value: object, message: str
) -> None:
    with pytest.raises(c.ConstructError, match=message):
        con.build(value)
