import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.lz4_frame import (
    BLOCK_BYTES,
    header_checksum,
    with_right_checksum,
    write_frame,
)


@given(st.binary(max_size=200), st.integers(1, 2_000))
def test_lz4_itself_reads_the_frames(data: bytes, times: int) -> None:
    assert bytes(cramjam.lz4.decompress(write_frame(data * times))) == data * times


def test_blocks_stand_alone_as_readers_in_java_want_them() -> None:
    frame = write_frame(bytes(range(256)) * 1_000)
    assert frame[:7].hex() == "04224d18604082"
    assert frame[-4:] == bytes(4)


def test_a_block_that_does_not_shrink_is_stored() -> None:
    noise = bytes((n * n * 31 + n // 7) % 251 for n in range(97))
    frame = write_frame(noise)
    assert frame[7:11] == (len(noise) | 1 << 31).to_bytes(4, "little")
    assert frame[11:-4] == noise


def test_a_long_frame_has_many_blocks() -> None:
    frame = write_frame(bytes(3 * BLOCK_BYTES + 1))
    position, count = 7, 0
    while length := int.from_bytes(frame[position : position + 4], "little") & 0x7FFF_FFFF:
        position, count = position + 4 + length, count + 1
    assert (count, position) == (4, len(frame) - 4)


def test_format_0_has_the_wrong_checksum_of_its_time() -> None:
    assert write_frame(b"data", has_old_checksum=True)[:7].hex() == "04224d1860401a"
    assert header_checksum(b"\x60\x40") == 0x82


@pytest.mark.parametrize("checksum", [0x1A, 0x82, 0x00])
def test_any_checksum_of_format_0_is_put_right(checksum: int) -> None:
    frame = bytearray(write_frame(b"data" * 50))
    frame[6] = checksum
    assert bytes(cramjam.lz4.decompress(with_right_checksum(frame))) == b"data" * 50


def test_a_content_size_in_the_header_is_left_out() -> None:
    plain = write_frame(b"data" * 50)
    sized = plain[:4] + bytes((plain[4] | 8, plain[5])) + (200).to_bytes(8, "little") + plain[6:]
    assert with_right_checksum(sized) == plain


def test_a_frame_shorter_than_its_header_is_refused() -> None:
    for size in range(7):
        with pytest.raises(Malformed):
            with_right_checksum(write_frame(b"data")[:size])


@given(st.sampled_from([4, 5, 6, 7]), st.booleans(), st.booleans())
def test_the_checksum_is_that_of_lz4_for_every_header(
    block_size: int, has_block_sums: bool, has_content_sum: bool
) -> None:
    flags = 0x60 | has_block_sums << 4 | has_content_sum << 2
    frame = b"\x04\x22\x4d\x18" + bytes((flags, block_size << 4, 0)) + bytes(4)
    if has_content_sum:
        frame += (0x02CC5D05).to_bytes(4, "little")  # XXH32 of nothing
    assert bytes(cramjam.lz4.decompress(with_right_checksum(frame))) == b""
