"""Clients as they were before record batches: formats 0 and 1, Produce to v2 and Fetch to v3.

kafka-python told that the broker is old, and librdkafka told the same: its lz4 frames in format 0
have the header checksum of that time.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition

from tests.deadlines import DEADLINE_S
from tests.integration.labs import KEPT, Lab, consume_with_confluent, produce_with_confluent

VALUES = [b"%d" % number for number in range(200)]
LIBRDKAFKA_0_9 = {"api.version.request": False, "broker.version.fallback": "0.9.0", "log_level": 3}


def produce_with_kafka_python(
    lab: Lab, topic: str, version: tuple[int, ...], codec: Any
) -> list[int]:
    producer: Any = KafkaProducer(
        bootstrap_servers=lab.servers,
        api_version=version,
        acks="all",
        compression_type=codec,
        enable_idempotence=False,
        linger_ms=5,
    )
    sent = [
        producer.send(topic, value, key=b"key", timestamp_ms=1_000 + number)
        for number, value in enumerate(VALUES)
    ]
    offsets = [one.get(timeout=DEADLINE_S).offset for one in sent]
    producer.close()
    return offsets


def consume_with_kafka_python(lab: Lab, topic: str, version: tuple[int, ...]) -> list[Any]:
    consumer: Any = KafkaConsumer(
        bootstrap_servers=lab.servers,
        api_version=version,
        group_id=None,
        consumer_timeout_ms=DEADLINE_S * 1000,
    )
    try:
        partition = TopicPartition(topic, 0)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        return [next(consumer) for _ in VALUES]
    finally:
        consumer.close()


def consume_with_old_librdkafka(lab: Lab, topic: str) -> list[tuple[int, bytes]]:
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(lab.servers),
            "group.id": "unused",
            "enable.auto.commit": False,
            **LIBRDKAFKA_0_9,
        }
    )
    try:
        consumer.assign([ConfluentPartition(topic, 0, 0)])
        found: list[tuple[int, bytes]] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(found) < len(VALUES) and time.monotonic() < deadline:
            for message in consumer.consume(len(VALUES) - len(found), timeout=1):
                assert message.error() is None, message.error()
                offset, value = message.offset(), message.value()
                assert offset is not None
                assert value is not None
                found.append((offset, value))
        return found
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize(
    ("version", "times"), [((0, 9), [None] * 200), ((0, 10), list(range(1_000, 1_200)))]
)
def test_old_kafka_python_and_new_librdkafka_read_what_old_kafka_python_wrote(
    shared_lab: Lab, version: tuple[int, ...], times: list[int | None], codec: str | None
) -> None:
    topic = f"python-{version[1]}-{codec}"
    shared_lab.create(topic, configs=KEPT)
    assert produce_with_kafka_python(shared_lab, topic, version, codec) == list(range(200))
    found = consume_with_kafka_python(shared_lab, topic, version)
    assert [record.value for record in found] == VALUES
    assert [record.offset for record in found] == list(range(200))
    assert [record.timestamp for record in found] == times
    assert consume_with_confluent(shared_lab, topic, 200) == VALUES


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_old_and_new_librdkafka_read_what_old_librdkafka_wrote(shared_lab: Lab, codec: str) -> None:
    topic = f"c-{codec}"
    shared_lab.create(topic, configs=KEPT)
    settings: dict[str, Any] = {
        "enable.idempotence": False,
        "compression.type": codec,
        **LIBRDKAFKA_0_9,
    }
    produce_with_confluent(shared_lab, topic, VALUES, **settings)
    assert consume_with_old_librdkafka(shared_lab, topic) == list(enumerate(VALUES))
    assert consume_with_confluent(shared_lab, topic, 200) == VALUES


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_old_librdkafka_reads_what_new_librdkafka_wrote(shared_lab: Lab, codec: str) -> None:
    topic = f"new-{codec}"
    shared_lab.create(topic, configs=KEPT)
    settings: dict[str, Any] = {"compression.type": codec}
    produce_with_confluent(shared_lab, topic, VALUES, **settings)
    assert consume_with_old_librdkafka(shared_lab, topic) == list(enumerate(VALUES))
