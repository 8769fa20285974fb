"""One member of a group as a process of its own, which a test may kill: ``python -m`` it.

It prints what happens as JSON lines: ``assigned``, ``revoked``, ``read`` and ``committed``, each
with the time of the machine's monotonic clock. It ends when its standard input does.
"""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer
from aiokafka import ConsumerRebalanceListener as AioListener
from aiokafka.errors import CommitFailedError as AioCommitFailedError
from aiokafka.errors import IllegalStateError as AioIllegalStateError
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import CommitFailedError, RebalanceInProgressError

SESSION_MS = 6_000
STATIC_SESSION_MS = 300_000
"""Of one with an instance: on a busy machine it is a while until it was killed and is back."""
HEARTBEAT_MS = 500
POLL_MS = 200
METADATA_AGE_MS_MAX = 1_000
"""kafka-python asks the same broker until then, whoever leads by now."""


def tell(event: str, what: Any) -> None:
    """Print one line."""
    line = json.dumps({"event": event, "what": what, "at": time.monotonic()})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def options(servers: str, group: str, instance: str | None) -> dict[str, Any]:
    """Return what both libraries call alike."""
    return {
        "bootstrap_servers": servers.split(","),
        "group_id": group,
        "group_instance_id": instance,
        "session_timeout_ms": STATIC_SESSION_MS if instance else SESSION_MS,
        "heartbeat_interval_ms": HEARTBEAT_MS,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "metadata_max_age_ms": METADATA_AGE_MS_MAX,
        "retry_backoff_ms": 100,
    }


class _Record(NamedTuple):
    """One record of librdkafka, as the others' have it."""

    offset: int
    value: bytes


class _Told(ConsumerRebalanceListener, AioListener):
    """Both libraries' listeners are called alike; aiokafka takes plain functions, too."""

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        tell("revoked", sorted(tp.partition for tp in revoked))

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        tell("assigned", sorted(tp.partition for tp in assigned))


def told_records(polled: Mapping[Any, Iterable[Any]]) -> dict[int, int]:
    """Print what was read; return the next offset of each partition."""
    positions: dict[int, int] = {}
    for tp, records in polled.items():
        rows = [[tp.partition, each.offset, int(each.value.split(b" ", 1)[0])] for each in records]
        if rows:
            tell("read", rows)
            positions[tp.partition] = rows[-1][1] + 1
    return positions


def run_kafka_python(topic: str, ended: threading.Event, **chosen: Any) -> None:
    """Read and commit until ``ended``."""
    consumer: Any = KafkaConsumer(**chosen)
    consumer.subscribe([topic], listener=_Told())
    while not ended.is_set():
        positions = told_records(consumer.poll(timeout_ms=POLL_MS))
        if not positions:
            continue
        try:
            consumer.commit()
        except (CommitFailedError, RebalanceInProgressError):
            continue  # Somebody else has its partitions by now.
        tell("committed", positions)
    consumer.close()


async def run_aiokafka(topic: str, ended: threading.Event, **chosen: Any) -> None:
    """Read and commit until ``ended``."""
    consumer: Any = AIOKafkaConsumer(**chosen)
    consumer.subscribe([topic], listener=_Told())
    await consumer.start()
    while not ended.is_set():
        positions = told_records(await consumer.getmany(timeout_ms=POLL_MS))
        if not positions:
            continue
        try:
            await consumer.commit()
        except (AioCommitFailedError, AioIllegalStateError):
            continue  # Somebody else has its partitions by now.
        tell("committed", positions)
    await consumer.stop()


def run_librdkafka(
    topic: str, ended: threading.Event, servers: str, group: str, instance: str
) -> None:
    """Read and commit until ``ended``, by the consumer protocol (KIP-848)."""
    chosen = {
        "bootstrap.servers": servers,
        "group.id": group,
        "group.protocol": "consumer",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "topic.metadata.refresh.interval.ms": METADATA_AGE_MS_MAX,
        **({"group.instance.id": instance} if instance else {}),
    }
    consumer = Consumer(chosen)

    def own(partitions: Iterable[Any]) -> None:
        tell("assigned", sorted(tp.partition for tp in partitions))

    def on_assign(_: Any, more: list[ConfluentPartition]) -> None:
        own([*consumer.assignment(), *more])
        consumer.incremental_assign(more)

    def on_revoke(_: Any, fewer: list[ConfluentPartition]) -> None:
        gone = [tp.partition for tp in fewer]
        own(tp for tp in consumer.assignment() if tp.partition not in gone)
        consumer.incremental_unassign(fewer)

    consumer.subscribe([topic], on_assign=on_assign, on_revoke=on_revoke)
    while not ended.is_set():
        polled: dict[Any, list[_Record]] = {}
        messages: list[Any] = consumer.consume(100, POLL_MS / 1000)
        for message in messages:
            if message.error() is None:
                tp = ConfluentPartition(topic, message.partition())
                row = _Record(message.offset(), message.value())
                polled.setdefault(tp, []).append(row)
        positions = told_records(polled)
        if not positions:
            continue
        try:
            offsets = [ConfluentPartition(topic, *each) for each in positions.items()]
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            continue  # Somebody else has its partitions by now.
        tell("committed", positions)
    consumer.close()


def main(library: str, servers: str, group: str, topic: str, instance: str = "") -> None:
    """Be a member until standard input ends."""
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    chosen = options(servers, group, instance or None)
    if library == "librdkafka":
        run_librdkafka(topic, ended, servers, group, instance)
    elif library == "aiokafka":
        asyncio.run(run_aiokafka(topic, ended, **chosen))
    else:
        run_kafka_python(topic, ended, **chosen)
    tell("left", [])


if __name__ == "__main__":
    main(*sys.argv[1:])
