"""Load from librdkafka (confluent-kafka): produce and consume rates, as a client sees them.

It creates no topics and starts no cluster.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

_BATCH_COUNT = 1000
"""Records handed to librdkafka in one call, so that Python's share of the client stays small."""
_COORDINATOR_S = 30
"""By then a group has a coordinator."""


Client = str | Mapping[str, str]
"""Addresses of brokers, or librdkafka's settings of who comes in, these among them."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What one run moved."""

    record_count: int
    size_bytes: int
    seconds: float

    @property
    def megabytes_per_s(self) -> float:
        """Payload in MB (10^6 bytes) per second."""
        return self.size_bytes / self.seconds / 1e6

    @property
    def records_per_s(self) -> float:
        """Records per second."""
        return self.record_count / self.seconds


def produce(
    client: Client, topic: str, *, partitions: int, size_bytes: int, count: int, acks: str
) -> Rate:
    """Produce ``count`` records of ``size_bytes``, round robin; wait until all are acknowledged.

    Raises:
        RuntimeError: A record was not acknowledged.
    """
    failed: list[Any] = []
    config: dict[str, Any] = {**_settings(client), "acks": acks, "linger.ms": 5}
    config |= {"batch.size": 1_000_000, "queue.buffering.max.kbytes": 262_144}
    # Only errors are reported: a Python call per acknowledged record would measure the client.
    config |= {
        "delivery.report.only.error": True,
        "on_delivery": partial(_note, failed),
    }
    producer = Producer(config)
    producer.list_topics(topic, timeout=30)
    message = {"value": os.urandom(size_bytes)}
    batch = [message] * _BATCH_COUNT
    start = time.perf_counter()
    for turn in range(count // _BATCH_COUNT):
        _offer(producer, topic, batch, partition=turn % partitions)
        producer.poll(0)
    left = producer.flush(300)
    seconds = time.perf_counter() - start
    if left or failed:
        raise RuntimeError(
            f"{left + len(failed)} records of {count} were not acknowledged: {failed[:1]}"
        )
    return Rate(count, count * size_bytes, seconds)


def _settings(client: Client) -> dict[str, str]:
    return {"bootstrap.servers": client} if isinstance(client, str) else dict(client)


def _note(failed: list[Any], error: object, _: object) -> None:
    failed.append(error)


def _offer(
    producer: Producer, topic: str, batch: list[dict[str, bytes]], *, partition: int
) -> None:
    rest = batch
    while rest:
        rest = rest[producer.produce_batch(topic, rest, partition=partition) :]
        if rest:  # the queue is full: librdkafka marks the shared message, which must go out clean
            rest[0].pop("_error", None)
            producer.poll(0.01)


def _find_coordinator(config: Mapping[str, Any], topic: str) -> None:
    """Have the topic of offsets made, which is no part of reading.

    librdkafka asks for a coordinator in any case. This is a client of its own: one that asked for
    offsets waits for metadata for a second before it reads.
    """
    consumer = Consumer(dict(config))
    consumer.committed([TopicPartition(topic, 0)], timeout=_COORDINATOR_S)
    consumer.close()


def consume(client: Client, topic: str, *, partitions: int, count: int) -> Rate:
    """Read ``count`` records from the start of every partition, without a group's rebalance.

    Raises:
        RuntimeError: The records did not arrive within 300 s.
    """
    config: dict[str, Any] = {**_settings(client), "group.id": "bench"}
    config |= {"enable.auto.commit": False}
    config |= {"auto.offset.reset": "earliest", "queued.max.messages.kbytes": 262_144}
    config |= {"fetch.message.max.bytes": 4_000_000, "check.crcs": False}
    # Without these librdkafka itself pauses for a second at 100,000 queued records.
    config |= {"queued.min.messages": 1_000_000, "fetch.queue.backoff.ms": 5}
    _find_coordinator(config, topic)
    consumer = Consumer(config)
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    start = time.perf_counter()
    seen = size = 0
    while seen < count:
        messages = consumer.consume(min(10_000, count - seen), timeout=5)
        if time.perf_counter() - start > 300:
            raise RuntimeError(f"{seen} of {count} records after 300 s")
        seen += len(messages)
        size += sum(len(message.value() or b"") for message in messages)
    seconds = time.perf_counter() - start
    consumer.close()
    return Rate(seen, size, seconds)
