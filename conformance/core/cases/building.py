"""Forms that many cases send: batches, Produce, Fetch."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from conformance.core.script import Given, Topic
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.build_message_set import MessageSetOptions, build_message_set

STAMP_MS: Final = 1_700_000_000_000
"""The time of the first record; each next one is a millisecond younger."""
ACKS_ALL: Final = -1
WAIT_MS: Final = 30_000
UNKNOWN_ID: Final = "AAAAAAAAAAAAAAAAAAAAKg"
"""An id that no topic has."""
_BATCHES_SINCE: Final = 3
_MAGIC_1_SINCE: Final = 2


def unknown_topic(given: Given) -> Topic:
    """Return a topic that is not there, by name or by id."""
    return Topic(given.name("none"), UNKNOWN_ID)


def records(count: int, *, size_bytes: int = 8) -> list[NewRecord]:
    """Return so many records with keys and values that tell their number."""
    return [
        NewRecord(value=b"%0*d" % (size_bytes, n), key=b"k%d" % n, timestamp_ms=STAMP_MS + n)
        for n in range(count)
    ]


def batch(count: int = 3, options: BatchOptions | None = None, *, size_bytes: int = 8) -> str:
    """Return one v2 batch as JSON has it."""
    made = build_batch(records(count, size_bytes=size_bytes), options or BatchOptions())
    return base64.b64encode(made).decode()


def idempotent(
    producer: tuple[int, int],
    sequence: int,
    count: int = 1,
    *,
    is_transactional: bool = False,
    size_bytes: int = 8,
) -> str:
    """Return a batch of a producer (id and epoch) that begins with a sequence."""
    options = BatchOptions(
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    return batch(count, options, size_bytes=size_bytes)


def data_for(version: int, count: int = 3) -> str:
    """Return records in the format that a version of Produce carries."""
    if version >= _BATCHES_SINCE:
        return batch(count)
    magic = 1 if version >= _MAGIC_1_SINCE else 0
    return base64.b64encode(
        build_message_set(records(count), MessageSetOptions(magic=magic))
    ).decode()


def produce(
    topic: Topic, data: str | None, *, partition: int = 0, acks: int = ACKS_ALL, **more: Any
) -> dict[str, Any]:
    """Return a Produce of one partition."""
    row = {"index": partition, "records": data}
    topics = [{"name": topic.name, "topicId": topic.id, "partitionData": [row]}]
    return {"acks": acks, "timeoutMs": WAIT_MS, "topicData": topics, **more}


def fetch(
    topic: Topic,
    offset: int = 0,
    *,
    partition: int = 0,
    row: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a Fetch of one partition, that waits for nothing; ``row`` changes its partition."""
    one = {"partition": partition, "fetchOffset": offset, "partitionMaxBytes": 1 << 20}
    return fetch_of(topic, [{**one, **(row or {})}], **more)


def fetch_of(topic: Topic, rows: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a Fetch of these partitions of a topic."""
    topics = [{"topic": topic.name, "topicId": topic.id, "partitions": rows}]
    return {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 24, "topics": topics, **more}
