import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.records.batch import Compression
from protocol.records.compression import compress, decompress

CODECS = list(Compression)
REAL_CODECS = CODECS[1:]


@given(st.sampled_from(CODECS), st.binary(max_size=300), st.integers(1, 400))
def test_what_was_compressed_comes_back(codec: Compression, data: bytes, times: int) -> None:
    data *= times
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", REAL_CODECS)
@pytest.mark.parametrize("data", [b"", b"\x00", b"not compressed at all", b"\xff" * 40])
def test_bytes_of_no_codec_are_refused(codec: Compression, data: bytes) -> None:
    try:
        assert decompress(codec, data) == b""
    except Malformed:
        return


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_a_cut_stream_is_refused_or_short_but_never_longer(codec: Compression) -> None:
    data = bytes(range(256)) * 20
    compressed = bytes(compress(codec, data))
    for end in range(0, len(compressed), 7):
        try:
            assert data.startswith(bytes(decompress(codec, compressed[:end])))
        except Malformed:
            continue


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_a_decompression_bomb_is_refused(codec: Compression) -> None:
    bomb = compress(codec, bytes(1_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(Malformed):
        decompress(codec, bomb, output_bytes_max=500_000)


def test_snappy_has_the_stream_framing_of_the_java_client() -> None:
    assert bytes(compress(Compression.SNAPPY, b"a")).startswith(b"\x82SNAPPY\x00\0\0\0\1\0\0\0\1")


def test_a_bare_snappy_block_is_read_too() -> None:
    framed = bytes(compress(Compression.SNAPPY, b"abc" * 100))
    assert decompress(Compression.SNAPPY, framed[20:]) == b"abc" * 100


def test_compressing_takes_memory_that_is_not_ours() -> None:
    view = memoryview(bytearray(b"xxabcxx"))[2:5]
    assert decompress(Compression.ZSTD, compress(Compression.ZSTD, view)) == b"abc"


def test_a_snappy_block_cannot_claim_what_it_cannot_become() -> None:
    claim = b"\xff\xff\xff\x3f" + b"\x00a"  # 128 MiB, less one
    with pytest.raises(Malformed, match="134217727"):
        decompress(Compression.SNAPPY, claim)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_lz4_of_each_record_format_is_read_in_it(magic: int) -> None:
    data = b"some of it, and some of it again" * 10
    framed = compress(Compression.LZ4, data, magic=magic)
    assert decompress(Compression.LZ4, framed, magic=magic) == data
    assert decompress(Compression.LZ4, framed, magic=0) == data
    if magic == 0:
        with pytest.raises(Malformed):
            decompress(Compression.LZ4, framed, magic=1)
