"""What topics let old producers write; the conversion itself is shown in tests/protocol/records."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.message_sets import convert_in_steps, is_message_set
from protocol.configs.parsing import broker_config, topic_config
from protocol.errors import ErrorCode, KafkaError
from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set
from protocol.records.records import iterate_all_records
from protocol.records.steps import RECORDS_OF_A_STEP
from tests.protocol.records.stepped import gone_through

AB = [NewRecord(b"a", b"k", 5), NewRecord(b"b", None, 6)]


def message_set(records: list[NewRecord] | None = None, **options: Any) -> bytearray:
    return build_message_set(AB if records is None else records, MessageSetOptions(**options))


def convert(records: bytes | bytearray, **configs: str) -> tuple[bytearray, int]:
    """Return the batch and the number of pauses."""
    overrides = {name.replace("_", "."): value for name, value in configs.items()}
    steps = convert_in_steps(records, topic_config(overrides, broker_config({})))
    batch, stepped = gone_through(steps)
    return batch, stepped.steps


def refusal(records: bytes | bytearray, **configs: str) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        convert(records, **configs)
    return caught.value.code


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_message_set_becomes_a_batch(magic: int, codec: Compression) -> None:
    batch, _ = convert(message_set(magic=magic, compression=codec, base_offset=70))
    assert read_batch_header(batch).compression is codec
    assert [(r.offset, r.value) for r in iterate_all_records(batch)] == [(0, b"a"), (1, b"b")]


def test_a_message_set_is_told_by_its_first_message() -> None:
    assert is_message_set(message_set(magic=0))
    assert is_message_set(message_set(magic=1) + b"anything")
    assert not is_message_set(build_batch(AB))
    assert not is_message_set(bytes(16))
    assert not is_message_set(bytes(16) + b"\xff")


def test_what_is_damaged_is_corrupt() -> None:
    data = message_set(magic=1)
    data[-1] ^= 1
    assert refusal(data) == ErrorCode.CORRUPT_MESSAGE
    short = message_set(magic=0)
    short[8:12] = (13).to_bytes(4, "big")
    assert refusal(short) == ErrorCode.CORRUPT_MESSAGE
    unknown = message_set(magic=1) + message_set(magic=1)
    unknown[len(unknown) // 2 + 16] = 9
    assert refusal(unknown) == ErrorCode.CORRUPT_MESSAGE


def test_what_breaks_a_rule_of_its_format_is_invalid() -> None:
    packed = message_set(magic=1, compression=Compression.GZIP)
    assert refusal(packed + packed) == ErrorCode.INVALID_RECORD
    assert refusal(message_set(magic=0) + message_set(magic=1)) == ErrorCode.INVALID_RECORD
    assert refusal(message_set(magic=0)[:20]) == ErrorCode.INVALID_RECORD
    packed[17] = Compression.ZSTD
    assert refusal(packed) == ErrorCode.INVALID_RECORD


def test_a_message_or_wrapper_larger_than_the_topic_allows_is_too_large() -> None:
    data = message_set([NewRecord(bytes(100))], magic=0)
    assert refusal(data, max_message_bytes="125") == ErrorCode.MESSAGE_TOO_LARGE
    noise = bytes((n * n) % 251 for n in range(400))
    packed = message_set([NewRecord(noise)], magic=0, compression=Compression.GZIP)
    limit = str(len(packed) - 1)
    assert refusal(packed, max_message_bytes=limit) == ErrorCode.MESSAGE_TOO_LARGE


def test_a_set_that_makes_too_large_a_batch_is_refused_before_it_is_converted() -> None:
    many = message_set([NewRecord(b"0123456789")] * 10_000, magic=0)
    many[-1] ^= 1  # would be found by whoever got that far
    assert refusal(many, max_message_bytes="1000") == ErrorCode.MESSAGE_TOO_LARGE
    fits = 61 + 10 * (10 + 7)
    batch, _ = convert(message_set([NewRecord(b"0123456789")] * 10, magic=0))
    assert len(batch) == fits
    convert(message_set([NewRecord(b"0123456789")] * 10, magic=0), max_message_bytes=str(fits))


def test_a_compacted_topic_wants_keys() -> None:
    for policy in ("compact", "compact,delete"):
        assert refusal(message_set(magic=1), cleanup_policy=policy) == ErrorCode.INVALID_RECORD
    convert(message_set([AB[0]], magic=1), cleanup_policy="compact")


@pytest.mark.parametrize(
    ("time_ms", "configured", "code"),
    [
        (1_000, "CreateTime", None),
        (-1, "CreateTime", ErrorCode.INVALID_TIMESTAMP),
        (1_000, "LogAppendTime", ErrorCode.INVALID_TIMESTAMP),
    ],
)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_the_time_of_an_append_is_not_the_producers_to_set(
    codec: Compression, time_ms: int, configured: str, code: ErrorCode | None
) -> None:
    data = message_set(magic=1, compression=codec, log_append_time_ms=time_ms)
    if code is not None:
        assert refusal(data, message_timestamp_type=configured) == code
        return
    batch, _ = convert(data, message_timestamp_type=configured)
    header = read_batch_header(batch)
    assert not header.is_log_append_time
    assert header.max_timestamp == time_ms


def test_a_long_set_pauses_while_it_is_checked_and_while_it_is_converted() -> None:
    records = [NewRecord(b"v")] * (3 * RECORDS_OF_A_STEP)
    _, pauses = convert(message_set(records, magic=0))
    assert pauses == 6
