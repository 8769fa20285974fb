"""Produce: every version, what is refused, and the sequences of idempotent producers."""

from __future__ import annotations

import base64
from collections.abc import Generator
from typing import Any

from conformance.core.cases.building import (
    STAMP_MS,
    batch,
    data_for,
    fetch,
    idempotent,
    produce,
    records,
    unknown_topic,
)
from conformance.core.catalogue import case
from conformance.core.script import Given, NewTopic, Request, Script, Talk, Topic, ask
from protocol.records.batch import Compression
from protocol.records.build import BatchOptions, NewRecord, build_batch

_FETCH = 11
"""A version of Fetch that every release from 2.3 on has."""
_INIT = 4
_ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


@case("typical/Produce", "Produce", versions="all", since=0)
def every_version(given: Given) -> Script:
    """Two batches get offsets one after the other, and are read back."""
    topic = yield NewTopic()
    for _ in range(2):
        yield from ask("Produce", given.version, produce(topic, data_for(given.version)))
    yield from ask("Fetch", _FETCH, fetch(topic))


@case("produce/acks", "Produce", versions="ends", since=3)
def acks(given: Given) -> Script:
    """acks=1 is answered, acks=0 is not, acks=2 is refused."""
    topic = yield NewTopic()
    yield Talk([Request("Produce", given.version, produce(topic, batch(1), acks=1))])
    silent = Request("Produce", given.version, produce(topic, batch(1), acks=0), is_answered=False)
    yield Talk([silent, Request("ApiVersions", 0)])
    yield Talk([Request("Produce", given.version, produce(topic, batch(1), acks=2))])
    yield Talk([Request("ListOffsets", 5, _latest(topic))])


@case("produce/acks-0-error", "Produce", since=3)
def acks_zero_error(given: Given) -> Script:
    """With acks=0 an error closes the connection, for there is no answer to tell it."""
    topic = yield NewTopic()
    form = produce(topic, batch(1), acks=0, partition=7)
    yield Talk([Request("Produce", given.version, form, is_answered=False)])


@case("produce/wrong-topic", "Produce", versions="all", since=3)
def wrong_topic(given: Given) -> Script:
    """A topic, a partition and a topic id that are not there."""
    topic = yield NewTopic()
    data = batch(1)
    yield from ask("Produce", given.version, produce(unknown_topic(given), data))
    yield from ask("Produce", given.version, produce(topic, data, partition=1))
    yield from ask("Produce", given.version, produce(topic, data, partition=-1))
    yield from ask("Produce", given.version, produce(Topic("", _ZERO_ID), data))


@case("produce/not-leader", "Produce", versions="ends", brokers=3, since=3)
def not_leader(given: Given) -> Script:
    """A broker that only follows, and one that has no replica, refuse."""
    topic = yield NewTopic(replicas=(1, 2))
    for to in (2, 3):
        yield from ask("Produce", given.version, produce(topic, batch(1)), to=to)


@case("produce/empty", "Produce", versions="all", since=3)
def empty(given: Given) -> Script:
    """No records, and an empty list of partitions; null records Kafka itself never answers."""
    topic = yield NewTopic()
    yield from ask("Produce", given.version, produce(topic, ""))
    form = {"acks": -1, "timeoutMs": 1000}
    topics: list[Any] = [{"name": topic.name, "topicId": topic.id, "partitionData": []}]
    yield from ask("Produce", given.version, {**form, "topicData": topics})


@case("produce/many-partitions", "Produce", versions="ends", since=3)
def many_partitions(given: Given) -> Script:
    """One request for good and bad partitions: each has an answer of its own."""
    topic = yield NewTopic(partitions=3)
    rows = [{"index": index, "records": batch(1)} for index in (2, 9, 0)]
    topics = [{"name": topic.name, "topicId": topic.id, "partitionData": rows}]
    yield from ask("Produce", given.version, {"acks": -1, "timeoutMs": 1000, "topicData": topics})


@case("produce/minus-timeout", "Produce", versions="ends", since=3)
def bounds(given: Given) -> Script:
    """Timeouts at both ends of their range."""
    topic = yield NewTopic()
    for timeout_ms in (0, -1, -(2**31), 2**31 - 1):
        form = produce(topic, batch(1)) | {"timeoutMs": timeout_ms}
        yield from ask("Produce", given.version, form)


@case("produce/bad-batch", "Produce", versions="ends", since=3)
def bad_batch(given: Given) -> Script:
    """A wrong CRC, a wrong size, a wrong count, an unknown magic, and a batch that is cut."""
    topic = yield NewTopic()
    for data in _bad_batches():
        text = base64.b64encode(data).decode()
        yield from ask("Produce", given.version, produce(topic, text))
    yield from ask("ListOffsets", 5, _latest(topic))


def _bad_batches() -> Generator[bytes]:
    good = bytes(build_batch(records(2)))
    yield good[:20] + bytes([good[20] ^ 1]) + good[21:]  # crc
    yield good[:-1]
    yield good + good[:30]
    yield good[:16] + b"\x03" + good[17:]  # magic
    yield bytes(build_batch(records(2), BatchOptions(last_offset_delta=5)))
    yield bytes(build_batch(records(1), BatchOptions(is_control=True)))
    yield good + good


@case("produce/codecs", "Produce", versions="all", since=3)
def codecs(given: Given) -> Script:
    """Every codec is taken, zstd only from version 7 on."""
    topic = yield NewTopic()
    for codec in (Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD):
        data = batch(3, BatchOptions(compression=codec))
        yield from ask("Produce", given.version, produce(topic, data))


@case("produce/too-large", "Produce", versions="ends", since=3)
def too_large(given: Given) -> Script:
    """A batch above max.message.bytes of its topic."""
    topic = yield NewTopic(configs={"max.message.bytes": "500"})
    for size_bytes in (10, 600):
        yield from ask("Produce", given.version, produce(topic, batch(1, size_bytes=size_bytes)))


@case("produce/compacted", "Produce", versions="all", since=3)
def compacted(given: Given) -> Script:
    """A compacted topic takes no record without a key; which one it was is told from v8 on."""
    topic = yield NewTopic(configs={"cleanup.policy": "compact"})
    data = [each if index != 1 else _no_key() for index, each in enumerate(records(3))]
    text = base64.b64encode(build_batch(data)).decode()
    yield from ask("Produce", given.version, produce(topic, text))
    yield from ask("Produce", given.version, produce(topic, batch(2)))


def _no_key() -> NewRecord:
    return NewRecord(value=b"v", timestamp_ms=STAMP_MS)


@case("produce/append-time", "Produce", versions="all", since=3)
def append_time(given: Given) -> Script:
    """A topic that stamps records with its own time tells it in the answer."""
    topic = yield NewTopic(configs={"message.timestamp.type": "LogAppendTime"})
    yield from ask("Produce", given.version, produce(topic, batch(1)))


@case("produce/few-in-sync", "Produce", versions="ends", since=3)
def few_in_sync(given: Given) -> Script:
    """acks=all needs min.insync.replicas, acks=1 does not."""
    topic = yield NewTopic(configs={"min.insync.replicas": "2"})
    yield from ask("Produce", given.version, produce(topic, batch(1)))
    yield from ask("Produce", given.version, produce(topic, batch(1), acks=1))


@case("idempotence/sequences", "Produce", versions="ends", since=3)
def sequences(given: Given) -> Script:
    """In order, a duplicate, a gap, and a sequence that was long ago."""
    topic = yield NewTopic()
    producer = yield from _producer()
    for sequence in (0, 1, 1, 0, 3, 2, 2, 9, 3):
        data = idempotent(producer, sequence)
        yield from ask("Produce", given.version, produce(topic, data))
    yield from ask("ListOffsets", 5, _latest(topic))


@case("idempotence/last-five", "Produce", since=3)
def last_five(given: Given) -> Script:
    """The last five batches are known by their offsets, the sixth is a duplicate nobody knows."""
    topic = yield NewTopic()
    producer = yield from _producer()
    for number in (*range(7), *range(7)):
        data = idempotent(producer, number * 2, 2)
        yield from ask("Produce", given.version, produce(topic, data))
    yield from ask("Produce", given.version, produce(topic, idempotent(producer, 12, 1)))
    yield from ask("Produce", given.version, produce(topic, idempotent(producer, 11, 2)))


@case("idempotence/first-sequence", "Produce", since=3)
def first_sequence(given: Given) -> Script:
    """A producer unknown to the partition begins where it likes, unless its epoch is new."""
    topic = yield NewTopic(partitions=3)
    producer = yield from _producer()
    for partition, epoch, sequence in ((0, 0, 5), (0, 0, 6), (1, 3, 5), (1, 4, 7), (1, 4, 0)):
        data = idempotent((producer[0], epoch), sequence)
        yield from ask("Produce", given.version, produce(topic, data, partition=partition))


@case("idempotence/epochs", "Produce", versions="ends", since=3)
def epochs(given: Given) -> Script:
    """A newer epoch begins at sequence 0, an older one is fenced."""
    topic = yield NewTopic()
    producer = yield from _producer()
    for epoch, sequence in ((0, 0), (1, 1), (1, 0), (0, 1), (1, 1), (32767, 0)):
        data = idempotent((producer[0], epoch), sequence)
        yield from ask("Produce", given.version, produce(topic, data))


@case("idempotence/wrap", "Produce", since=3)
def wrap(given: Given) -> Script:
    """Behind the largest sequence comes 0."""
    topic = yield NewTopic()
    producer = yield from _producer()
    for sequence, count in ((2**31 - 2, 1), (2**31 - 1, 1), (0, 1), (1, 2), (2**31 - 1, 2)):
        data = idempotent(producer, sequence, count)
        yield from ask("Produce", given.version, produce(topic, data))


@case("idempotence/bad-ids", "Produce", since=3)
def bad_ids(given: Given) -> Script:
    """A producer id without an epoch or a sequence, and two batches of a producer in one."""
    topic = yield NewTopic()
    for producer_id, epoch, sequence in ((5, -1, 0), (5, 0, -1), (-2, 0, 0), (2**62, 0, 0)):
        data = idempotent((producer_id, epoch), sequence)
        yield from ask("Produce", given.version, produce(topic, data))


@case("idempotence/describe-producers", "DescribeProducers", versions="all")
def describe_producers(given: Given) -> Script:
    """What a partition knows of its producers."""
    topic = yield NewTopic()
    producer = yield from _producer()
    for sequence in (0, 1):
        yield from ask("Produce", 8, produce(topic, idempotent(producer, sequence)))
    form = {"topics": [{"name": topic.name, "partitionIndexes": [0, 4]}]}
    yield from ask("DescribeProducers", given.version, form)
    form = {"topics": [{"name": given.name("none"), "partitionIndexes": [0]}]}
    yield from ask("DescribeProducers", given.version, form)


@case("typical/InitProducerId", "InitProducerId", versions="all")
def init_producer_id(given: Given) -> Script:
    """An idempotent producer gets an id; each time another."""
    for timeout_ms in (60_000, 0, -1):
        form = {"transactionalId": None, "transactionTimeoutMs": timeout_ms}
        yield from ask("InitProducerId", given.version, form)


@case("idempotence/bump", "InitProducerId", versions="all", since=3)
def bump(given: Given) -> Script:
    """InitProducerId with the id and epoch that a producer already has."""
    producer = yield from _producer()
    for id_, epoch in (producer, (producer[0], -1), (-1, 0), (producer[0], 9)):
        form = {"transactionalId": None, "transactionTimeoutMs": 60_000}
        more = {"producerId": id_, "producerEpoch": epoch}
        yield from ask("InitProducerId", given.version, form | more)


def _producer() -> Generator[Any, Any, tuple[int, int]]:
    form = {"transactionalId": None, "transactionTimeoutMs": 60_000}
    answer = yield from ask("InitProducerId", _INIT, form)
    return answer.get("producerId", -1), answer.get("producerEpoch", -1)


def _latest(topic: Topic) -> dict[str, Any]:
    rows = [{"partitionIndex": 0, "timestamp": -1}]
    return {"replicaId": -1, "topics": [{"name": topic.name, "partitions": rows}]}
