from __future__ import annotations

from dataclasses import replace

import pytest

from broker.core.transaction_state.metadata import TransactionMetadata, TransactionState
from broker.core.transaction_state.stored import (
    key_of,
    read_metadata,
    read_transactional_id,
    record_of,
)
from protocol.errors import Malformed
from protocol.ids import TopicPartition
from protocol.messages.group_records import OffsetCommitKey
from protocol.stored_records import encode_key

ONGOING = TransactionMetadata(
    transactional_id="pay",
    producer_id=7,
    previous_producer_id=6,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=(TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)),
    started_ms=200,
    updated_ms=250,
    client_transaction_version=2,
)


def test_a_key_names_the_transactional_id() -> None:
    assert key_of("pay") == b"\x00\x00\x00\x03pay"
    assert read_transactional_id(key_of("pay")) == "pay"


def test_a_value_of_version_0_has_the_bytes_of_kafka_3_9() -> None:
    _, value = record_of(ONGOING, 0)
    assert value == bytes.fromhex(
        "0000 0000000000000007 0003 0000ea60 01"
        "00000002 000161 00000002 00000000 00000002 000162 00000001 00000001"
        "00000000000000fa 00000000000000c8"
    )


def test_nothing_is_lost_from_version_1_on_and_tagged_fields_before() -> None:
    for version in (0, 1, 2):
        _, value = record_of(ONGOING, version)
        assert value is not None
        read = read_metadata("pay", value)
        if version == 0:
            read = replace(read, previous_producer_id=6, client_transaction_version=2)
        assert read == ONGOING


def test_an_empty_one_has_no_partitions_at_all() -> None:
    empty = replace(ONGOING, state=TransactionState.EMPTY, partitions=())
    _, value = record_of(empty, 0)
    assert value is not None
    assert value[17:21] == b"\xff\xff\xff\xff"
    assert read_metadata("pay", value).partitions == ()


def test_what_is_no_such_record_is_malformed() -> None:
    with pytest.raises(Malformed):
        read_transactional_id(encode_key(OffsetCommitKey(group="g", topic="t", partition=0)))
    _, value = record_of(ONGOING, 0)
    assert value is not None
    with pytest.raises(Malformed, match="transaction status 9"):
        read_metadata("pay", value[:16] + b"\x09" + value[17:])
