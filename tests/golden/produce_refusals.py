"""Produce requests that Apache Kafka 3.9.2 refuses, and what it answers, word for word.

``python -m tests.golden.produce_refusals`` asks a broker of it anew and writes
``produce_refusals.json``; Java and Maven are needed for that alone. The batches are built here; the
file has the answers, by case.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records.batch import (
    CONTROL_BIT,
    TIMESTAMP_TYPE_BIT,
    Compression,
    read_batch_header,
)
from protocol.records.build import BatchOptions, NewRecord, build_batch, seal_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set

FILE: Final = Path(__file__).with_name("produce_refusals.json")
VERSION: Final = 8
NOW_MS: Final = 1_700_000_000_000
"""The clock of a case; a broker has its own, which its answer tells."""
HOUR_MS: Final = 3_600_000
TOPICS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "bounded": {
        "message.timestamp.before.max.ms": str(HOUR_MS),
        "message.timestamp.after.max.ms": str(HOUR_MS),
    },
    "unbounded": {"message.timestamp.after.max.ms": str(HOUR_MS)},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "both": {
        "cleanup.policy": "compact",
        "message.timestamp.before.max.ms": str(HOUR_MS),
        "message.timestamp.after.max.ms": str(HOUR_MS),
    },
}


@dataclass(frozen=True, slots=True)
class Case:
    """One request to one topic."""

    topic: str
    build: Callable[[int], bytes]
    """From the time of the request."""


def _records(now_ms: int, *ages_ms: int, keys: str = "") -> list[NewRecord]:
    """Records so much older than now; those of ``keys`` that are ``-`` have none."""
    return [
        NewRecord(
            value=b"v%d" % number,
            key=None if number < len(keys) and keys[number] == "-" else b"k%d" % number,
            timestamp_ms=now_ms - age_ms,
        )
        for number, age_ms in enumerate(ages_ms)
    ]


def _batch(
    *ages_ms: int,
    keys: str = "",
    compression: Compression = Compression.NONE,
    attributes: int = 0,
    fields: Mapping[str, int] | None = None,
) -> Callable[[int], bytes]:
    """Return what builds a batch; ``attributes`` are set and ``fields`` replaced in its header."""

    def build(now_ms: int) -> bytes:
        data = build_batch(
            _records(now_ms, *ages_ms, keys=keys), BatchOptions(compression=compression)
        )
        header = read_batch_header(data)
        changed = header._replace(attributes=header.attributes | attributes, **(fields or {}))
        return bytes(seal_batch(changed, memoryview(data)[61:]))

    return build


def _offsets(*deltas: int, compression: Compression) -> Callable[[int], bytes]:
    def build(now_ms: int) -> bytes:
        records = [
            NewRecord(value=b"v", key=b"k", timestamp_ms=now_ms, offset_delta=delta)
            for delta in deltas
        ]
        options = BatchOptions(compression=compression, last_offset_delta=len(deltas) - 1)
        return bytes(build_batch(records, options))

    return build


def _unsaid(now_ms: int, compression: Compression) -> bytes:
    records = [NewRecord(value=None, timestamp_ms=now_ms)]
    data = build_batch(records, BatchOptions(compression=compression))
    header = read_batch_header(data)
    changed = header._replace(attributes=header.attributes | TIMESTAMP_TYPE_BIT)
    return bytes(seal_batch(changed, memoryview(data)[61:]))


def _message_set(now_ms: int) -> bytes:
    records = [NewRecord(value=b"v", timestamp_ms=now_ms)]
    return bytes(build_message_set(records, MessageSetOptions(magic=1)))


_OLD, _NEW = 2 * HOUR_MS, -2 * HOUR_MS
_GZIP: Final = Compression.GZIP
CASES: Final[dict[str, Case]] = {
    "one without key": Case("compacted", _batch(0, 0, 0, keys="k-k")),
    "some without key": Case("compacted", _batch(0, 0, 0, 0, 0, keys="--k--")),
    "some without key, compressed": Case(
        "compacted", _batch(0, 0, 0, 0, keys="k--k", compression=_GZIP)
    ),
    "too old": Case("bounded", _batch(_OLD, 0, _OLD)),
    "one in the middle too old": Case("bounded", _batch(0, _OLD, 0)),
    "too new": Case("bounded", _batch(0, _NEW)),
    "too new, compressed": Case("bounded", _batch(0, _NEW, compression=_GZIP)),
    "too new where no age is too old": Case("unbounded", _batch(0, _NEW)),
    "without key and too new": Case("both", _batch(0, _NEW, 0, keys="kk-")),
    "without key and too new at once": Case("both", _batch(_NEW, 0, keys="--")),
    "append time to a topic that stamps": Case(
        "stamped", _batch(0, 0, attributes=TIMESTAMP_TYPE_BIT)
    ),
    "append time, neither key nor value": Case(
        "stamped", lambda now_ms: _unsaid(now_ms, Compression.NONE)
    ),
    "append time, neither key nor value, compressed": Case(
        "stamped", lambda now_ms: _unsaid(now_ms, _GZIP)
    ),
    "append time to a topic that stamps, compressed": Case(
        "stamped", _batch(0, 0, attributes=TIMESTAMP_TYPE_BIT, compression=_GZIP)
    ),
    "append time to a topic that keeps times": Case(
        "plain", _batch(0, 0, attributes=TIMESTAMP_TYPE_BIT)
    ),
    "offsets that go back, compressed": Case("plain", _offsets(0, 2, 1, compression=_GZIP)),
    "offsets that go back": Case("plain", _offsets(0, 2, 1, compression=Compression.NONE)),
    "offsets with a hole, compressed": Case("plain", _offsets(0, 1, 5, compression=_GZIP)),
    "message set": Case("compacted", lambda now_ms: bytes(_message_set(now_ms))),
    "control batch": Case("plain", _batch(0, attributes=CONTROL_BIT)),
    "base offset": Case("plain", _batch(0, fields={"base_offset": 5})),
    "wrong count": Case("plain", _batch(0, 0, fields={"records_count": 3})),
    "no records": Case("plain", _batch(0, fields={"records_count": 0, "last_offset_delta": -1})),
    "sequence missing": Case(
        "plain", _batch(0, fields={"producer_id": 5, "producer_epoch": 0, "base_sequence": -1})
    ),
    "wrong sum": Case("plain", lambda now_ms: _batch(0)(now_ms)[:-1] + b"\xff"),
    "two batches": Case("plain", lambda now_ms: _batch(0)(now_ms) * 2),
    "nothing": Case("plain", lambda _now_ms: b""),
}


def answers() -> dict[str, dict[str, Any]]:
    """Return what Kafka answered, by case."""
    return json.loads(FILE.read_text())


def request_of(case: Case, now_ms: int) -> ProduceRequest:
    """Return the request of one case."""
    part = PartitionProduceData(index=0, records=memoryview(bytearray(case.build(now_ms))))
    return ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=case.topic, partition_data=[part])],
    )


def told(response: Any) -> dict[str, Any]:
    """Return the parts of an answer that are compared, without bytes and offsets."""
    (topic,) = response.responses
    (part,) = topic.partition_responses
    return {
        "error_code": int(part.error_code),
        "record_errors": [
            [error.batch_index, error.batch_index_error_message] for error in part.record_errors
        ],
        "error_message": part.error_message,
    }


def main() -> None:
    """Ask Apache Kafka and write the file."""
    from tests.golden.one_broker import one_broker  # noqa: PLC0415 -- only this needs Java

    found: dict[str, dict[str, Any]] = {}
    with one_broker(TOPICS) as client:
        for name, case in CASES.items():
            now_ms = time.time_ns() // 1_000_000
            try:
                found[name] = told(client.request(request_of(case, now_ms), VERSION))
            except ConnectionError:
                found[name] = {"closed": True}
            found[name]["sent_at_ms"] = now_ms
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
