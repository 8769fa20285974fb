from protocol.wire.output import Output, put_bytes, put_records, put_tagged, size_of

LARGE = bytes(4096)


def test_an_output_copies_records_unless_it_keeps_them_apart() -> None:
    out = Output()
    put_records(out, (b"a", LARGE))
    assert out == b"a" + LARGE
    assert out.parts() == [out]


def test_large_records_lie_between_the_parts_where_they_belong() -> None:
    out = Output(keeps_blobs_apart=True)
    put_bytes(out, b"head")
    put_records(out, LARGE)
    put_records(out, [LARGE, b"small", LARGE])
    out += b"tail"
    parts = out.parts()
    assert [len(part) for part in parts] == [4, 4096, 4096, 5, 4096, 4]
    assert all(parts[index] is LARGE for index in (1, 2, 4))
    assert b"".join(parts) == b"head" + LARGE * 2 + b"small" + LARGE + b"tail"


def test_records_at_either_end_leave_no_empty_part() -> None:
    out = Output(keeps_blobs_apart=True)
    put_records(out, LARGE)
    assert out.parts() == [LARGE]


def test_the_size_of_buffers_in_a_row_is_their_sum() -> None:
    assert size_of(b"abc") == 3
    assert size_of((b"abc", memoryview(b"de"), bytearray(1))) == 6


def test_tagged_fields_are_sorted_by_tag() -> None:
    out = Output()
    put_tagged(out, [(2, b"two")], [(0, b""), (300, b"x")])
    assert out == b"\x03\x00\x00\x02\x03two\xac\x02\x01x"
