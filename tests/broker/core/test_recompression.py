"""A topic's own codec: batches come out in it, with everything else as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.recompression import needs_recompression, recompress_in_steps
from protocol.configs.parsing import broker_config, topic_config
from protocol.configs.topic import TopicConfig
from protocol.errors import ErrorCode, KafkaError
from protocol.ports import Buffer
from protocol.records.batch import (
    HEADER_SIZE_BYTES,
    BatchHeader,
    Compression,
    check_crc,
    read_batch_header,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch, seal_batch
from protocol.records.records import iterate_records
from protocol.records.steps import OUTPUT_BYTES_SHORT, Steps, at_once
from tests.protocol.records.stepped import gone_through

NAMES = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
RECORDS = [
    NewRecord(bytes(n * number % 251 for n in range(500)), key=b"k", timestamp_ms=number)
    for number in range(20)
]


def config(codec: str) -> TopicConfig:
    return topic_config({"compression.type": codec}, broker_config({}))


def batch(codec: Compression) -> bytearray:
    options = BatchOptions(compression=codec, producer_id=7, producer_epoch=2, base_sequence=30)
    return build_batch(RECORDS, options)


def run(steps: Steps[Buffer]) -> bytes:
    return bytes(at_once(steps))


def unpacked(header: BatchHeader) -> BatchHeader:
    return header._replace(batch_length=0, crc=0, attributes=header.attributes & ~7)


@pytest.mark.parametrize("source", list(Compression))
@pytest.mark.parametrize("name", list(NAMES))
def test_any_codec_becomes_any_other(source: Compression, name: str) -> None:
    before = batch(source)
    assert needs_recompression(before, config(name)) is (source is not NAMES[name])
    after = run(recompress_in_steps(before, config(name)))
    header = read_batch_header(after)
    assert header.attributes & 7 == NAMES[name]
    assert header.size_bytes == len(after)
    assert check_crc(after, 0, header)
    assert unpacked(header) == unpacked(read_batch_header(before))
    records = list(iterate_records(after, 0, header))
    assert [record.value for record in records] == [record.value for record in RECORDS]


def test_producer_keeps_what_came() -> None:
    assert not needs_recompression(batch(Compression.GZIP), config("producer"))


@pytest.mark.parametrize(("codec", "best"), [("gzip", "9"), ("zstd", "22")])
def test_levels_are_those_of_the_topic(codec: str, best: str) -> None:
    plain = batch(Compression.NONE)
    sizes: list[int] = []
    for level in ("1", best):
        overrides = {"compression.type": codec, f"compression.{codec}.level": level}
        steps = recompress_in_steps(plain, topic_config(overrides, broker_config({})))
        sizes.append(len(run(steps)))
    assert sizes[0] > sizes[1]


def test_what_is_to_be_refused_is_left_as_it_came() -> None:
    damaged = batch(Compression.GZIP)
    damaged[-1] ^= 1
    whole = batch(Compression.GZIP)
    small = replace(config("zstd"), max_message_bytes=100)
    assert run(recompress_in_steps(damaged, config("zstd"))) == damaged
    assert run(recompress_in_steps(whole, small)) == whole
    assert run(recompress_in_steps(whole + b"more", config("zstd"))) == whole + b"more"
    assert not needs_recompression(whole[:40], config("zstd"))


def test_large_batches_are_unpacked_and_packed_elsewhere() -> None:
    record = NewRecord(bytes(OUTPUT_BYTES_SHORT))
    packed = build_batch([record], BatchOptions(compression=Compression.ZSTD))
    again, stepped = gone_through(recompress_in_steps(packed, config("lz4")))
    assert [work.is_large for work in stepped.works] == [True, False]
    assert [one.value for one in iterate_records(again, 0, read_batch_header(again))] == [
        record.value
    ]
    short = build_batch([NewRecord(b"v")], BatchOptions(compression=Compression.ZSTD))
    assert not gone_through(recompress_in_steps(short, config("lz4")))[1].works


def test_records_that_cannot_be_unpacked_are_refused() -> None:
    lying = build_batch(RECORDS, BatchOptions())
    lying[22] = Compression.GZIP
    header = read_batch_header(lying)
    sealed = seal_batch(header, bytes(lying[61:]))
    with pytest.raises(KafkaError) as caught:
        run(recompress_in_steps(sealed, config("lz4")))
    assert caught.value.code == ErrorCode.INVALID_RECORD


def test_what_would_be_too_large_without_compression_is_refused_before_it_is_built() -> None:
    zeros = [NewRecord(bytes(5_000))]
    packed = build_batch(zeros, BatchOptions(compression=Compression.GZIP))
    plain_bytes = len(build_batch(zeros, BatchOptions())) - HEADER_SIZE_BYTES
    small = replace(config("uncompressed"), max_message_bytes=plain_bytes - 1)
    with pytest.raises(KafkaError, match=f"{plain_bytes} bytes without compression") as caught:
        run(recompress_in_steps(packed, small))
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE
    just = replace(small, max_message_bytes=plain_bytes)
    assert len(run(recompress_in_steps(packed, just))) == plain_bytes + HEADER_SIZE_BYTES
    other = replace(config("zstd"), max_message_bytes=plain_bytes - 1)
    assert len(run(recompress_in_steps(packed, other))) < plain_bytes
