"""What a Produce request of a version may carry, byte by byte."""

from __future__ import annotations

import pytest

from broker.core.produce_version import check_produce_version
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch

GOOD = bytes(build_batch([NewRecord(b"v"), NewRecord(b"w")]))


def refusal(data: bytes | None, version: int = 11) -> ErrorCode | None:
    try:
        check_produce_version(data, version)
    except KafkaError as error:
        return error.code
    return None


def test_zstd_needs_version_7() -> None:
    zstd = bytes(build_batch([NewRecord(b"v")], BatchOptions(compression=Compression.ZSTD)))
    too_early = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    codes = [refusal(zstd, version) for version in range(7)]
    assert codes == [None, None, None, too_early, too_early, too_early, too_early]
    assert refusal(zstd, 7) is None


def test_old_formats_end_with_version_2() -> None:
    old = GOOD[:16] + bytes([0]) + GOOD[17:]
    assert refusal(old, 2) is None
    assert refusal(old, 3) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("size_bytes", [0, 11, 13, 17, 30, len(GOOD) - 1])
def test_a_batch_that_is_cut_is_none(size_bytes: int) -> None:
    assert refusal(GOOD[:size_bytes]) == ErrorCode.INVALID_RECORD


def test_no_records_at_all_are_refused() -> None:
    assert refusal(None) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("size_bytes", [1, 12, 30, len(GOOD) - 1])
def test_a_cut_batch_behind_a_whole_one_is_left_out(size_bytes: int) -> None:
    assert check_produce_version(GOOD + GOOD[:size_bytes], 11) == len(GOOD)


def test_a_second_batch_is_refused() -> None:
    assert refusal(GOOD + GOOD) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("before", [b"", GOOD])
def test_a_format_or_a_length_that_nothing_has_is_damage(before: bytes) -> None:
    formats = [GOOD[:16] + bytes([magic]) + GOOD[17:] for magic in (3, 127, 128, 255)]
    too_short = GOOD[:8] + (13).to_bytes(4, "big") + GOOD[12:]
    for damaged in (*formats, too_short):
        assert refusal(before + damaged) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("length", "code"), [(14, ErrorCode.INVALID_RECORD), (13, ErrorCode.CORRUPT_MESSAGE)]
)
def test_a_message_of_the_least_length_is_an_old_one_and_a_shorter_one_is_damage(
    length: int, code: ErrorCode
) -> None:
    message = bytes(8) + length.to_bytes(4) + bytes(length)
    with pytest.raises(KafkaError) as refused:
        check_produce_version(message, 9)
    assert refused.value.code is code
