"""Values of records in KRaft's metadata log; those of a real quorum are read in tests/kraft."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import Malformed
from protocol.messages.metadata_records import (
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)
from protocol.metadata_log import (
    METADATA_RECORDS,
    decode_metadata_record,
    encode_metadata_record,
)
from protocol.wire.table import META

TOPIC_ID = bytes(range(16))


def versions_of(cls: type[Any]) -> list[tuple[type[Any], int]]:
    versions = META[cls].versions
    return [(cls, version) for version in range(versions.low, versions.high + 1)]


@pytest.mark.parametrize(
    ("cls", "version"), [each for cls in METADATA_RECORDS.values() for each in versions_of(cls)]
)
def test_a_record_of_defaults_is_read_as_it_was_written(cls: type[Any], version: int) -> None:
    data = encode_metadata_record(cls(), version)
    record, found = decode_metadata_record(data)
    assert type(record) is cls
    assert found == version
    assert encode_metadata_record(record, version) == data


def test_a_topic_is_framed_as_kafka_frames_it() -> None:
    """A quorum of Apache Kafka 4.3.1 wrote these bytes but for the id."""
    data = encode_metadata_record(TopicRecord(name="orders", topic_id=TOPIC_ID), 0)
    assert data.hex() == "01020007" + b"orders".hex() + TOPIC_ID.hex() + "00"


def test_a_change_of_a_partition_holds_only_what_changed() -> None:
    change = PartitionChangeRecord(partition_id=2, topic_id=TOPIC_ID, isr=[], leader=-1)
    data = encode_metadata_record(change, 2)
    assert data.hex() == "01050200000002" + TOPIC_ID.hex() + "02" + "000101" + "0104ffffffff"
    assert decode_metadata_record(data)[0].replicas is None


def test_directories_are_told_from_version_1_on() -> None:
    record = PartitionRecord(topic_id=TOPIC_ID, replicas=[7], isr=[7], directories=[TOPIC_ID])
    assert decode_metadata_record(encode_metadata_record(record, 1))[0].directories == [TOPIC_ID]
    with pytest.raises(ValueError, match="directories"):
        encode_metadata_record(record, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes ends within its frame"),
        (b"\x01\x80", "2 bytes ends within its frame"),
        (b"\x00\x02\x00", "a frame of version 0, not 1"),
        (b"\x01\x06\x00", "type 6; known are 0, 1, 2, 3, 4, 5, 7"),
        (b"\x01\x03\x03", "PartitionRecord v3; known are 0 to 2"),
        (b"\x01\x02\x00\x07or", "TopicRecord v0"),
    ],
)
def test_what_is_no_record_is_refused_by_what_it_has(data: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        decode_metadata_record(data)


def test_a_feature_is_finalized_by_name_and_level() -> None:
    level = FeatureLevelRecord(name="metadata.version", feature_level=30)
    assert decode_metadata_record(encode_metadata_record(level, 0)) == (level, 0)
