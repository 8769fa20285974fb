"""Long work on records: what is short is done at once, what a codec does is left to others."""

from __future__ import annotations

import random

import pytest

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.records.batch import Compression
from protocol.records.compression import compress, decompress
from protocol.records.steps import (
    COPIED_OF_A_STEP_BYTES,
    INPUT_BYTES_SHORT,
    OUTPUT_BYTES_MEDIUM,
    OUTPUT_BYTES_SHORT,
    PACKED_BYTES_SHORT,
    CodecWork,
    Steps,
    append_in_steps,
    at_once,
    compress_in_steps,
    decompress_in_steps,
)
from tests.protocol.records.stepped import gone_through

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
MAX = 64 * 1024 * 1024


def unpacked(codec: Compression, data: Buffer, output_bytes_max: int = MAX) -> Steps[Buffer]:
    return decompress_in_steps(codec, data, output_bytes_max=output_bytes_max)


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_short_is_unpacked_at_once(codec: Compression) -> None:
    for size in (0, 1, OUTPUT_BYTES_SHORT):
        data, stepped = gone_through(unpacked(codec, compress(codec, bytes(size))))
        assert data == bytes(size)
        assert not stepped.works


@pytest.mark.parametrize("codec", CODECS)
def test_what_becomes_large_is_unpacked_elsewhere(codec: Compression) -> None:
    bomb = compress(codec, bytes(OUTPUT_BYTES_SHORT + 1))
    data, stepped = gone_through(unpacked(codec, bomb))
    assert data == bytes(OUTPUT_BYTES_SHORT + 1)
    assert [work.is_large for work in stepped.works] == [True]


def test_what_is_more_than_medium_is_tried_as_that_first() -> None:
    for size, tried in (
        (OUTPUT_BYTES_MEDIUM, [OUTPUT_BYTES_MEDIUM]),
        (OUTPUT_BYTES_MEDIUM + 1, [OUTPUT_BYTES_MEDIUM, MAX]),
    ):
        bomb = compress(Compression.ZSTD, bytes(size))
        data, stepped = gone_through(unpacked(Compression.ZSTD, bomb))
        assert len(data) == size
        assert [work.output_bytes_max for work in stepped.works] == tried


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_large_already_is_not_tried_at_once(codec: Compression) -> None:
    noise = random.Random(1).randbytes(INPUT_BYTES_SHORT + 1)
    data, stepped = gone_through(unpacked(codec, compress(codec, noise)))
    assert data == noise
    assert len(stepped.works) == 1


@pytest.mark.parametrize("codec", CODECS)
def test_damage_and_what_becomes_too_large_raise_malformed(codec: Compression) -> None:
    with pytest.raises(Malformed):
        at_once(unpacked(codec, b"no stream of any codec"))
    for limit in (100, OUTPUT_BYTES_SHORT, OUTPUT_BYTES_SHORT + 1):
        with pytest.raises(Malformed):
            at_once(unpacked(codec, compress(codec, bytes(limit + 1)), limit))


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_long_is_packed_elsewhere(codec: Compression) -> None:
    short, stepped = gone_through(compress_in_steps(codec, bytes(PACKED_BYTES_SHORT)))
    assert decompress(codec, short) == bytes(PACKED_BYTES_SHORT)
    assert not stepped.works
    long, stepped = gone_through(compress_in_steps(codec, bytes(PACKED_BYTES_SHORT + 1)))
    assert decompress(codec, long) == bytes(PACKED_BYTES_SHORT + 1)
    assert [work.is_large for work in stepped.works] == [False]


def test_without_a_codec_nothing_is_done() -> None:
    data = bytes(OUTPUT_BYTES_SHORT + 1)
    assert gone_through(unpacked(Compression.NONE, data))[0] is data
    packed, stepped = gone_through(compress_in_steps(Compression.NONE, data))
    assert packed is data
    assert not stepped.works


def test_what_is_large_is_copied_in_steps() -> None:
    for size, steps in ((5, 0), (COPIED_OF_A_STEP_BYTES, 0), (2 * COPIED_OF_A_STEP_BYTES + 1, 3)):
        output = bytearray(b"before")
        data = random.Random(size).randbytes(size)
        _, stepped = gone_through(append_in_steps(output, data))
        assert output == b"before" + data
        assert stepped.steps == steps


def test_at_once_sends_results_in_and_throws_what_was_raised() -> None:
    def broken() -> None:
        raise Malformed("no stream")

    def steps() -> Steps[list[str]]:
        yield
        found: list[str] = [(yield CodecWork(lambda: "result", is_large=False))]
        try:
            yield CodecWork(broken, is_large=False)
        except Malformed as error:
            found.append(str(error))
        return found

    assert at_once(steps()) == ["result", "no stream"]
