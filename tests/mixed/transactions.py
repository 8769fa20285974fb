"""A client that writes in transactions, and one that reads what is committed as a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import Consumer, Producer

from tests.deadlines import DEADLINE_S
from tests.mixed.mixed_lab import MixedLab

_POLL_S: Final = 1.0


def transactional(lab: MixedLab, name: str) -> Producer:
    options: dict[str, Any] = {"transactional.id": name, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": ",".join(lab.servers), **options})
    producer.init_transactions(DEADLINE_S)
    return producer


def write(producer: Producer, topic: str, numbers: Sequence[int]) -> None:
    for number in numbers:
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(DEADLINE_S) == 0


def consumed(lab: MixedLab, topic: str, group: str, count: int) -> list[int]:
    """Read so many committed records as a member of the group, commit, and leave."""
    options: dict[str, Any] = {
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        # Who left may be lost with its coordinator: the next one then waits for it so long.
        "session.timeout.ms": 15_000,
    }
    consumer = Consumer({"bootstrap.servers": ",".join(lab.servers), **options})
    numbers: list[int] = []

    def has_all() -> bool:
        for message in consumer.consume(count - len(numbers), _POLL_S):
            value = message.value()
            if message.error() is None:
                assert isinstance(value, bytes)
                numbers.append(int(value))
        return len(numbers) >= count

    try:
        consumer.subscribe([topic])
        lab.wait_until(has_all, f"{count} records of {topic} are read")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return numbers
