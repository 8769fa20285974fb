"""Golden records of the group and transaction coordinators, and what is stored like them.

``stored.jsonl.gz`` was generated with the classes of Apache Kafka 3.9.2 and 4.3.1; its fields are
those of ``messages.jsonl.gz``, and ``framedHex``: the bytes as stored.
"""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Any

import pytest

from protocol.errors import Malformed
from protocol.json_form import decode_body, encode_body, from_json, to_json
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from protocol.stored_records import (
    GROUP_RECORDS,
    TRANSACTION_RECORDS,
    RecordType,
    decode_key,
    decode_payload,
    decode_versioned,
    encode_key,
    encode_versioned,
    stored_message,
)
from protocol.wire.fast import codec
from protocol.wire.table import META
from tests.golden.vectors import load_vectors

Vector = dict[str, Any]
VECTORS: list[Vector] = load_vectors("stored")
RECORDS = [*GROUP_RECORDS.values(), *TRANSACTION_RECORDS.values()]


BY_NAME = [
    pytest.param(list(vectors), id=name)
    for name, vectors in groupby(VECTORS, key=lambda vector: vector["api"])
]


@pytest.mark.parametrize("vectors", BY_NAME)
def test_kafkas_json_and_bytes_are_one_record(vectors: list[Vector]) -> None:
    for vector in vectors:
        name = vector["api"], vector["kind"], vector["version"]
        data = bytes.fromhex(vector["hex"])
        assert decode_body(*name, data) == vector["json"]
        if "unknownTags" not in vector:
            assert encode_body(*name, vector["json"]) == data
        else:
            kept = decode_body(*name, data, keep_unknown_tags=True)
            assert encode_body(*name, kept) == data
    # Seen with pytest -s.
    sys.stdout.write(f"\n{vectors[0]['api']} passed: {len(vectors)}\n")


@pytest.mark.parametrize("vectors", BY_NAME)
def test_what_is_stored_is_taken_apart_and_put_together(vectors: list[Vector]) -> None:
    for vector in vectors:
        if "framedHex" not in vector:
            continue
        cls, version = stored_message(vector["api"], vector["kind"], vector["version"])
        stored = bytes.fromhex(vector["framedHex"])
        if vector["api"].endswith("Key"):
            types = TRANSACTION_RECORDS if "Transaction" in vector["api"] else GROUP_RECORDS
            record, message = decode_key(types, stored)
            assert (record.number, version) == (int.from_bytes(stored[:2], "big"), 0)
            assert encode_key(message) == stored
        else:
            message, found = decode_versioned(cls, stored)
            assert found == version
            assert encode_versioned(message, version) == stored
        assert to_json(message, version) == vector["json"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_the_number_in_the_key_is_kafkas(record: RecordType) -> None:
    assert META[record.key].api_key == META[record.value].api_key == record.number
    assert record.key.__name__ == f"{record.name}Key"
    assert META[record.key].versions.high == 0


def test_every_record_has_vectors() -> None:
    names = {vector["api"] for vector in VECTORS}
    assert [record.name for record in RECORDS if f"{record.name}Key" not in names] == []
    assert [record.name for record in RECORDS if f"{record.name}Value" not in names] == []


def test_an_offset_of_kafka_0_8_is_told_from_one_of_today() -> None:
    body = codec(OffsetCommitKey, 0).encode(OffsetCommitKey(group="g", topic="t", partition=1))
    assert decode_key(GROUP_RECORDS, b"\0\0" + body)[0].name == "LegacyOffsetCommit"
    assert decode_key(GROUP_RECORDS, b"\0\1" + body)[0].name == "OffsetCommit"


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\x12", b"\0\1\0"])
def test_a_broken_key_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode_key(GROUP_RECORDS, data)


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\5", b"\xff\xff", b"\0\0\0"])
def test_a_broken_value_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode_versioned(OffsetCommitValue, data)


def test_a_subscription_of_a_newer_version_is_read_as_far_as_known() -> None:
    sent = ConsumerProtocolSubscription(topics=["a"], rack_id="r")
    newest = encode_versioned(sent, 3)
    newer = b"\0\4" + newest[2:] + b"what version 4 adds"
    assert decode_payload(ConsumerProtocolSubscription, newer) == sent
    with pytest.raises(Malformed, match="v-1"):
        decode_payload(ConsumerProtocolSubscription, b"\xff\xff" + newest[2:])


@pytest.mark.parametrize("name", ["BrokerRegistrationChangeRecord", "OffsetCommit", "Fetch", ""])
def test_a_record_that_is_not_known_is_named(name: str) -> None:
    with pytest.raises(KeyError, match=f"no messages for {name}"):
        stored_message(name, "data", 0)


def test_a_value_that_the_version_lacks_is_left_out_as_in_kafka() -> None:
    value: Any = from_json(OffsetCommitValue, 0, {"offset": 7, "leaderEpoch": 3})
    assert decode_versioned(OffsetCommitValue, encode_versioned(value, 0))[0].leader_epoch == -1
