"""Refused records are named as Apache Kafka names them: its own answers are the measure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from broker.core.append import AppendLimits, PreparedAppend, RecordsRefused, prepare_append
from broker.core.producers import ProducerStates
from broker.core.record_errors import (
    NAMED_MAX,
    VIEWS_OF_A_STEP,
    RecordError,
    RecordsNamed,
    is_looked_at_before,
    look_in_steps,
    name_records,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.records.batch import Compression, read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch, seal_batch
from protocol.records.steps import OUTPUT_BYTES_SHORT
from tests.golden.produce_refusals import CASES, HOUR_MS, TOPICS, answers
from tests.protocol.records.stepped import gone_through

DIFFERENT = {
    # A broker of Kafka makes it CreateTime, which costs a new sum.
    "append time to a topic that keeps times": ErrorCode.INVALID_TIMESTAMP,
    # Inner offsets are not looked at; what Kafka answers, UNKNOWN_SERVER_ERROR, says no more.
    "offsets that go back, compressed": ErrorCode.NONE,
    "offsets with a hole, compressed": ErrorCode.NONE,
    # Refused with the request's version, before it comes here.
    "message set": ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
}
TP = TopicPartition("t", 0)


def limits_of(topic: str) -> AppendLimits:
    configs = TOPICS[topic]
    bounds: dict[str, Any] = {
        key.removeprefix("message.").replace(".", "_"): int(value)
        for key, value in configs.items()
        if key.endswith("max.ms")
    }
    return AppendLimits(
        requires_keys=configs.get("cleanup.policy") == "compact",
        is_log_append_time="message.timestamp.type" in configs,
        **bounds,
    )


def clock_of(told: dict[str, Any]) -> int:
    """Return the broker's clock, which the bounds that it names give away."""
    for _, message in told["record_errors"]:
        named = re.search(r"within \[-?\d+, (\d+)\]", message)
        if named:
            return int(named[1]) - HOUR_MS
    return int(told["sent_at_ms"])


def appended(batch: bytes | bytearray, limits: AppendLimits, now_ms: int = 0) -> PreparedAppend:
    return prepare_append(
        bytearray(batch),
        next_offset=0,
        leader_epoch=0,
        limits=limits,
        producers=ProducerStates(),
        now_ms=now_ms,
    )


def refused(tp: TopicPartition, batch: bytes, limits: AppendLimits, now_ms: int) -> dict[str, Any]:
    """What a leader answers, as the golden answers are written."""
    try:
        appended(batch, limits, now_ms)
    except RecordsRefused:
        named = name_records(tp, batch, limits, now_ms)
        assert named is not None
        return {
            "error_code": int(named.code),
            "record_errors": [list(error) for error in named.records],
            "error_message": named.message,
        }
    except KafkaError as error:
        return {"error_code": int(error.code), "record_errors": [], "error_message": None}
    return {"error_code": 0, "record_errors": [], "error_message": None}


@pytest.mark.parametrize("name", CASES)
def test_what_kafka_refuses_is_refused_in_its_words(name: str) -> None:
    case, told = CASES[name], answers()[name]
    now_ms = clock_of(told)
    batch = case.build(told.pop("sent_at_ms"))
    ours = refused(TopicPartition(case.topic, 0), batch, limits_of(case.topic), now_ms)
    if name in DIFFERENT:
        assert ours["error_code"] == DIFFERENT[name] != told["error_code"]
    else:
        assert ours == told


def test_there_is_an_answer_for_every_case() -> None:
    assert list(answers()) == list(CASES)


def test_three_of_many_are_repeated_for_the_batch() -> None:
    batch = bytes(build_batch([NewRecord(value=b"v") for _ in range(10)]))
    named = name_records(TP, batch, AppendLimits(requires_keys=True), 0)
    assert named is not None
    assert [error.batch_index for error in named.records] == list(range(10))
    assert named.message.count("RecordError(") == 3
    assert "10 record errors in total" in named.message


def test_a_batch_whose_header_alone_is_wrong_names_no_record() -> None:
    """Its max timestamp may lie in the future and no record's."""
    data = build_batch([NewRecord(value=b"v", timestamp_ms=0)], BatchOptions())
    header = read_batch_header(data)._replace(max_timestamp=10 * HOUR_MS)
    batch = bytes(seal_batch(header, memoryview(data)[61:]))
    limits = AppendLimits(timestamp_after_max_ms=HOUR_MS)
    assert name_records(TP, batch, limits, 0) is None


@pytest.mark.parametrize(("at_ms", "is_named"), [(-1, False), (-2, True)])
def test_a_record_without_a_time_is_never_too_old(at_ms: int, is_named: bool) -> None:
    batch = bytes(build_batch([NewRecord(b"v", timestamp_ms=at_ms)]))
    limits = AppendLimits(timestamp_before_max_ms=HOUR_MS)

    assert (name_records(TP, batch, limits, 10 * HOUR_MS) is not None) == is_named


@pytest.mark.parametrize(
    ("at_ms", "is_named"),
    [
        (7 * HOUR_MS - 1, True),
        (7 * HOUR_MS, False),
        (12 * HOUR_MS, False),
        (12 * HOUR_MS + 1, True),
    ],
)
def test_the_first_and_the_last_time_that_are_allowed_are_no_fault_of_a_record(
    at_ms: int, is_named: bool
) -> None:
    batch = bytes(build_batch([NewRecord(b"v", timestamp_ms=at_ms)]))
    limits = AppendLimits(timestamp_before_max_ms=3 * HOUR_MS, timestamp_after_max_ms=2 * HOUR_MS)

    assert (name_records(TP, batch, limits, 10 * HOUR_MS) is not None) == is_named


def test_records_that_cannot_be_read_are_not_named() -> None:
    batch = bytes(build_batch([NewRecord(value=b"v")]))[:-3]
    assert name_records(TP, batch, AppendLimits(requires_keys=True), 0) is None


def test_a_record_error_reads_as_in_java() -> None:
    assert str(RecordError(1, "why")) == "RecordError(batchIndex=1, message='why')"


def test_many_records_are_looked_at_in_steps_and_the_first_thousand_are_named() -> None:
    batch = build_batch([NewRecord(b"value") for _ in range(NAMED_MAX + 500)])
    limits = AppendLimits(requires_keys=True)
    assert is_looked_at_before(batch, limits, 0)
    seen, stepped = gone_through(look_in_steps(TP, batch, limits, 0))
    assert stepped.steps == 1
    fault = seen.fault
    assert isinstance(fault, RecordsNamed)
    assert len(fault.errors.records) == NAMED_MAX
    assert f"due to {NAMED_MAX + 500} record errors in total" in fault.message


def test_many_records_that_are_cut_are_a_corrupt_message() -> None:
    batch = bytearray(build_batch([NewRecord(b"value", key=b"k") for _ in range(1500)]))
    batch[-1] = 0x7F  # headers that are not there
    batch[57:61] = (1501).to_bytes(4, "big")
    seen, _ = gone_through(look_in_steps(TP, batch, AppendLimits(requires_keys=True), 0))
    assert seen.fault is not None
    assert seen.fault.code is ErrorCode.CORRUPT_MESSAGE


def test_records_are_looked_at_before_where_they_are_many_or_nobody_knows() -> None:
    few, many = [NewRecord(b"v")], [NewRecord(b"v")] * (VIEWS_OF_A_STEP + 1)
    packed = BatchOptions(compression=Compression.LZ4)
    keyed, plain = AppendLimits(requires_keys=True), AppendLimits()
    assert not is_looked_at_before(build_batch(few), keyed, 0)
    assert not is_looked_at_before(build_batch(many[1:]), keyed, 0)
    assert is_looked_at_before(build_batch(many), keyed, 0)
    assert is_looked_at_before(build_batch(few, packed), keyed, 0)
    for batch in (build_batch(many), build_batch(few, packed)):
        assert not is_looked_at_before(batch, plain, 0)
        assert not is_looked_at_before(batch + b"more", keyed, 0)
        assert not is_looked_at_before(batch[:-1], keyed, 0)
        small = AppendLimits(requires_keys=True, max_message_bytes=len(batch) - 1)
        assert not is_looked_at_before(batch, small, 0)
    assert not is_looked_at_before(b"", keyed, 0)


def test_a_header_with_times_that_cannot_be_is_looked_behind_in_steps() -> None:
    late = [NewRecord(b"v", timestamp_ms=2 * HOUR_MS)] * 1_500
    limits = AppendLimits(timestamp_after_max_ms=HOUR_MS)
    stamped = build_batch(late, BatchOptions(log_append_time_ms=5))
    for batch, words in ((build_batch(late), "out of range"), (stamped, "timestamp type")):
        assert is_looked_at_before(batch, limits, 0)
        seen, stepped = gone_through(look_in_steps(TP, batch, limits, 0))
        assert stepped.steps == 1
        with pytest.raises(RecordsNamed) as refusal:
            appended(batch, replace(limits, seen=seen))
        assert refusal.value.code is ErrorCode.INVALID_TIMESTAMP
        assert len(refusal.value.errors.records) == NAMED_MAX
        assert words in refusal.value.errors.records[0].message


def test_a_header_that_is_wrong_alone_is_refused_after_its_records_were_looked_at() -> None:
    data = build_batch([NewRecord(b"v")] * 1_500)
    header = read_batch_header(data)._replace(max_timestamp=10 * HOUR_MS)
    batch = seal_batch(header, memoryview(data)[61:])
    limits = AppendLimits(timestamp_after_max_ms=HOUR_MS)
    seen, _ = gone_through(look_in_steps(TP, batch, limits, 0))
    with pytest.raises(RecordsRefused) as refusal:
        appended(batch, replace(limits, seen=seen))
    assert refusal.value.code is ErrorCode.INVALID_TIMESTAMP
    assert not isinstance(refusal.value, RecordsNamed)


def test_a_bomb_is_unpacked_elsewhere_before_its_records_are_looked_at() -> None:
    record = NewRecord(bytes(OUTPUT_BYTES_SHORT))
    batch = build_batch([record], BatchOptions(compression=Compression.ZSTD))
    seen, stepped = gone_through(look_in_steps(TP, batch, AppendLimits(requires_keys=True), 0))
    assert [work.is_large for work in stepped.works] == [True]
    assert isinstance(seen.fault, RecordsNamed)
