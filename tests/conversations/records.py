"""What is said of records: Produce, Fetch, offsets and epochs, records deleted."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any, Final

from conformance.core.cases.building import STAMP_MS, fetch, produce
from conformance.core.script import Topic, ask
from protocol.records.build import BatchOptions, NewRecord, build_batch
from protocol.records.compression import Compression
from tests.conversations.speaker import (
    Producer,
    Session,
    Speaker,
    Step,
    first_of,
    say,
)

_IDEMPOTENT_SINCE: Final = 3
_BATCHES_SINCE: Final = 4
_SESSIONS_SINCE: Final = 7


def send(speaker: Speaker) -> Step:
    """Produce a batch, by nobody, a producer, or one in a transaction."""
    topic = speaker.topic()
    partition = speaker.partition(topic)
    producer = speaker.one_of([None, *speaker.producers])
    yield from _send(speaker, topic, partition, producer)
    if speaker.chance(0.1):
        yield from _send(speaker, topic, partition, producer)


def _send(speaker: Speaker, topic: Topic, partition: int, producer: Producer | None) -> Step:
    count = speaker.mostly(speaker.dice.randint(1, 4), 0, 60, share=0.95)
    options, more = BatchOptions(), dict[str, Any]()
    key = (topic.name, partition)
    sequence = 0
    if producer is not None:
        is_transactional = producer.transactional_id is not None and speaker.chance(0.95)
        sequence = producer.sequences.get(key, 0)
        sequence = max(speaker.mostly(sequence, sequence - count, sequence + 1, 0, share=0.9), 0)
        options = BatchOptions(
            producer_id=producer.id,
            producer_epoch=max(speaker.mostly(producer.epoch, producer.epoch + 1, share=0.97), 0),
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        if is_transactional:
            more["transactionalId"] = speaker.mostly(
                producer.transactional_id, None, "nobody's", share=0.97
            )
    version = speaker.version("Produce", _IDEMPOTENT_SINCE)
    options = replace(options, compression=speaker.mostly(Compression.NONE, *Compression))
    data = build_batch(_records(speaker, count), options) if count else b""
    acks = speaker.mostly(-1, 1, 2, share=0.9)
    if acks == 1 and speaker.copies.get(key, 1) > 1:
        acks = -1  # Nobody knows how far others have read of what its leader alone has taken.
    form = produce(topic, base64.b64encode(data).decode(), partition=partition, acks=acks, **more)
    answer = yield from ask("Produce", version, form)
    row = first_of(answer, "responses", "partitionResponses")
    if row.get("errorCode") == 0 and row.get("baseOffset", -1) >= 0:
        speaker.epoch_has_records[key] = True
        speaker.ends[key] = max(speaker.ends.get(key, 0), row["baseOffset"] + count)
        if producer is not None:
            producer.sequences[key] = sequence + count


def _records(speaker: Speaker, count: int) -> list[NewRecord]:
    at_ms = STAMP_MS + speaker.mostly(speaker.dice.randint(0, 50), -100_000, 10**9, share=0.95)
    return [
        NewRecord(
            value=speaker.mostly(b"v" * speaker.dice.randint(0, 40), None, share=0.9),
            key=speaker.mostly(b"k%d" % speaker.dice.randint(0, 3), None, share=0.9),
            timestamp_ms=at_ms + speaker.dice.randint(-3, 3),
        )
        for _ in range(count)
    ]


def read(speaker: Speaker) -> Step:
    """Fetch from somewhere in a partition, with or without a session."""
    topic = speaker.topic()
    partition = speaker.partition(topic)
    offset = speaker.offset(topic, partition)
    row = {
        "partitionMaxBytes": speaker.mostly(1 << 20, 0, 1, 100, 300),
        "currentLeaderEpoch": speaker.mostly(-1, 0, 1, 7),
        "lastFetchedEpoch": speaker.mostly(-1, 0, 1, share=0.97),
    }
    more: dict[str, Any] = {
        "isolationLevel": speaker.dice.randint(0, 1),
        "maxBytes": speaker.mostly(1 << 24, 0, 1, 200),
    }
    version = speaker.version("Fetch", _BATCHES_SINCE)
    session = None
    if version >= _SESSIONS_SINCE and speaker.chance(0.3):
        session = speaker.one_of([None, *speaker.sessions])
        if session is not None:
            version = max(version, session.version) if session.version >= 13 else session.version
        id_, epoch = (session.id, session.epoch) if session else (0, 0)
        epoch = speaker.mostly(epoch, epoch + 1, 0, -1, share=0.9)
        more |= {"sessionId": id_, "sessionEpoch": epoch}
    else:
        more |= {"sessionId": 0, "sessionEpoch": -1}
    form = fetch(topic, offset, partition=partition, row=row, **more)
    if session is not None and speaker.chance(0.5):
        form["topics"] = []
    answer = yield from ask("Fetch", version, form)
    opened = answer.get("sessionId", 0)
    if opened and session is None:
        speaker.sessions.append(Session(opened, 1, version))
    elif session is not None and opened:
        session.epoch += 1


def offsets_by_time(speaker: Speaker) -> Step:
    """ListOffsets of a time, or of a place that has a name."""
    topic = speaker.topic()
    version = speaker.version("ListOffsets", 1)
    row = {
        "partitionIndex": speaker.partition(topic),
        "currentLeaderEpoch": speaker.mostly(-1, 0, 1),
        "timestamp": speaker.one_of(
            [-1, -2, -4, -5, -6, -7, 0, *(STAMP_MS + n for n in (-4, 0, 3, 20, 49, 60, 10**9))]
        ),
    }
    form = {
        "replicaId": -1,
        "isolationLevel": speaker.dice.randint(0, 1),
        "topics": [{"name": topic.name, "partitions": [row]}],
    }
    yield from ask("ListOffsets", version, form)


def end_of_epoch(speaker: Speaker) -> Step:
    """OffsetForLeaderEpoch."""
    topic = speaker.topic()
    row = {
        "partition": speaker.partition(topic),
        "currentLeaderEpoch": speaker.mostly(-1, 0, 1),
        "leaderEpoch": speaker.dice.randint(-1, 2),
    }
    form = {"replicaId": -1, "topics": [{"topic": topic.name, "partitions": [row]}]}
    yield from say(speaker, "OffsetForLeaderEpoch", form)


def delete_records(speaker: Speaker) -> Step:
    """DeleteRecords up to somewhere."""
    topic = speaker.topic()
    partition = speaker.partition(topic)
    row = {"partitionIndex": partition, "offset": speaker.offset(topic, partition)}
    form = {"topics": [{"name": topic.name, "partitions": [row]}], "timeoutMs": 10_000}
    yield from say(speaker, "DeleteRecords", form)
    speaker.epoch_has_records.pop((topic.name, partition), None)


def producers_of(speaker: Speaker) -> Step:
    """DescribeProducers of a partition."""
    topic = speaker.topic()
    form = {"topics": [{"name": topic.name, "partitionIndexes": [speaker.partition(topic)]}]}
    yield from say(speaker, "DescribeProducers", form)
